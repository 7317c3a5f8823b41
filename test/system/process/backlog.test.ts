import { rollUpSales } from '../../../src/analytics/sales-rollup';
import { measureBacklog } from '../../../src/process/backlog';
import { indexBacklog } from '../../../src/products/search-index';
import { startTestService, type TestService } from '../../support/service';
import { sendTo } from '../../support/webhooks';

let service: TestService;
beforeAll(async () => {
  // Nothing works on the queue.
  service = await startTestService();
});

const csv = 'sku,product_name,price\nA,A,1\n';
const hourAgo = () => service.db.raw("now() - interval '1 hour'");

describe('the backlog', () => {
  it('is empty without waiting work', async () => {
    await rollUpSales(service.db);
    await indexBacklog(service.db);

    expect(await measureBacklog(service.db)).toEqual({
      queue: { runs: 0, oldestSeconds: 0 },
      webhookDeliveries: 0,
      salesLagSeconds: 0,
      failingSources: 0,
      stalePartners: 0,
      searchLagSeconds: 0,
    });
  });

  it('has the number of queued runs and the age of the oldest', async () => {
    for (const partner of ['One', 'Other']) {
      const { jobId } = await service.api.uploadFeed(csv, partner);
      await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    }
    await service.api.uploadFeed(csv, 'Not requested');
    await service.db('validation_jobs').where('job_id', 1).update({ run_requested_at: hourAgo() });

    const { queue } = await measureBacklog(service.db);

    expect(queue.runs).toBe(2);
    expect(Math.floor(queue.oldestSeconds / 60)).toBe(60);
  });

  it('has the number of webhook deliveries that were not accepted yet', async () => {
    await sendTo(service.db, 'http://localhost/');
    for (const partner of ['One', 'Other']) await service.api.uploadFeed(csv, partner);

    expect((await measureBacklog(service.db)).webhookDeliveries).toBe(2);
  });

  it('has the age of the oldest order outside the sales sums', async () => {
    await service.api.loadFeed(csv, 'Acme');
    const { body } = await service.api.get('/products?partner_name=Acme');
    const items = [{ product_id: body.items[0].product_id as string, quantity: 1 }];
    await service.api.post('/orders', { partner_name: 'Acme', items });
    await service.db('orders').update({ created_at: hourAgo() });

    expect(Math.floor((await measureBacklog(service.db)).salesLagSeconds / 60)).toBe(60);

    await rollUpSales(service.db);
    expect((await measureBacklog(service.db)).salesLagSeconds).toBe(0);
  });

  it('has the age of the oldest change outside the search index', async () => {
    await service.api.loadFeed(csv, 'Searched');
    await service.db('search_backlog').update({ logged_at: hourAgo() });

    expect(Math.floor((await measureBacklog(service.db)).searchLagSeconds / 60)).toBe(60);

    await indexBacklog(service.db);
    expect((await measureBacklog(service.db)).searchLagSeconds).toBe(0);
  });
});
