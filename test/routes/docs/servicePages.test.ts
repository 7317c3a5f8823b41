import { allowedMethods, operations } from '../../support/operations';
import { sendRaw } from '../../support/raw-request';
import { startTestService, testKey, type TestService } from '../../support/service';

const paths = operations.map(({ path }) => path).filter((path) => /^\/(docs|openapi\.)/.test(path));

describe('with the service pages switched off', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ servicePages: false });
  });

  it.each(paths)('%s is an unknown route, whatever the method and with a key too', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const headers of [{}, { 'x-api-key': testKey }]) {
        const response = await sendRaw(service.url, { method, path, headers });

        expect(response.status).toBe(404);
        expect(response.text).toBe(method === 'HEAD' ? '' : '{"detail":"Not Found"}');
        expect(response.headers['x-request-id']).toEqual(expect.any(String));
        expect(response.headers).not.toHaveProperty('allow');
      }
    }
  });

  it('everything else is served', async () => {
    expect((await service.api.get('/health')).status).toBe(200);
    expect((await service.api.get('/products')).status).toBe(200);
    expect((await service.api.withKey(undefined).get('/products')).status).toBe(401);
  });

  it('there are six of them, to be read only', () => {
    expect(paths.map((path) => [path, allowedMethods(path)])).toEqual(
      [
        '/openapi.yaml',
        '/openapi.json',
        '/docs',
        '/docs/swagger-ui.css',
        '/docs/swagger-ui-bundle.js',
        '/docs/initializer.js',
      ].map((path) => [path, ['GET', 'HEAD']]),
    );
  });
});
