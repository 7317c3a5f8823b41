import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import document from '../../../generated/openapi.json';
import { engines } from '../../../package.json';
import { contentSecurityPolicy } from '../../../src/http/pages/docs.page';
import { feedEntry } from '../../support/commands';
import { describeNotModified } from '../../support/expectations';
import { sendRaw } from '../../support/requests';
import { expectSecurityHeaders } from '../../support/contract';
import { startTestService, testKey, type TestService } from '../../support/service';

const revalidated = { 'cache-control': 'no-cache' };
/** The pages, with their own security headers. */
const pages: [path: string, ownHeaders: Record<string, string>][] = [
  ['/console', { ...revalidated, 'content-security-policy': contentSecurityPolicy }],
  ['/openapi.yaml', revalidated],
  ['/openapi.json', revalidated],
  ['/openapi-3.1.json', revalidated],
  ['/docs', { ...revalidated, 'content-security-policy': contentSecurityPolicy }],
  ['/docs/swagger-ui.css', revalidated],
  ['/docs/swagger-ui-bundle.js', revalidated],
  ['/docs/initializer.js', revalidated],
  ['/cli/partner-feed.cjs', revalidated],
  ['/cli/partner-feed.json', revalidated],
];
const file = readFileSync(join(__dirname, '../../../spec/openapi.yaml'));
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

let service: TestService;
beforeAll(async () => {
  // The pages have no rate limit: each test would reach it.
  service = await startTestService({ rateLimit: { requests: 1, seconds: 3600 } });
});

