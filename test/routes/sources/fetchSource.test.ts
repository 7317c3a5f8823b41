import { putSource, sourcePath } from '../../support/source-requests';
import { startTestService, type TestService } from '../../support/service';

const url = 'https://feeds.acme.example/products.csv';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('POST /partners/{partner_name}/sources/{source_name}/fetch', () => {
  it('requests one fetch until it is finished, for any number of calls', async () => {
    await putSource(service.api, 'Busy', 'a', { url });
    const path = sourcePath('Busy', 'a');

    const fetches = await Promise.all([1, 2, 3, 4].map(() => service.api.post(`${path}/fetch`)));

    expect(fetches.map(({ status, body }) => [status, body.fetch])).toEqual(Array(4).fill([202, 1]));
    const { body } = await service.api.get(`${path}/fetches`);
    expect(body).toMatchObject({
      count: 1,
      items: [{ fetch: 1, status: 'queued', requested_by: 'api-keys' }],
    });
  });
});
