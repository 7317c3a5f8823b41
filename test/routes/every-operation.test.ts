import type { ApiClient, ApiResponse } from '../support/api-client';
import { startAppAt, startTestService, testKey, type TestService } from '../support/service';
import { createTestDatabase, openDatabaseLine, startFakeDatabase } from '../support/databases';
import { eventually } from '../support/harness';
import {
  allowedMethods,
  expectSecurityHeaders,
  operations,
  withQuery,
  type Operation,
} from '../support/contract';
import { loadProducts } from '../support/catalog';
import { startService } from '../support/process';
import { sendRaw, type RawResponse } from '../support/requests';
import { putWebhook } from '../support/webhook-requests';
import { insertExampleWebhook } from '../support/webhooks';

const aUuid = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
);

const unauthorized = { status: 401, body: { detail: 'Invalid or missing API key' } };
const internalError = { status: 500, body: { detail: 'Internal server error' } };
const unavailable = { status: 503, body: { detail: 'Service temporarily unavailable' } };

/** Security headers that an operation declares itself. */
const ofCatalog = { 'cache-control': 'private, max-age=2' };
const ownHeaders: Record<string, Parameters<typeof expectSecurityHeaders>[1]> = {
  listProducts: ofCatalog,
  listProductFacets: ofCatalog,
  getProduct: ofCatalog,
  listProductHistory: ofCatalog,
  getProductPrices: ofCatalog,
  listProductsByFeed: ofCatalog,
  downloadFeedFile: { 'cache-control': 'private, no-cache' },
  getJob: { 'cache-control': 'private, no-cache' },
};

const keyed = operations.filter(({ needsKey }) => needsKey);
/** Operations that need no database. */
const withoutDatabase = ['getFeedProfile', 'downloadFeedTemplate'];
const onDatabase = keyed.filter(({ operationId }) => !withoutDatabase.includes(operationId));
const offDatabase = keyed.filter(({ operationId }) => withoutDatabase.includes(operationId));
const reading = operations.filter(({ method }) => method === 'GET');
const withBody = operations.filter(({ hasBody }) => hasBody);
const withPathParameter = operations.filter(({ path }) => path.includes('{'));

/** A service that contains every resource named by the document's examples. */
async function startWithExamples(): Promise<TestService> {
  const service = await startTestService({ partnerWebhookPrivateAddresses: true });
  await loadProducts(service, [
    { sku: 'TENT-2', price: '189.90', currency: 'EUR', availability: 'in_stock' },
    { sku: 'LAMP-1', price: '24.50', currency: 'EUR' },
    { sku: 'STOVE-3' },
  ]);
  const { status } = await service.api.post('/orders', {
    partner_name: 'Acme Outdoor',
    items: [{ product_id: 'PR00001', quantity: 1 }],
  });
  expect(status).toBe(201);
  await putExampleFormat(service);
  await insertExampleWebhook(service.db);
  await putExampleSource(service);
  await putLocalWebhook(service);
  return service;
}

async function putExampleFormat({ api }: Pick<TestService, 'api'>): Promise<void> {
  const put = operations.find(({ operationId }) => operationId === 'replaceFormat')!;
  if ((await api.get(put.examplePath)).status === 404) expect((await sendExample(api, put)).status).toBe(200);
}

const operationsOnSource = ['getSource', 'deleteSource', 'fetchSource', 'listSourceFetches'];

async function putExampleSource({ api }: Pick<TestService, 'api'>): Promise<void> {
  const put = operations.find(({ operationId }) => operationId === 'replaceSource')!;
  if ((await api.get(put.examplePath)).status === 404) expect((await sendExample(api, put)).status).toBe(200);
}

const operationsOnWebhook = operations
  .filter(({ path }) => path.includes('{webhook_name}'))
  .map(({ operationId }) => operationId);

/** Creates the webhook of the document's examples, for a receiver that refuses connections. */
async function putLocalWebhook({ api }: Pick<TestService, 'api'>): Promise<void> {
  const { status } = await putWebhook(api, 'Acme Outdoor', 'job-events', { url: 'https://127.0.0.1:1/' });
  expect([200, 201]).toContain(status);
}