describe('the service pages', () => {
  it('are not operations of the document, which lists them', () => {
    expect(document['x-outside-contract']).toEqual(['GET /', ...pages.map(([path]) => `GET ${path}`)]);
    expect(pages.map(([path]) => path).filter((path) => path in document.paths)).toEqual([]);
  });

  it.each(pages)('%s is public with any key and query, and has no rate limit', async (path, own) => {
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

/** Headers of browsers for navigation. */
const navigation = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describe('GET /', () => {
  const send = (method: string, headers: Record<string, string>) =>
    sendRaw(service.url, { method, path: '/', headers });

  it('is the landing page for browsers, with links to console, documentation and document', async () => {
    const { status, headers, text } = await send('GET', navigation);

    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers.vary).toBe('Accept, Accept-Encoding');
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
    ['/console/partners/', '../../'],
    ['/console/feeds/FD00001/runs/1/', '../../../../../'],
    ['/console/feeds/FD00001', '../../'],
    ['/console/partners/A%2FB%20%22%3E', '../../'],
    ['/console/feeds/FD00001/runs/1', '../../../../'],
    ['/console/a/b/c/d/e/f/g/h', '../'.repeat(8)],
  ])('%s is the console, which loads its files by relative addresses', async (path, toRoot) => {
    const { status, headers, text } = await sendRaw(service.url, { method: 'GET', path, headers: {} });

    expect(status).toBe(200);
    expect(headers['content-security-policy']).toBe(contentSecurityPolicy);
    const [, script] = /src="([^"]+)"/.exec(text)!;
    expect(script).toMatch(/^[./]+assets\/console-[0-9a-f]{16}\.js$/);
    expect(script!.startsWith(`${toRoot}assets`)).toBe(true);
    expect(new URL(script!, `http://host${path}`).pathname).toMatch(/^\/assets\/console-/);
  });

  it('allows no inline script or style, and no other host', () => {
    expect(contentSecurityPolicy).not.toMatch(/unsafe|https?:|\*/);
  });

  it('load at most 200 kB until the overview is shown: page, styles, and the scripts that it imports', async () => {
    const { body: shell } = await service.api.get('/console');
    const files = addressesIn(shell as string).map((address) => address.slice(1));
    expect(files).toHaveLength(2);
    const styles = await service.api.get(files.find((path) => path.endsWith('.css'))!);
    expect(styles.body).not.toMatch(/url\(|@import/);
    const overview = await importsOf([...files, ...(await chunksOf('home'))]);

    for (const encoding of ['br', 'gzip']) {
      const sizes = await Promise.all(
        ['/console', ...overview].map(async (path) => {
          const { headers } = await get(path, { 'accept-encoding': encoding });
          expect(headers['content-encoding']).toBe(encoding);
          return Number(headers['content-length']);
        }),
      );
      expect(sizes.reduce((sum, each) => sum + each)).toBeLessThan(200_000);
    }
  });
});

/** Returns the addresses of the parts of the console that a view has, or all that the console imports when they are needed. */
async function chunksOf(view = '[\\w-]+'): Promise<string[]> {
  const { text } = await get('/console');
  const script = addressesIn(text).find((path) => path.endsWith('.js'))!;
  const { text: code } = await get(script.slice(1));
  const imported = code.matchAll(new RegExp(`import\\("\\./(${view}-[A-Z0-9]{8}\\.js)"\\)`, 'g'));
  return [...new Set(Array.from(imported, ([, name]) => `/assets/${name}`))];
}

/** Returns the scripts with all that they import at once, and other files as they are. */
async function importsOf(files: string[]): Promise<string[]> {
  const found = new Set(files);
  let added = files;
  while (added.length > 0) {
    const scripts = await Promise.all(added.filter((path) => path.endsWith('.js')).map((path) => get(path)));
    const imported = scripts.flatMap(({ text }) =>
      Array.from(text.matchAll(/(?:from|import) ?"\.\/([\w-]+\.js)"/g), ([, name]) => `/assets/${name}`),
    );
    added = [...new Set(imported)].filter((path) => !found.has(path));
    added.forEach((path) => found.add(path));
  }
  return [...found];
}

describe('the parts of the console that are loaded when they are needed', () => {
  it('are served and cached forever, with all that they import', async () => {
    const views = await chunksOf();
    expect(views.length).toBeGreaterThan(15);
    const parts = await importsOf(views);
    const responses = await Promise.all(parts.map((path) => get(path, {}, 'HEAD')));
    expect(parts.filter((_, at) => responses[at]!.status !== 200)).toEqual([]);
    for (const { headers } of responses) {
      expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
      expectSecurityHeaders(new Headers(headers as Record<string, string>), {
        'cache-control': 'public, max-age=31536000, immutable',
      });
    }
  });

  it('are unknown at the addresses of another release, and are not cached', async () => {
    const [path] = await chunksOf('home');
    const { status, headers } = await get(path!.replace(/-[A-Z0-9]{8}\.js$/, '-OTHERONE.js'));
    expect(status).toBe(404);
    expect(headers['cache-control']).toBe('no-store');
  });
});

/** Returns the addresses that a page loads. */
const addressesIn = (page: string) =>
  [...page.matchAll(/<(?:script|link) [^>]*(?:src|href)="(?!data:)([^"]*)"/g)].map(([, address]) => address!);

/** Returns the addresses that a page loads when they are needed. */
const laterAddressesIn = (page: string) =>
  [...page.matchAll(/ data-workbook-worker="([^"]*)"/g)].map(([, address]) => address!);

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  sendRaw(service.url, { method, path, headers });

describe('the files that pages load', () => {
  let files: string[];
  beforeAll(async () => {
    const shown = await Promise.all(
      ['/', '/console', '/docs'].map((path) => get(path, { accept: 'text/html' })),
    );
    const addresses = shown.flatMap(({ text }) => [...addressesIn(text), ...laterAddressesIn(text)]);
    files = [...new Set(addresses.map((address) => new URL(address, service.url).pathname))];
  });

  it('are cached forever, at addresses that contain the digest of their content', async () => {
    expect(files.map((path) => path.replace(/-[0-9a-f]{16}/, '')).sort()).toEqual(
      [
        'console.css',
        'console.js',
        'initializer.js',
        'swagger-ui-bundle.js',
        'swagger-ui.css',
        'workbook-worker.js',
      ].map((name) => `/assets/${name}`),
    );
    for (const path of files) {
      const { status, headers, text } = await get(path);
      const digest = createHash('sha256').update(text).digest('hex');
      expect(status).toBe(200);
      expect(path).toContain(`-${digest.slice(0, 16)}.`);
      expect(headers).toMatchObject({
        etag: `"${digest}"`,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
    }
  });

  it('are found at the addresses of another release too, but are not cached there', async () => {
    for (const path of files) {
      const current = await get(path, { 'accept-encoding': 'br' });
      const other = path.replace(/-[0-9a-f]{16}/, '-0123456789abcdef');
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await get(other, { 'accept-encoding': 'br' }, method);
        expect(status).toBe(200);
        expect(headers).toEqual({
          ...current.headers,
          'cache-control': 'no-cache',
          'x-request-id': expect.any(String) as string,
          date: expect.any(String) as string,
        });
      }
      expect((await get(other)).text).toBe((await get(path)).text);
      expect((await get(other, { 'if-none-match': current.headers.etag! })).status).toBe(200);
      const again = await get(other, { 'if-none-match': (await get(path)).headers.etag! });
      expect([again.status, again.headers.vary]).toEqual([304, 'Accept-Encoding']);
      expect((await get(other, {}, 'POST')).status).toBe(405);
      for (const unknown of ['x', '0123456789ABCDEF', '0123456789abcdef0'])
        expect((await get(path.replace(/-[0-9a-f]{16}/, `-${unknown}`))).status).toBe(404);
      expect((await get(path.replace(/[^/]+-(?=[0-9a-f]{16})/, 'other-'))).status).toBe(404);
    }
  });
});

describe('the encoding of pages and files', () => {
  const identity = undefined;
  const decode = { br: brotliDecompressSync, gzip: gunzipSync };

  it.each([
    [undefined, identity],
    ['', identity],
    ['identity', identity],
    ['deflate, zstd', identity],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip;q=0.1, identity;q=0.5', identity],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0, gzip;q=0', identity],
    ['identity;q=0, br;q=0, gzip;q=0.001', 'gzip'],
    ['identity;q=0, *', 'br'],
    ['*;q=0, gzip', 'gzip'],
    ['BR', 'br'],
  ] as const)('with Accept-Encoding %j is %j', async (accepted, encoding) => {
    const headers = {
      'x-request-id': 'the-same',
      ...(accepted !== undefined && { 'accept-encoding': accepted }),
    };
    for (const path of ['/console', '/docs', '/openapi.json', '/docs/swagger-ui.css']) {
      const plain = await fetchBytes(path);
      const encoded = await fetchBytes(path, headers);

      expect(encoded.headers['content-encoding']).toBe(encoding);
      expect(encoded.headers['content-length']).toBe(String(encoded.bytes.length));
      expect(encoded.headers['content-type']).toBe(plain.headers['content-type']);
      expect(encoded.headers.vary).toBe('Accept-Encoding');
      expect(encoded.headers.etag === plain.headers.etag).toBe(encoding === identity);
      const decoded = encoding === undefined ? encoded.bytes : decode[encoding](encoded.bytes);
      expect(decoded.equals(plain.bytes)).toBe(true);
      const head = await get(path, headers, 'HEAD');
      expect(head.headers).toMatchObject({ ...encoded.headers, date: expect.any(String) as string });
      const again = await get(path, { ...headers, 'if-none-match': encoded.headers.etag! });
      expect(again.status).toBe(304);
      expect(again.headers.vary).toBe('Accept-Encoding');
      expect(again.headers.etag).toBe(encoded.headers.etag);
      expect(again.headers).not.toHaveProperty('content-encoding');
    }
  });

  it.each(['identity;q=0', '*;q=0', 'identity;q=0, zstd'])(
    'is none that %s accepts: 406',
    async (accepted) => {
      const { status, headers, text } = await get('/console', { 'accept-encoding': accepted });

      expect([status, text]).toEqual([406, '{"detail":"Not Acceptable"}']);
      expect(headers.vary).toBe('Accept-Encoding');
      expect(headers['x-error-code']).toBe('not_acceptable');
      expectSecurityHeaders(new Headers(headers as Record<string, string>));
    },
  );

  it('has a tag of its own: the copy of another encoding is not current', async () => {
    const { headers } = await get('/openapi.yaml', { 'accept-encoding': 'br' });

    const { status } = await get('/openapi.yaml', {
      'accept-encoding': 'gzip',
      'if-none-match': headers.etag!,
    });

    expect(status).toBe(200);
  });
});

/** Sends a GET. @returns the raw body */
function fetchBytes(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
    const message = request(`${service.url}${path}`, { headers, agent: false }, (response) => {
      buffer(response).then((bytes) => resolve({ headers: response.headers, bytes }), reject);
    });
    message.on('error', reject).end();
  });
}

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
      const { headers } = await get('/openapi.yaml');

      expect(headers.etag).toBe(`"${createHash('sha256').update(file).digest('hex')}"`);
      expect(headers['cache-control']).toBe('no-cache');
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
      const { headers, text } = await get('/openapi.json');

      expect(headers.etag).toBe(`"${createHash('sha256').update(text).digest('hex')}"`);
      expect(headers['cache-control']).toBe('no-cache');
    });
  });

  describeNotModified('/openapi.json', () => service);
});

