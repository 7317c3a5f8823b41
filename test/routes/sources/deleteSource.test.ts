import { putSource, sourcePath } from '../../support/source-requests';
import { startTestService, type TestService } from '../../support/service';

const url = 'https://feeds.acme.example/products.csv';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('DELETE /partners/{partner_name}/sources/{source_name}', () => {
  it('deletes the source with its fetches, and no other source', async () => {
    await putSource(service.api, 'Leaving', 'kept', { url });
    await putSource(service.api, 'Leaving', 'a', { url });
    const path = sourcePath('Leaving', 'a');
    expect((await service.api.post(`${path}/fetch`)).headers.get('location')).toBe(`${path}/fetches`);
    const { body } = await service.api.get(path);

    const deleted = await service.api.send('DELETE', path);

    expect([deleted.status, deleted.body]).toEqual([200, body]);
    expect((await service.api.get(path)).status).toBe(404);
    expect((await service.db('source_fetches')).length).toBe(0);
    expect((await service.api.get(sourcePath('Leaving', 'kept'))).status).toBe(200);
  });
});
