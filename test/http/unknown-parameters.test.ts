import { sendRaw } from '../support/requests';
import { startTestService, testKey, withStoredKey, type TestService } from '../support/service';

const strict = { prefer: 'handling=strict' };
const forbidden = (name: string, input: unknown) => ({
  type: 'extra_forbidden',
  loc: ['query', name],
  msg: 'Extra inputs are not permitted',
  input,
});

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.api.loadFeed('sku,product_name\nA,A\n');
});

/** Sends a request with a raw target. */
const get = async (target: string, headers: Record<string, string> = {}) => {
  const response = await sendRaw(service.url, {
    method: 'GET',
    path: target,
    headers: { 'x-api-key': testKey, ...headers },
  });
  return { ...response, body: JSON.parse(response.text) as unknown };
};

describe('a parameter behind thousands of others', () => {
  const others = '&'.concat(Array.from({ length: 2_000 }, (_, at) => `a${at}`).join('&'));

  it('is checked', async () => {
    const { status, body } = await get(`/orders?x=1${others}&limit=0`);

    expect(status).toBe(422);
    expect(body).toMatchObject({ detail: [{ loc: ['query', 'limit'], input: '0' }] });
  });

  it('is checked for its repetition', async () => {
    expect((await get(`/orders?limit=1${others}&limit=2`)).status).toBe(422);
  });

  it('is named if it is unknown and the client asks for that', async () => {
    const { status, body } = await get(`/orders?x=1${others}&last=1`, strict);

    expect(status).toBe(422);
    expect((body as { detail: unknown[] }).detail).toHaveLength(2_002);
  });
});

describe('Ignored-Parameters', () => {
  it.each([
    ['/orders?brand=x', 'brand'],
    ['/orders?b=1&a=2&b=3', 'b, a'],
    ['/orders?limit=5&LIMIT=6', 'LIMIT'],
    ['/orders?a,b=1&c%20d=2&e+f=3&g%2Bh=4', 'a%2Cb, c%20d, e%20f, g%2Bh'],
    ['/orders?caf%C3%A9=1&%E2%82%AC', 'caf%C3%A9, %E2%82%AC'],
    ['/orders?a%0d%0aX-Injected:%201=1&%00=1', 'a%0D%0AX-Injected%3A%201, %00'],
    ['/orders?a%FFb=1', 'a%EF%BF%BDb'],
    ['/orders?%=1&%zz=1', '%25, %25zz'],
    ['/orders?a1&a2&a3&a4&a5&a6&a7&a8&a9&a10&a11&a12', 'a1, a2, a3, a4, a5, a6, a7, a8, a9, a10'],
    ['/products/PR00001?limit=5', 'limit'],
    ['/health?t=1', 't'],
  ])('of %s has the names %s', async (target, names) => {
    const { status, headers } = await get(target);

    expect(status).toBe(200);
    expect(headers['ignored-parameters']).toBe(names);
    expect(headers).not.toHaveProperty('preference-applied');
  });

  it.each(['/orders', '/orders?', '/orders?&&', '/orders?=1', '/orders?limit=5&cursor=&partner_name='])(
    'is absent if every parameter is known: %s',
    async (target) => {
      const { status, headers } = await get(target);

      expect(status).toBe(200);
      expect(headers).not.toHaveProperty('ignored-parameters');
    },
  );

  it('of a HEAD equals the one of GET', async () => {
    const { headers } = await service.api.send('HEAD', '/orders?brand=x');

    expect(headers.get('ignored-parameters')).toBe('brand');
  });

  it('is absent from errors, from a 304, and from files outside of the document', async () => {
    const { headers } = await service.api.get('/products?limit=5');
    const copied = await service.api.get('/products?limit=5&x=1', { 'if-none-match': headers.get('etag')! });

    expect(copied.status).toBe(304);
    expect(copied.headers.get('ignored-parameters')).toBeNull();
    for (const [path, status] of [
      ['/orders?limit=0&x=1', 422],
      ['/orders/OR99999?x=1', 404],
      ['/nope?x=1', 404],
      ['/openapi.json?x=1', 200],
    ] as const) {
      const response = await service.api.get(path, path.startsWith('/openapi') ? strict : {});

      expect([path, response.status]).toEqual([path, status]);
      expect(response.headers.get('ignored-parameters')).toBeNull();
    }
  });
});

describe('Prefer: handling=strict', () => {
  it.each<[string, unknown[]]>([
    ['/orders?b=1&a=2&b=3', [forbidden('b', ['1', '3']), forbidden('a', '2')]],
    ['/orders?a%FFb=%FF', [forbidden('a\uFFFDb', '\uFFFD')]],
    ['/orders?__proto__=x&constructor', [forbidden('__proto__', 'x'), forbidden('constructor', '')]],
    [
      '/orders?limit=ten&brand=x',
      [
        {
          type: 'int_parsing',
          loc: ['query', 'limit'],
          msg: 'Input should be a valid integer, unable to parse string as an integer',
          input: 'ten',
        },
        forbidden('brand', 'x'),
      ],
    ],
  ])('rejects all unknown parameters of %s, beside other errors', async (target, detail) => {
    const { status, headers, body } = await get(target, strict);

    expect({ status, body }).toEqual({ status: 422, body: { detail } });
    expect(headers['preference-applied']).toBe('handling=strict');
  });

  it('confirms the preference in a 422 without unknown parameters too', async () => {
    const { status, headers } = await get('/orders?limit=0', strict);

    expect([status, headers['preference-applied']]).toEqual([422, 'handling=strict']);
  });

  it('is checked after the key and a 400, and before permission and state', async () => {
    const readOnly = await withStoredKey(service, null, 'reader', { is_read_only: true });

    expect((await service.api.withKey('wrong').get('/orders?x=1', strict)).status).toBe(401);
    expect((await service.api.get('/orders?cursor=x&x=1', strict)).status).toBe(400);
    expect((await readOnly.post('/jobs/JV00001/cancel?x=1', undefined, strict)).status).toBe(422);
    expect((await service.api.get('/orders/OR99999?x=1', strict)).status).toBe(422);
  });

  it('is confirmed beside other preferences', async () => {
    const waited = await service.api.get('/jobs/JV00001', { prefer: 'handling=strict, wait=1' });
    const queued = await service.api.post('/jobs/JV00001/run', undefined, {
      prefer: 'respond-async, handling="strict"',
    });

    expect(waited.headers.get('preference-applied')).toBe('wait=1, handling=strict');
    expect([queued.status, queued.headers.get('preference-applied')]).toEqual([
      202,
      'respond-async, handling=strict',
    ]);
  });

  it('does not change a 304', async () => {
    const { headers } = await service.api.get('/products', strict);
    const etag = headers.get('etag')!;

    const copied = await service.api.get('/products', { ...strict, 'if-none-match': etag });
    const rejected = await service.api.get('/products?x=1', { ...strict, 'if-none-match': etag });

    expect([copied.status, copied.headers.get('preference-applied')]).toEqual([304, null]);
    expect(rejected.status).toBe(422);
  });

  it.each(['handling=lenient', 'handling', 'strict'])('is not understood in %s', async (prefer) => {
    const { status, headers } = await get('/orders?x=1', { prefer });

    expect(status).toBe(200);
    expect(headers['ignored-parameters']).toBe('x');
    expect(headers).not.toHaveProperty('preference-applied');
  });
});
