import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import document from '../../../generated/openapi.json';
import { contentSecurityPolicy } from '../../../src/docs/docs.page';
import { describeNotModified } from '../../support/expectations';
import { sendRaw } from '../../support/requests';
import { expectSecurityHeaders } from '../../support/contract';
import { startTestService, testKey, type TestService } from '../../support/service';

const lasting = { 'cache-control': 'public, max-age=31536000, immutable' };
const revalidated = { 'cache-control': 'no-cache' };
/** The pages, with the security headers that are their own. */
const pages: [path: string, ownHeaders: Record<string, string>][] = [
  ['/console', { ...revalidated, 'content-security-policy': contentSecurityPolicy }],
  ['/console/assets/console.js', lasting],
  ['/console/assets/console.css', lasting],
  ['/openapi.yaml', revalidated],
  ['/openapi.json', revalidated],
  ['/docs', { ...revalidated, 'content-security-policy': contentSecurityPolicy }],
  ['/docs/swagger-ui.css', lasting],
  ['/docs/swagger-ui-bundle.js', lasting],
  ['/docs/initializer.js', lasting],
];
const file = readFileSync(join(__dirname, '../../../spec/openapi.yaml'));
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

let service: TestService;
beforeAll(async () => {
  // The pages have no rate limit: each test would find one.
  service = await startTestService({ rateLimit: { requests: 1, seconds: 3600 } });
});

describe('the service pages', () => {
  it('are not operations of the document, which lists them', () => {
    expect(document['x-outside-contract']).toEqual(['GET /', ...pages.map(([path]) => `GET ${path}`)]);
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

/** What browsers send when they navigate. */
const navigation = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describe('GET /', () => {
  const send = (method: string, headers: Record<string, string>) =>
    sendRaw(service.url, { method, path: '/', headers });

  it('is the landing page for browsers, with links to console, documentation and document', async () => {
    const { status, headers, text } = await send('GET', navigation);

    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers.vary).toBe('Accept');
    expect(headers['content-security-policy']).toBe(contentSecurityPolicy);
    for (const link of ['console', 'docs', 'openapi.yaml']) expect(text).toContain(`href="${link}"`);
    expect(text).not.toMatch(/https?:\/\/|<script/);
    expect((await send('HEAD', navigation)).status).toBe(200);
  });

  it.each([
    ['no Accept', 'GET', {}],
    ['anything accepted', 'GET', { accept: '*/*' }],
    ['JSON preferred', 'GET', { accept: 'text/html;q=0.5, application/json' }],
    ['HTML refused', 'GET', { accept: 'text/html;q=0, */*' }],
    ['another method', 'POST', navigation],
    ['another method', 'DELETE', navigation],
  ] as [string, string, Record<string, string>][])(
    'is an unknown route with %s (%s)',
    async (_, method, headers) => {
      const { status, text } = await send(method, headers);

      expect(status).toBe(404);
      expect(text).toBe('{"detail":"Not Found"}');
    },
  );
});

describe('the addresses of the console', () => {
  it.each([
    ['/console', './'],
    ['/console/', '../'],
    ['/console/feeds', '../'],
    ['/console/feeds/FD00001', '../../'],
    ['/console/partners/A%2FB%20%22%3E', '../../'],
    ['/console/feeds/FD00001/runs/1', '../../../../'],
  ])('%s is the console, which loads its files by relative addresses', async (path, toRoot) => {
    const { status, headers, text } = await sendRaw(service.url, { method: 'GET', path, headers: {} });

    expect(status).toBe(200);
    expect(headers['content-security-policy']).toBe(contentSecurityPolicy);
    const [, script] = /src="([^"]+)"/.exec(text)!;
    expect(script).toMatch(/^[./]+console\/assets\/console\.js\?v=[0-9a-f]{16}$/);
    expect(script!.startsWith(`${toRoot}console`)).toBe(true);
    expect(new URL(script!, `http://host${path}`).pathname).toBe('/console/assets/console.js');
  });

  it('allows no inline script or style, and no other host', () => {
    expect(contentSecurityPolicy).not.toMatch(/unsafe|https?:|\*/);
  });

  it('loads less than 300 kB compressed: scripts, styles and fonts', async () => {
    const files = ['/console', '/console/assets/console.js', '/console/assets/console.css'];
    const contents = await Promise.all(
      files.map(async (path) => (await sendRaw(service.url, { method: 'GET', path, headers: {} })).text),
    );

    const [shell, , styles] = contents;
    expect(shell!.match(/<(script|link) [^>]*(src|href)="(?!data:)/g)).toHaveLength(2);
    expect(styles).not.toMatch(/url\(|@import/);
    const bytes = contents.map((content) => gzipSync(content).length);
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(300_000);
  });
});

describe('GET /openapi.yaml', () => {
  describe('200', () => {
    it('is spec/openapi.yaml byte for byte; no key is needed', async () => {
      const response = await fetch(`${service.url}/openapi.yaml`);

      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/yaml');
      expect(Buffer.from(await response.arrayBuffer()).equals(file)).toBe(true);
    });

    it('has the same content as the document of the running service', async () => {
      const { body } = await service.api.get('/openapi.yaml');

      expect(parse(body as string)).toEqual(document);
    });

    it('has its SHA-256 as a strong ETag, and must be revalidated', async () => {
      const { headers } = await service.api.get('/openapi.yaml');

      expect(headers.get('etag')).toBe(`"${createHash('sha256').update(file).digest('hex')}"`);
      expect(headers.get('cache-control')).toBe('no-cache');
    });
  });

  describeNotModified('/openapi.yaml', () => service);
});

describe('GET /openapi.json', () => {
  describe('200', () => {
    it('is the document of the running service; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/openapi.json');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      expect(body).toEqual(document);
    });

    it('has its SHA-256 as a strong ETag, and must be revalidated', async () => {
      const response = await fetch(`${service.url}/openapi.json`);

      const sha256 = createHash('sha256')
        .update(Buffer.from(await response.arrayBuffer()))
        .digest('hex');
      expect(response.headers.get('etag')).toBe(`"${sha256}"`);
      expect(response.headers.get('cache-control')).toBe('no-cache');
    });
  });

  describeNotModified('/openapi.json', () => service);
});

describe('GET /docs', () => {
  let page: string;
  beforeAll(async () => {
    page = (await service.api.get('/docs')).body as string;
  });
  /** The files that the page loads. */
  const addresses = () => [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);

  describe('200', () => {
    it('is an HTML page; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/docs');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-cache');
      expect(body).toMatch(/^<!doctype html>/);
    });

    it('can load from this service only, and cannot be framed', async () => {
      const { headers } = await service.api.get('/docs');

      const policy = headers.get('content-security-policy')!.split('; ');
      expect(policy).toEqual(
        expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'"]),
      );
      expect(policy).toEqual(expect.arrayContaining(["connect-src 'self'", "frame-ancestors 'none'"]));
      expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
    });

    it('has no inline script or style, and no other host', () => {
      expect(page).not.toMatch(/<style|style=|\son\w+=/);
      expect(page).not.toMatch(/<script(?![^>]* src=)/);
      expect(addresses().filter((address) => /^(\w+:)?\/\//.test(address))).toEqual([]);
    });

    it('addresses its files by digest, so that caches can keep them forever', async () => {
      const versioned = addresses().filter((address) => address.includes('?v='));

      expect(versioned).toHaveLength(3);
      for (const address of versioned) {
        const { status, headers } = await service.api.withKey(undefined).get(`/${address}`);
        const version = /\?v=([0-9a-f]{16})$/.exec(address)![1]!;
        expect(status).toBe(200);
        expect(headers.get('etag')).toMatch(new RegExp(`^"${version}[0-9a-f]{48}"$`));
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      }
    });
  });

  describeNotModified('/docs', () => service);
});

describe('GET /docs/swagger-ui-bundle.js', () => {
  describe('200', () => {
    it("is Swagger UI's own file; no key is needed", async () => {
      const { status, headers, body } = await service.api
        .withKey(undefined)
        .get('/docs/swagger-ui-bundle.js');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(body === readFileSync(require.resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'utf8')).toBe(
        true,
      );
    });
  });

  describeNotModified('/docs/swagger-ui-bundle.js', () => service);
});

describe('GET /docs/swagger-ui.css', () => {
  describe('200', () => {
    it("is Swagger UI's own file; no key is needed", async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/docs/swagger-ui.css');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/css; charset=utf-8');
      expect(body === readFileSync(require.resolve('swagger-ui-dist/swagger-ui.css'), 'utf8')).toBe(true);
    });
  });

  describeNotModified('/docs/swagger-ui.css', () => service);
});

