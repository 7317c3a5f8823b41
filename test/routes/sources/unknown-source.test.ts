import { putSource, sourcePath } from '../../support/source-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const url = 'https://feeds.acme.example/products.csv';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await putSource(service.api, 'Acme', 'a', { url });
  await putSource(service.api, 'Birch', 'c', { url });
});

describe('a source that is not accessible to the key', () => {
  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/fetch'],
    ['GET', '/fetches'],
  ])(
    'is unknown to %s %s: another name, partner or NUL, and to keys of other partners',
    async (method, below) => {
      const limited = await withStoredKey(service, 'Acme', `key for ${method} ${below}`);
      for (const path of [sourcePath('Acme', 'x'), sourcePath('Acme', '\0'), sourcePath('X', 'a')])
        expect((await service.api.send(method, `${path}${below}`)).status).toBe(404);
      expect((await limited.send(method, `${sourcePath('Birch', 'c')}${below}`)).status).toBe(404);
      expect((await service.api.get(sourcePath('Birch', 'c'))).status).toBe(200);
    },
  );
});
