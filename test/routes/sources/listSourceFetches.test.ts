import { putSource, sourcePath } from '../../support/source-requests';
import { startTestService, type TestService } from '../../support/service';

const url = 'https://feeds.acme.example/products.csv';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /partners/{partner_name}/sources/{source_name}/fetches', () => {
  it('lists the newest fetches first, in pages', async () => {
    await putSource(service.api, 'Paged', 'a', { url });
    const path = sourcePath('Paged', 'a');
    for (let count = 0; count < 3; count++) {
      await service.api.post(`${path}/fetch`);
      await service
        .db('source_fetches')
        .where('status', 'queued')
        .update({ status: 'failed', finished_at: new Date() });
    }

    const first = await service.api.get(`${path}/fetches?limit=2`);
    const second = await service.api.get(`${path}/fetches?limit=2&cursor=${first.body.next_cursor}`);

    expect(first.body.items.map(({ fetch }: { fetch: number }) => fetch)).toEqual([3, 2]);
    expect(second.body.items.map(({ fetch }: { fetch: number }) => fetch)).toEqual([1]);
    expect(second.body).not.toHaveProperty('next_cursor');
    expect((await service.api.get(`${path}/fetches?cursor=x`)).status).toBe(400);
  });
});