describe('GET /docs/initializer.js', () => {
  describe('200', () => {
    it('loads the document of the service and uses no validator; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/docs/initializer.js');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(body).toContain("url: 'openapi.json'");
      expect(body).toContain('validatorUrl: null');
      expect(body).not.toMatch(/https?:/);
    });
  });

  describeNotModified('/docs/initializer.js', () => service);
});

describe('with SERVICE_PAGES=off', () => {
  let without: TestService;
  beforeAll(async () => {
    without = await startTestService({ servicePages: false });
  });

  it.each(['/', '/console/feeds'])('%s is an unknown route for browsers too', async (path) => {
    expect((await sendRaw(without.url, { method: 'GET', path, headers: navigation })).status).toBe(404);
  });

  it.each(pages)('%s is an unknown route, whatever the method and with a key too', async (path) => {
    for (const method of methods) {
      for (const headers of [{}, { 'x-api-key': testKey }]) {
        const response = await sendRaw(without.url, { method, path, headers });

        expect(response.status).toBe(404);
        expect(response.text).toBe(method === 'HEAD' ? '' : '{"detail":"Not Found"}');
        expect(response.headers['x-request-id']).toEqual(expect.any(String));
        expect(response.headers).not.toHaveProperty('allow');
      }
    }
  });

  it('all operations are served', async () => {
    expect((await without.api.get('/health')).status).toBe(200);
    expect((await without.api.get('/products')).status).toBe(200);
    expect((await without.api.withKey(undefined).get('/products')).status).toBe(401);
  });
});