describe('GET /openapi-3.1.json', () => {
  describe('200', () => {
    it('is the document in OpenAPI 3.1, with events and null as a type; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/openapi-3.1.json');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      const { openapi, webhooks, components, ...same } = body as typeof document & { webhooks: object };
      const { openapi: _version, 'x-webhooks': events, components: _schemas, ...rest } = document;
      expect(openapi).toBe('3.1.0');
      expect(webhooks).toEqual(events);
      expect(same).toEqual(rest);
      expect(components.schemas.Product.properties.brand.type).toEqual(['string', 'null']);
      expect(JSON.stringify(body)).not.toContain('"nullable"');
    });

    it('has its SHA-256 as a strong ETag, and must be revalidated', async () => {
      const { headers, text } = await get('/openapi-3.1.json');

      expect(headers.etag).toBe(`"${createHash('sha256').update(text).digest('hex')}"`);
      expect(headers['cache-control']).toBe('no-cache');
    });
  });

  describeNotModified('/openapi-3.1.json', () => service);
});

describe('GET /docs', () => {
  let page: string;
  beforeAll(async () => {
    page = (await service.api.get('/docs')).body as string;
  });

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
      expect(page).not.toMatch(/(?:src|href)="(\w+:)?\/\//);
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
      expect(body).toContain("url: 'openapi-3.1.json'");
      expect(body).toContain('validatorUrl: null');
      expect(body).not.toMatch(/https?:/);
    });
  });

  describeNotModified('/docs/initializer.js', () => service);
});

