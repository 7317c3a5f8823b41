import document from '../../../generated/openapi.json';
import { contentSecurityPolicy } from '../../../src/docs/docs.page';
import { sendRaw } from '../../support/requests';
import { expectSecurityHeaders } from '../../support/contract';
import { startTestService, testKey, type TestService } from '../../support/service';

const lasting = { 'cache-control': 'public, max-age=31536000, immutable' };
const revalidated = { 'cache-control': 'no-cache' };
/** The pages, with the security headers that are their own. */
const pages: [path: string, ownHeaders: Record<string, string>][] = [
  ['/openapi.yaml', revalidated],
  ['/openapi.json', revalidated],
  ['/docs', { ...revalidated, 'content-security-policy': contentSecurityPolicy }],
  ['/docs/swagger-ui.css', lasting],
  ['/docs/swagger-ui-bundle.js', lasting],
  ['/docs/initializer.js', lasting],
];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

describe('the service pages', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ rateLimit: { requests: 1, seconds: 3600 } });
  });

  it('are not operations of the document, which lists them', () => {
    expect(document['x-outside-contract']).toEqual(pages.map(([path]) => `GET ${path}`));
    expect(pages.map(([path]) => path).filter((path) => path in document.paths)).toEqual([]);
  });

  it.each(pages)('%s is public, whatever key and query are, and has no rate limit', async (path, own) => {
    for (const headers of [{}, { 'x-api-key': 'wrong-key' }, { 'x-api-key': testKey }]) {
      const target = `${path}?unknown=1&limit=x`;
      const response = await sendRaw(service.url, {
        method: 'GET',
        path: target,
        headers: { ...headers, 'x-request-id': 'my-own' },
      });

      expect(response.status).toBe(200);
      expect(response.headers['x-request-id']).toBe('my-own');
      expectSecurityHeaders(new Headers(response.headers as Record<string, string>), own);
    }
  });

  it.each(pages)('HEAD %s is GET without the body', async (path) => {
    const headers = { 'x-request-id': 'the-same' };
    const get = await sendRaw(service.url, { method: 'GET', path, headers });
    const head = await sendRaw(service.url, { method: 'HEAD', path, headers });

    expect(get.headers['content-length']).toBe(String(Buffer.byteLength(get.text)));
    expect(head).toEqual({
      status: 200,
      headers: { ...get.headers, date: expect.any(String) as string },
      text: '',
    });
  });

  it.each(pages)('%s rejects other methods with 405 and Allow, before checking the key', async (path) => {
    for (const method of methods.slice(2)) {
      const response = await sendRaw(service.url, { method, path, headers: {} });

      expect(response.status).toBe(405);
      expect(response.text).toBe('{"detail":"Method Not Allowed"}');
      expect(response.headers['content-type']).toBe('application/json');
      expect(response.headers.allow).toBe('GET, HEAD');
      expectSecurityHeaders(new Headers(response.headers as Record<string, string>));
    }
  });
});

describe('with SERVICE_PAGES=off', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ servicePages: false });
  });

  it.each(pages)('%s is an unknown route, whatever the method and with a key too', async (path) => {
    for (const method of methods) {
      for (const headers of [{}, { 'x-api-key': testKey }]) {
        const response = await sendRaw(service.url, { method, path, headers });

        expect(response.status).toBe(404);
        expect(response.text).toBe(method === 'HEAD' ? '' : '{"detail":"Not Found"}');
        expect(response.headers['x-request-id']).toEqual(expect.any(String));
        expect(response.headers).not.toHaveProperty('allow');
      }
    }
  });

  it('all operations are served', async () => {
    expect((await service.api.get('/health')).status).toBe(200);
    expect((await service.api.get('/products')).status).toBe(200);
    expect((await service.api.withKey(undefined).get('/products')).status).toBe(401);
  });
});
