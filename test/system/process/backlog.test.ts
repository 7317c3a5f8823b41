import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { measureBacklog } from '../../../src/operation/process/backlog';
import type { Backlog } from '../../../src/operation/telemetry/metrics';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import { claimFetches } from '../../../src/intake/sources/claims.repository';
import { startTestService, type TestService } from '../../support/service';
import { putSource, sourcePath } from '../../support/source-requests';
import { sendTo } from '../../support/webhooks';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const errors: unknown[] = [];
async function measure(): Promise<Backlog> {
  const backlog: Partial<Backlog> = {};
  await measureBacklog(service.db, (error) => errors.push(error), backlog);
  return backlog as Backlog;
}
afterEach(() => expect(errors.splice(0)).toEqual([]));

const csv = 'sku,product_name,price\nA,A,1\n';
const hourAgo = () => service.db.raw("now() - interval '1 hour'");

describe('the backlog', () => {
  it('is empty without waiting work', async () => {
    await rollUpSales(service.db);
    await indexBacklog(service.db);

    expect(await measure()).toEqual({
      queue: { runs: 0, oldestSeconds: 0, running: 0 },
      webhookDeliveries: { count: 0, oldestSeconds: 0 },
      fetches: { oldestSeconds: 0, running: 0 },
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
    await service.db('runs').where('job_id', 1).update({ requested_at: hourAgo() });

    const { queue } = await measure();

    expect(queue).toMatchObject({ runs: 2, running: 0 });
    expect(Math.floor(queue.oldestSeconds / 60)).toBe(60);
    await service.db('runs').where('job_id', 1).update({ status: 'running' });
    expect((await measure()).queue).toMatchObject({ runs: 1, running: 1 });
  });

  it('has the number of webhook deliveries not yet accepted, and the wait of the oldest for its attempt', async () => {
    await sendTo(service.db, 'http://localhost/');
    for (const partner of ['One', 'Other']) await service.api.uploadFeed(csv, partner);
    const deliveries = async () => {
      const { count, oldestSeconds } = (await measure()).webhookDeliveries;
      return [count, Math.floor(oldestSeconds / 60)];
    };
    const endpoints = service.db('webhook_endpoints');
    const inTen = service.db.raw("now() + interval '10 minutes'");

    expect(await deliveries()).toEqual([2, 0]);
    await service.db('webhook_deliveries').update({ next_attempt_at: hourAgo() });
    expect(await deliveries()).toEqual([2, 60]);
    await endpoints.clone().update({ paused_until: inTen });
    expect(await deliveries()).toEqual([2, 0]);
    await endpoints.clone().update({ paused_until: service.db.raw("now() - interval '10 minutes'") });
    expect(await deliveries()).toEqual([2, 10]);
    await service.db('webhook_deliveries').update({ next_attempt_at: inTen });
    expect(await deliveries()).toEqual([2, 0]);
    await endpoints.clone().delete();
    expect((await deliveries())[1]).toBe(0);
  });

  it('has the fetches in progress, and the longest wait of a fetch or of a scheduled time without a worker', async () => {
    const schedule = { cron: '0 0 1 1 *', time_zone: 'UTC' };
    const minutes = async () => Math.floor((await measure()).fetches.oldestSeconds / 60);
    await putSource(service.api, 'One', 'yearly', { url: 'http://localhost/', schedule });
    expect(await minutes()).toBe(0);

    await service.db('sources').update({ next_slot_at: hourAgo() });
    expect(await minutes()).toBe(60);
    await service.db('sources').update({ next_slot_at: null });
    await service.api.post(`${sourcePath('One', 'yearly')}/fetch`);
    await service.db('source_fetches').update({ next_attempt_at: hourAgo() });
    expect(await minutes()).toBe(60);
    await service.db('source_fetches').update({ status: 'running' });
    expect(await minutes()).toBe(60);
    expect((await measure()).fetches.running).toBe(0);
    const inTen = service.db.raw("now() + interval '10 minutes'");
    await service.db('source_fetches').update({ next_attempt_at: inTen });
    expect((await measure()).fetches).toEqual({ oldestSeconds: 0, running: 1 });
    await service.db('source_fetches').update({ status: 'failed', finished_at: hourAgo() });
    expect((await measure()).fetches).toEqual({ oldestSeconds: 0, running: 0 });
  });

  it('does not count a fetch as late that waits for others of its partner', async () => {
    for (const name of ['a', 'b', 'c']) {
      await putSource(service.api, 'Busy', name, { url: 'http://localhost/' });
      await service.api.post(`${sourcePath('Busy', name)}/fetch`);
    }
    await service.db('source_fetches').where('status', 'queued').update({ next_attempt_at: hourAgo() });
    const minutes = async () => Math.floor((await measure()).fetches.oldestSeconds / 60);

    expect(await claimFetches(service.db, 1)).toHaveLength(1);
    expect(await minutes()).toBe(60);
    expect(await claimFetches(service.db, 8)).toHaveLength(1);
    expect((await measure()).fetches).toEqual({ oldestSeconds: 0, running: 2 });
  });

  it('has the age of the oldest order outside the sales sums', async () => {
    await service.api.loadFeed(csv, 'Acme');
    const { body } = await service.api.get('/products?partner_name=Acme');
    const items = [{ product_id: body.items[0].product_id as string, quantity: 1 }];
    await service.api.post('/orders', { partner_name: 'Acme', items });
    await service.db('orders').update({ created_at: hourAgo() });

    expect(Math.floor((await measure()).salesLagSeconds / 60)).toBe(60);

    await rollUpSales(service.db);
    expect((await measure()).salesLagSeconds).toBe(0);
  });

  it('has the age of the oldest change outside the search index', async () => {
    await service.api.loadFeed(csv, 'Searched');
    await service.db('search_backlog').update({ logged_at: hourAgo() });

    expect(Math.floor((await measure()).searchLagSeconds / 60)).toBe(60);

    await indexBacklog(service.db);
    expect((await measure()).searchLagSeconds).toBe(0);
  });

  it('is known except for values that cannot be measured', async () => {
    await service.db.raw('alter table webhook_deliveries rename to away');

    const { webhookDeliveries, ...others } = await measure();

    await service.db.raw('alter table away rename to webhook_deliveries');
    expect(webhookDeliveries).toBeUndefined();
    expect(Object.values<unknown>(others)).not.toContain(undefined);
    expect(errors.splice(0)).toHaveLength(1);
  });
});