describe('GET /cli/partner-feed.cjs', () => {
  describe('200', () => {
    it('is the built command as one file; no key is needed', async () => {
      const { status, headers, text } = await get('/cli/partner-feed.cjs');

      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
      expect(text === readFileSync(feedEntry, 'utf8')).toBe(true);
    });
  });

  describeNotModified('/cli/partner-feed.cjs', () => service);
});

describe('GET /cli/partner-feed.json', () => {
  describe('200', () => {
    it('has the version of the document, and size and SHA-256 of the offered file', async () => {
      const { status, headers, text } = await get('/cli/partner-feed.json');
      const { bytes } = await fetchBytes('/cli/partner-feed.cjs');

      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json');
      expect(JSON.parse(text)).toEqual({
        version: document.info.version,
        file: 'partner-feed.cjs',
        size_bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        node: engines.node,
      });
    });

    it('agrees with the landing page, which shows how to download and verify the file', async () => {
      const { sha256 } = JSON.parse((await get('/cli/partner-feed.json')).text) as { sha256: string };
      const { text } = await get('/', navigation);

      expect(text).toContain('curl -O $URL/cli/partner-feed.cjs\n');
      expect(text).toContain(`echo '${sha256}  partner-feed.cjs' | sha256sum -c\n`);
    });
  });

  describeNotModified('/cli/partner-feed.json', () => service);
});

describe('with SERVICE_PAGES=off', () => {
  let without: TestService;
  beforeAll(async () => {
    without = await startTestService({ servicePages: false });
  });

  it.each(['/', '/console/feeds'])('%s is an unknown route for browsers too', async (path) => {
    expect((await sendRaw(without.url, { method: 'GET', path, headers: navigation })).status).toBe(404);
  });

  it.each(pages)('%s is an unknown route, for any method and also with a key', async (path) => {
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