function sendExample(
  api: ApiClient,
  { method, examplePath, exampleBody }: Operation,
  { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<ApiResponse> {
  const { headers: own, body } = exampleBody();
  return api.send(method, withQuery(examplePath, query), {
    headers: { ...(own as object), ...headers },
    body,
  });
}

async function prepare(
  { operationId }: Operation,
  { api }: Pick<TestService, 'api'> = service,
): Promise<void> {
  if (['getFormat', 'deleteFormat'].includes(operationId)) await putExampleFormat({ api });
  if (operationsOnSource.includes(operationId)) await putExampleSource({ api });
  if (operationsOnWebhook.includes(operationId)) await putLocalWebhook({ api });
  if (operationId !== 'cancelJob') return;
  await api.post('/jobs/JV00001/run', undefined, { prefer: 'respond-async' });
}

const answer = ({ status, body }: ApiResponse): { status: number; body: unknown } => ({ status, body });
const parsed = ({ status, text }: RawResponse) => ({ status, body: JSON.parse(text) as unknown });

let service: TestService;
beforeAll(async () => {
  service = await startWithExamples();
});

/** Rows and objects that uploads and orders create. */
async function storedRows(): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown> = {};
  for (const table of [
    'partners',
    'partner_formats',
    'sources',
    'source_fetches',
    'webhook_endpoints',
    'feeds',
    'submission_jobs',
    'validation_jobs',
    'orders',
    'order_items',
  ]) {
    rows[table] = (await service.db(table).count('* as count'))[0]!.count;
  }
  return rows;
}

/** No key, and for the most common methods also a wrong and a right one. */
const keysOf = (method: string): Record<string, string>[] =>
  method === 'GET' || method === 'POST' ? [{}, { 'x-api-key': 'wrong-key' }, { 'x-api-key': testKey }] : [{}];

describe('every operation', () => {
  describe('success', () => {
    it.each(operations)('$title returns a documented response to its example', async (operation) => {
      await prepare(operation);
      const response = await sendExample(service.api, operation);

      expect(response.status).toBe(operation.success);
      const isJson = operation.mediaType === 'application/json';
      expectSecurityHeaders(response.headers, ownHeaders[operation.operationId]);
      const isText = operation.mediaType.startsWith('text/');
      expect(response.headers.get('content-type')).toBe(
        isText ? `${operation.mediaType}; charset=utf-8` : operation.mediaType,
      );
      expect(response.headers.get('x-request-id')).toEqual(aUuid);
      // Express would add a weak ETag and `x-powered-by`.
      expect([...response.headers.keys()].filter((name) => !operation.headers.includes(name))).toEqual([]);
      expect(response.body).toEqual(expect.any(isJson ? Object : String));
    });

    it.each(operations)('$title ignores unknown query parameters, and names them', async (operation) => {
      const query = '?unknown=1&unknown=2&Limit=x&limit[]=x&__proto__=x&constructor=x&x-api-key=wrong&=&&';

      await prepare(operation);
      const plain = await sendExample(service.api, operation);
      await prepare(operation);
      const response = await sendExample(service.api, operation, { query });

      expect(response.status).toBe(operation.success);
      if (operation.method === 'GET') expect(response.body).toEqual(plain.body);
      expect(plain.headers.get('ignored-parameters')).toBeNull();
      expect(response.headers.get('ignored-parameters')).toBe(
        'unknown, Limit, limit%5B%5D, __proto__, constructor, x-api-key',
      );
    });

    it.each(operations)('$title reports that it has no unknown parameter to reject', async (operation) => {
      await prepare(operation);
      const headers = { prefer: 'handling=strict' };

      const response = await sendExample(service.api, operation, { headers });

      expect(response.status).toBe(operation.success);
      expect(response.headers.get('preference-applied')).toBe('handling=strict');
      expect(response.headers.get('ignored-parameters')).toBeNull();
    });

    it.each(keyed)('$title accepts an exact key only', async (operation) => {
      for (const key of [
        testKey.toUpperCase(),
        testKey.slice(0, -1),
        `${testKey}2`,
        `${testKey},${testKey}`,
        `${testKey}, ${testKey}`,
        '*',
      ]) {
        expect(answer(await sendExample(service.api.withKey(key), operation))).toEqual(unauthorized);
      }
      await prepare(operation);
      expect((await sendExample(service.api.withKey(testKey), operation)).status).toBe(operation.success);
    });
  });

  describe('401', () => {
    const keys = [
      ['a missing', undefined],
      ['a wrong', 'wrong-key'],
      ['an empty', ''],
    ] as const;
    const cases = keyed.flatMap((operation) =>
      keys.map(([which, key]) => ({ ...operation, operation, which, key })),
    );

    it.each(cases)('$title rejects $which key, without effect', async ({ operation, key }) => {
      const before = await storedRows();

      const response = await sendExample(service.api.withKey(key), operation);

      expect(answer(response)).toEqual(unauthorized);
      expectSecurityHeaders(response.headers);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-request-id')).toEqual(aUuid);
      expect(await storedRows()).toEqual(before);
    });

    it.each(keyed)('$title accepts a key in its header only', async (operation) => {
      const query = `?x-api-key=${testKey}&api_key=${testKey}`;
      const headers = { authorization: `Bearer ${testKey}`, cookie: `x-api-key=${testKey}` };

      const response = await sendExample(service.api.withKey(undefined), operation, { query, headers });

      expect(answer(response)).toEqual(unauthorized);
    });

    it.each(keyed)('$title checks the key before the query', async (operation) => {
      const query = '?limit=x&sort_by=x&order=x&cursor=x&grain=x&currency=x&partner_name=%00';

      const response = await sendExample(service.api.withKey('wrong-key'), operation, { query });

      expect(answer(response)).toEqual(unauthorized);
    });

    it.each(withPathParameter)(
      '$title checks the key before it decodes the path',
      async ({ method, path }) => {
        const response = await service.api.withKey('wrong-key').send(method, path.replace(/\{.+?\}/g, '%zz'));

        expect(answer(response)).toEqual(unauthorized);
      },
    );

    it.each(withBody)('$title checks the key before the body and its media type', async (operation) => {
      const { method, examplePath } = operation;
      for (const contentType of ['text/plain', 'application/json', 'multipart/form-data']) {
        const response = await service.api.withKey('wrong-key').send(method, examplePath, {
          headers: { 'content-type': contentType },
          body: '{'.repeat(2 * 1024 * 1024),
        });

        expect(answer(response)).toEqual(unauthorized);
      }
    });

    it.each(withBody)(
      '$title rejects a request without a key before its body arrives',
      async ({ method, examplePath }) => {
        const response = await sendRaw(service.url, {
          method,
          path: examplePath,
          headers: { 'content-type': 'application/json', 'content-length': 1_000 },
          chunks: ['{'],
          unfinished: true,
        });

        expect(parsed(response)).toEqual(unauthorized);
      },
    );
  });

  describe('422', () => {
    it.each(operations)(
      '$title rejects an unknown query parameter if the client prefers that, without effect',
      async (operation) => {
        const before = await storedRows();
        const query = '?partnername=Acme%20Outdoor';

        const response = await sendExample(service.api, operation, {
          query,
          headers: { prefer: 'handling=strict' },
        });

        const msg = 'Extra inputs are not permitted';
        const loc = ['query', 'partnername'];
        expect(answer(response)).toEqual({
          status: 422,
          body: { detail: [{ type: 'extra_forbidden', loc, msg, input: 'Acme Outdoor' }] },
        });
        expect(response.headers.get('preference-applied')).toBe('handling=strict');
        expect(response.headers.get('ignored-parameters')).toBeNull();
        expect(await storedRows()).toEqual(before);
      },
    );
  });

  describe('400', () => {
    const segments = ['%', '%zz', '%E0%A4%A', '%FF', 'FD00001%', '%c3%28'];
    const cases = withPathParameter.flatMap((operation) =>
      segments.map((segment) => ({ ...operation, segment })),
    );

    it.each(cases)(
      '$title rejects a path with $segment, which cannot be decoded',
      async ({ method, path, segment }) => {
        const response = await service.api.send(method, path.replace(/\{.+?\}/, segment));

        expect(answer(response)).toEqual({ status: 400, body: { detail: 'Malformed request path.' } });
        expect(response.headers.get('content-type')).toBe('application/json');
        expect(response.headers.get('x-request-id')).toEqual(aUuid);
      },
    );
  });

  describe('404', () => {
    const paths = [
      '/',
      '/nope',
      '/Products',
      '/products/',
      '/products/PR00001/',
      '/products/PR00001/more',
      '/products/by-feed/',
      '/products/by-feed/FD00001/more',
      '//products',
      '/feeds/',
      '/feeds/upload/',
      '/jobs',
      '/jobs/JV00001/stop',
      '/jobs//run',
      '/orders/',
      '/orders/OR00001/items',
      '/analytics',
      '/analytics/nope',
      '/health/',
      '/healthz',
      '/openapi.yml',
      '/openapi.json/',
      '/docs/',
      '/docs/index.html',
      '/docs/swagger-ui.js',
      '/docs/package.json',
      '/docs/..%2fpackage.json',
      '/docs/%2e%2e/%2e%2e/package.json',
      '/docs/swagger-ui.css/../package.json',
      '/docs.html',
      '/index.html',
      '/assets',
      '/assets/',
      '/assets/..%2fopenapi.yaml',
      '/identity/openapi.yaml',
      '/console//',
      '/console//a',
      `/console${'/a'.repeat(17)}`,
      '/nope/%zz',
      '/nope?limit=x',
      '/api/products',
      '/products;x=1',
    ];

    it.each(paths)('%s is an unknown route for every method, before the key is checked', async (path) => {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
        for (const headers of keysOf(method)) {
          const response = await sendRaw(service.url, { method, path, headers });

          expect(response.status).toBe(404);
          expectSecurityHeaders(new Headers(response.headers as Record<string, string>));
          expect(response.text).toBe(method === 'HEAD' ? '' : '{"detail":"Not Found"}');
          expect(response.headers['content-type']).toBe('application/json');
          expect(response.headers['x-request-id']).toEqual(aUuid);
          expect(response.headers).not.toHaveProperty('x-powered-by');
          expect(response.headers).not.toHaveProperty('allow');
        }
      }
    });

    it('GET /feeds/upload is the feed "upload", which is unknown', async () => {
      const unknown = { status: 404, body: { detail: 'Feed upload not found.' } };

      expect(answer(await service.api.get('/feeds/upload'))).toEqual(unknown);
      expect(answer(await service.api.withKey(undefined).get('/feeds/upload'))).toEqual(unauthorized);
      expect(answer(await service.api.send('HEAD', '/feeds/upload'))).toEqual({
        status: 404,
        body: undefined,
      });
    });

    it.each(['/products/by-feed', '/products/PR99999', '/jobs/run', '/jobs/issues'])(
      'GET %s is a route with an unknown resource: the key is checked first',
      async (path) => {
        expect((await service.api.get(path)).status).toBe(404);
        expect((await service.api.get(path)).body).not.toEqual({ detail: 'Not Found' });
        expect(answer(await service.api.withKey(undefined).get(path))).toEqual(unauthorized);
      },
    );
  });

  describe('405', () => {
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
    const paths = [
      ...new Set([...operations.map(({ examplePath }) => examplePath), '/orders/%zz', '/feeds/upload']),
    ];
    const cases = paths.flatMap((path) =>
      methods
        .filter((method) => !allowedMethods(path).includes(method))
        .map((method) => [method, path] as const),
    );

    it.each(cases)('%s %s is not allowed: Allow is sent before the key is checked', async (method, path) => {
      for (const headers of keysOf(method)) {
        const response = await sendRaw(service.url, { method, path, headers });

        expect(response.status).toBe(405);
        expectSecurityHeaders(new Headers(response.headers as Record<string, string>));
        expect(response.text).toBe(method === 'HEAD' ? '' : '{"detail":"Method Not Allowed"}');
        expect(response.headers.allow?.split(', ').sort()).toEqual(allowedMethods(path));
        expect(response.headers['content-type']).toBe('application/json');
        expect(response.headers['x-request-id']).toEqual(aUuid);
        expect(response.headers).not.toHaveProperty('x-powered-by');
      }
    });

    it('lists exactly the methods of the document', () => {
      expect(allowedMethods('/feeds/upload')).toEqual(['GET', 'HEAD', 'POST']);
      expect(allowedMethods('/orders')).toEqual(['GET', 'HEAD', 'POST']);
      expect(allowedMethods('/products')).toEqual(['GET', 'HEAD']);
      expect(allowedMethods('/jobs/JV00001/run')).toEqual(['POST']);
      // Each known path has methods that are not allowed.
      expect(cases.length).toBeGreaterThan(paths.length * 5);
    });

    it('precedes the checks of body and media type', async () => {
      const response = await sendRaw(service.url, {
        method: 'PUT',
        path: '/orders',
        headers: { 'content-type': 'text/plain', 'content-length': 10_000_000 },
        chunks: ['{'],
        unfinished: true,
      });

      expect(parsed(response)).toEqual({ status: 405, body: { detail: 'Method Not Allowed' } });
    });
  });

  describe('HEAD', () => {
    const cases = [
      ...reading.map(({ examplePath }) => [examplePath, testKey] as const),
      ...reading.map(({ examplePath }) => [examplePath, 'wrong-key'] as const),
      ...['/products?limit=0', '/products?order=x', '/orders/OR99999', '/orders/%zz', '/nope'].map(
        (path) => [path, testKey] as const,
      ),
    ];

    it.each(cases)('of %s, with the key %s, is GET without the body', async (path, key) => {
      const headers = { 'x-api-key': key, 'x-request-id': 'the-same' };

      const get = await sendRaw(service.url, { method: 'GET', path, headers });
      const head = await sendRaw(service.url, { method: 'HEAD', path, headers });

      expect(get.text).not.toBe('');
      if ('transfer-encoding' in get.headers) {
        // Generated while it is sent: its length is known at the end. HEAD does not show its framing.
        expect(get.headers['content-type']).toMatch(/^text\/(csv|event-stream); charset=utf-8$/);
        delete get.headers['transfer-encoding'];
      } else {
        expect(get.headers['content-length']).toBe(String(Buffer.byteLength(get.text)));
      }
      expect(head).toEqual({
        status: get.status,
        headers: { ...get.headers, date: expect.any(String) },
        text: '',
      });
    });
  });

  describe('x-request-id', () => {
    /** Requests that cover every way to respond. */
    const requests: [status: number, method: string, path: string, key: string | undefined][] = [
      [200, 'GET', '/products', testKey],
      [200, 'GET', '/health', undefined],
      [200, 'HEAD', '/products', testKey],
      [400, 'GET', '/products?order=x', testKey],
      [400, 'GET', '/orders/%zz', testKey],
      [401, 'GET', '/products', undefined],
      [404, 'GET', '/nope', undefined],
      [404, 'GET', '/orders/OR99999', testKey],
      [405, 'PUT', '/products', undefined],
      [415, 'POST', '/feeds/upload', testKey],
      [422, 'GET', '/products?limit=0', testKey],
      [422, 'POST', '/orders', testKey],
    ];
    const send = async (
      [status, method, path, key]: (typeof requests)[number],
      requestId?: string | string[],
    ): Promise<string | string[] | undefined> => {
      const response = await sendRaw(service.url, {
        method,
        path,
        headers: {
          ...(key === undefined ? {} : { 'x-api-key': key }),
          ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
          ...(status === 415 ? { 'content-type': 'text/plain', 'content-length': 1 } : {}),
        },
        chunks: status === 415 ? ['x'] : [],
      });
      expect(response.status).toBe(status);
      return response.headers['x-request-id'];
    };

    it.each(requests)("is the caller's own in a %d (%s %s)", async (...request) => {
      expect(await send(request, 'aZ09._-')).toBe('aZ09._-');
    });

    it.each(requests)('is a new UUID in a %d (%s %s) if the request has none', async (...request) => {
      const first = await send(request);
      const second = await send(request);

      expect([first, second]).toEqual([aUuid, aUuid]);
      expect(first).not.toBe(second);
    });

    it.each(['a', '-', '.', '0', 'x'.repeat(128), '3f0e4b9c-1111-4222-8333-444455556666', '__proto__'])(
      'may be %s',
      async (requestId) => {
        expect(await send(requests[0]!, requestId)).toBe(requestId);
      },
    );

    it.each<[string | string[]]>([
      [''],
      ['x'.repeat(129)],
      ['a b'],
      ['a/b'],
      ['a,b'],
      ['a:b'],
      ['<script>'],
      ['"a"'],
      ['a\tb'],
      ['caf\u00e9'],
      ['{}'],
      [['a', 'b']],
    ])('may not be %j: a new UUID replaces it', async (requestId) => {
      expect(await send(requests[0]!, requestId)).toEqual(aUuid);
    });
  });

  describe('429', () => {
    const tooMany = { status: 429, body: { detail: 'Too many requests with this API key.' } };
    let limited: TestService;
    beforeAll(async () => {
      limited = await startTestService({ rateLimit: { requests: 1, seconds: 3600 } });
      await limited.api.get('/feeds/profile');
    });

    it.each(keyed)('$title rejects a key over its rate limit, with Retry-After', async (operation) => {
      const response = await sendExample(limited.api, operation);

      expect(answer(response)).toEqual(tooMany);
      const seconds = response.headers.get('retry-after');
      expect(seconds).toMatch(/^[1-9]\d*$/);
      expect(Number(seconds)).toBeLessThanOrEqual(3600);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-request-id')).toEqual(aUuid);
      for (const table of ['feeds', 'orders']) expect(await limited.db(table)).toEqual([]);
    });

    it.each(withBody)('$title rejects before reading the body', async ({ method, examplePath }) => {
      const response = await sendRaw(limited.url, {
        method,
        path: examplePath,
        headers: { 'x-api-key': testKey, 'content-type': 'text/plain', 'content-length': 1_000 },
        chunks: ['{'],
        unfinished: true,
      });

      expect(parsed(response)).toEqual(tooMany);
    });

    it.each(keyed)('$title still rejects a wrong key with 401', async (operation) => {
      expect(answer(await sendExample(limited.api.withKey('wrong-key'), operation))).toEqual(unauthorized);
    });

    it.each(operations.filter(({ needsKey }) => !needsKey))(
      '$title needs no key, and has no rate limit',
      async (operation) => {
        expect((await sendExample(limited.api, operation)).status).toBe(operation.success);
      },
    );
  });

  describe('500', () => {
    let broken: TestService;
    beforeAll(async () => {
      broken = await startWithExamples();
      const { rows } = await broken.db.raw<{ rows: { tablename: string }[] }>(
        "select tablename from pg_tables where schemaname = 'public'",
      );
      for (const { tablename } of rows) await broken.db.raw(`drop table if exists ${tablename} cascade`);
    });

    it.each(onDatabase)('$title exposes no detail when the tables are missing', async (operation) => {
      const response = await sendExample(broken.api, operation, { headers: { 'x-request-id': 'find-me' } });

      expect(answer(response)).toEqual(internalError);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-request-id')).toBe('find-me');
      expect(response.headers.get('retry-after')).toBeNull();
      expect(response.headers.get('x-powered-by')).toBeNull();
    });

    it.each(offDatabase)('$title needs no table', async (operation) => {
      const response = await sendExample(broken.api, operation);

      expect(answer(response)).toEqual(answer(await sendExample(service.api, operation)));
      expect(response.status).toBe(operation.success);
    });
  });

  describe('503', () => {
    const expectUnavailable = (response: ApiResponse) => {
      expect(answer(response)).toEqual(unavailable);
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-request-id')).toEqual(aUuid);
    };
    const terminateConnections = async (database: string) => {
      await service.db.raw('select pg_terminate_backend(pid) from pg_stat_activity where datname = ?', [
        database,
      ]);
    };

    describe('when every connection to the database is closed at once', () => {
      let api: ApiClient;
      beforeAll(async () => {
        const { address } = await startFakeDatabase((connection) => connection.end());
        ({ api } = await startAppAt(address));
      });

      it.each(onDatabase)('$title has Retry-After', async (operation) => {
        expectUnavailable(await sendExample(api, operation));
      });

      it.each(offDatabase)('$title is not affected', async (operation) => {
        expect((await sendExample(api, operation)).status).toBe(operation.success);
      });

      it.each(keyed)('$title still rejects a wrong key', async (operation) => {
        expect(answer(await sendExample(api.withKey('wrong-key'), operation))).toEqual(unauthorized);
      });
    });

    // The real service: only there, network errors reach the code under test unchanged.
    it('has Retry-After while nothing listens on the address of the database', async () => {
      const { address } = await createTestDatabase();
      const line = await openDatabaseLine(address);
      const own = await startService({ env: { DATABASE_URL: line.url, API_KEYS: testKey } });
      expect((await own.api.get('/products')).status).toBe(200);

      await line.cut();
      for (const operation of onDatabase) expectUnavailable(await sendExample(own.api, operation));
      expect((await own.api.get('/health')).body).toEqual({ status: 'error', database: 'unreachable' });

      await line.mend();
      await eventually('it is back', async () => expect((await own.api.get('/products')).status).toBe(200));
      expect((await own.api.get('/health')).body).toEqual({ status: 'ok', database: 'connected' });
      await own.stop();
    });

    describe('when the database accepts no more connections', () => {
      let gone: TestService;
      const allow = (allowed: boolean) =>
        service.db.raw(`alter database ${gone.address.database!} allow_connections ${allowed}`);
      beforeAll(async () => {
        gone = await startWithExamples();
        await allow(false);
        await terminateConnections(gone.address.database!);
      });
      afterAll(() => allow(true));

      it.each(onDatabase)('$title has Retry-After', async (operation) => {
        expectUnavailable(await sendExample(gone.api, operation));
      });
    });

    it('ends when the database is available again', async () => {
      const own = await startWithExamples();
      const database = own.address.database!;
      await service.db.raw(`alter database ${database} allow_connections false`);
      await terminateConnections(database);
      await eventually('it is gone', async () =>
        expect((await own.api.get('/products')).status).not.toBe(200),
      );

      await service.db.raw(`alter database ${database} allow_connections true`);

      await eventually('it is back', async () => expect((await own.api.get('/products')).status).toBe(200));
      for (const operation of operations) {
        await prepare(operation, own);
        expect((await sendExample(own.api, operation)).status).toBe(operation.success);
      }
    });

    it('is sent when the connection to the database is lost during a request', async () => {
      const own = await startWithExamples();
      const database = own.address.database!;
      const response = await own.db.transaction(async (trx) => {
        await trx.raw('lock table products in access exclusive mode');
        const waiting = own.api.get('/products');
        const waits = "select pid from pg_stat_activity where datname = ? and wait_event_type = 'Lock'";
        await eventually('it waits', async () => {
          const { rows } = await service.db.raw<{ rows: { pid: number }[] }>(waits, [database]);
          expect(rows).toHaveLength(1);
          await service.db.raw('select pg_terminate_backend(cast(? as integer))', [rows[0]!.pid]);
        });
        return waiting;
      });

      expectUnavailable(response);
      expect((await own.api.get('/products')).status).toBe(200);
    });

    describe('during shutdown', () => {
      let draining: ApiClient;
      beforeAll(async () => {
        const { api, app } = await startAppAt(service.address);
        await app.drain();
        draining = api;
      });

      it.each(keyed)('$title has Retry-After', async (operation) => {
        expectUnavailable(await sendExample(draining, operation));
      });
    });
  });
});
