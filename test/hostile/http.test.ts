import { connect } from 'node:net';
import { operations } from '../support/contract';
import { sendRaw } from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const end = '\r\n\r\n';
const key = `Host: x\r\nX-API-Key: ${testKey}\r\n`;
const order = JSON.stringify({ partner_name: 'A', items: [{ product_id: 'PR99999', quantity: 1 }] });
const smuggled = `GET /health HTTP/1.1\r\nHost: x\r\nConnection: close${end}`;
const post = (headers: string) =>
  `POST /orders HTTP/1.1\r\n${key}Content-Type: application/json\r\nConnection: close\r\n${headers}${end}`;

/** Sends raw bytes. @returns the status of each response until the server closes the connection */
async function statuses(bytes: string): Promise<number[]> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(Buffer.from(bytes, 'latin1'));
  let answers = '';
  try {
    for await (const chunk of socket) answers += String(chunk);
  } catch (error) {
    // It has responded, and closed before it has read all.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  }
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

describe('a request that a proxy could take for two (request smuggling)', () => {
  const chunked = `1\r\n{\r\n0${end}`;
  it.each([
    [
      'has a length and is chunked',
      post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked`) + chunked,
    ],
    [
      'is chunked and has a length',
      post('Transfer-Encoding: chunked\r\nContent-Length: 4') + `0${end}${smuggled}`,
    ],
    ['has two lengths', post('Content-Length: 2\r\nContent-Length: 90') + '{}' + smuggled],
    ['has the same length twice', post('Content-Length: 2\r\nContent-Length: 2') + '{}'],
    ['has a list of lengths', post('Content-Length: 2, 90') + '{}' + smuggled],
    ['has a length with a sign', post('Content-Length: +2') + '{}'],
    ['has a negative length', post('Content-Length: -2') + '{}'],
    ['has a length in hexadecimal', post('Content-Length: 0x2') + '{}'],
    ['has a length that is no number', post('Content-Length: two') + '{}'],
    ['has a length beyond 64 bits', post('Content-Length: 99999999999999999999') + '{}'],
    [
      'is chunked twice',
      post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nContent-Length: 2') + '{}' + smuggled,
    ],
    ['has chunked as each of two codings', post('Transfer-Encoding: chunked, chunked') + chunked],
    ['is chunked, then something else', post('Transfer-Encoding: chunked, identity') + chunked],
    [
      'has an unknown encoding, and a length',
      post('Transfer-Encoding: xchunked\r\nContent-Length: 2') + '{}' + smuggled,
    ],
    [
      'is chunked with a space before the colon',
      post('Transfer-Encoding : chunked\r\nContent-Length: 2') + '{}' + smuggled,
    ],
    [
      'is chunked with a tab and a vertical tab',
      post('Transfer-Encoding:\t\x0bchunked\r\nContent-Length: 2') + '{}' + smuggled,
    ],
    ['is chunked with a NUL', post('Transfer-Encoding: chunked\0\r\nContent-Length: 2') + '{}' + smuggled],
    [
      'folds its transfer encoding',
      post('Transfer-Encoding:\r\n chunked\r\nContent-Length: 2') + '{}' + smuggled,
    ],
    [
      'folds its first header',
      `POST /orders HTTP/1.1\r\n Host: x\r\n${key}Content-Length: 2${end}{}${smuggled}`,
    ],
    ['ends its lines with LF', `GET /products HTTP/1.1\nHost: x\nContent-Length: 5\n\nx${smuggled}`],
    ['has a chunk size with a sign', post('Transfer-Encoding: chunked') + `+1\r\n{\r\n0${end}`],
    [
      'has a chunk size beyond 64 bits',
      post('Transfer-Encoding: chunked') + `fffffffffffffffff\r\n{\r\n0${end}${smuggled}`,
    ],
    [
      'has a chunk that is longer than its size',
      post('Transfer-Encoding: chunked') + `1\r\n{}\r\n0${end}${smuggled}`,
    ],
    [
      'has a line break inside a chunk extension',
      post('Transfer-Encoding: chunked') + `1;a=\nb\r\n{\r\n0${end}${smuggled}`,
    ],
    ['has two hosts', `GET /health HTTP/1.1\r\nHost: a\r\nhost: b${end}${smuggled}`],
    ['has the same host twice', `GET /health HTTP/1.1\r\nHost: a\r\nHost: a${end}${smuggled}`],
    ['has two hosts in HTTP/1.0', `GET /health HTTP/1.0\r\nHost: a\r\nHost: b${end}`],
    ['has a list of hosts', `GET /health HTTP/1.1\r\nHost: a, b${end}${smuggled}`],
    ['has a host with a path', `GET /health HTTP/1.1\r\nHost: a/b${end}${smuggled}`],
    ['has a host with a user', `GET /health HTTP/1.1\r\nHost: a@b${end}${smuggled}`],
    ['is chunked in HTTP/1.0', post('Transfer-Encoding: chunked').replace('1.1', '1.0') + chunked],
    ['has a header without a name', post(': x')],
    ['has a header with a space in its name', post('X Header: x')],
    ['has a NUL in a header', post('X-Header: a\0b')],
    ['has a bare CR in a header', post('X-Header: a\rX-API-Key: x')],
  ])('is rejected, and nothing after it is read: it %s', async (_what, bytes) => {
    expect(await statuses(bytes)).toEqual([400]);
  });

  it.each([
    ['gzip, chunked'],
    ['GZIP,Chunked'],
    ['gzip\r\nTransfer-Encoding: chunked'],
    ['identity, chunked'],
  ])('is rejected if its body has a coding besides chunked: %j', async (coding) => {
    expect(await statuses(post(`Transfer-Encoding: ${coding}`) + chunked + smuggled)).toEqual([501]);
  });

  it.each(['x', '', 'partners.example.org', '127.0.0.1:8000', '[::1]:8000', 'a_b', '%7Ea:'])(
    'is accepted with one valid host: %j',
    async (host) => {
      expect(await statuses(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close${end}`)).toEqual([
        200,
      ]);
    },
  );

  it('is one request if a chunk has an extension, or a trailer follows the last chunk', async () => {
    const pieces = `${order.length.toString(16)};name="value";x\r\n${order}\r\n0\r\nX-API-Key: wrong\r\nX-Trailer: x${end}`;

    expect(await statuses(post('Transfer-Encoding: chunked') + pieces)).toEqual([404]);
  });

  it('gets its responses in order if it is a pipeline, for any first request', async () => {
    const first = `GET /products HTTP/1.1\r\n${key}Content-Length: 5${end}hello`;

    expect(await statuses(first + smuggled)).toEqual([200, 200]);
    expect(await statuses(`GET /nope HTTP/1.1\r\nHost: x${end}${smuggled}`)).toEqual([404, 200]);
  });

  it('gets its response, and an unexpected body behind it that is not a request is rejected', async () => {
    expect(await statuses(`GET /health HTTP/1.1\r\nHost: x${end}x${smuggled}`)).toEqual([200, 400]);
  });
});

describe('malformed, oversized or foreign bytes', () => {
  it.each<[string, string, number]>([
    ['a header of 17 KiB', `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}${end}`, 431],
    [
      '10,000 headers',
      `GET /health HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(10_000)}Connection: close${end}`,
      431,
    ],
    ['a target of 17 KiB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x${end}`, 431],
    ['a method of 17 KiB', `${'G'.repeat(17_000)} / HTTP/1.1\r\nHost: x${end}`, 400],
    ['an unknown method', `PWN /health HTTP/1.1\r\nHost: x${end}`, 400],
    ['HTTP/2 without an upgrade', `PRI * HTTP/2.0${end}SM${end}`, 400],
    ['HTTP/3.7', `GET /health HTTP/3.7\r\nHost: x${end}`, 400],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a space in the target', `GET /health /x HTTP/1.1\r\nHost: x${end}`, 400],
    ['a NUL in the target', `GET /health\0 HTTP/1.1\r\nHost: x${end}`, 400],
    ['the authority form', `CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x${end}`, 400],
    ['the asterisk form', `OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close${end}`, 404],
    ['another scheme', `GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close${end}`, 404],
    ['a relative target', `GET health HTTP/1.1\r\nHost: x\r\nConnection: close${end}`, 400],
    [
      'an upgrade to HTTP/2',
      `GET /health HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nConnection: Upgrade, HTTP2-Settings, close${end}`,
      200,
    ],
    [
      'an upgrade to a WebSocket',
      `GET /health HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\nConnection: Upgrade, close${end}`,
      200,
    ],
  ])('get one response or none: %s', async (_what, bytes, status) => {
    expect(await statuses(bytes)).toEqual(status === 0 ? [] : [status]);
  });
});

describe('the target of a request', () => {
  it.each([
    '/../health',
    '/./health',
    '/%2e%2e/health',
    '//health',
    '/health%2f',
    '/health%00',
    '/health;x',
    '/HEALTH',
    '/health/.',
    '/%68ealth/',
    '/docs/../health',
    '/\\health',
  ])('%s does not reach /health', async (path) => {
    const { status } = await sendRaw(service.url, { method: 'GET', path });

    expect(status).toBe(404);
  });

  it.each([
    '/products/..%2f..%2fhealth',
    '/products/%2e%2e',
    '/jobs/x%2frun',
    '/products/by-feed%2fFD00001',
    '/products?x=/health',
  ])('%s does not bypass the key', async (path) => {
    const { status } = await sendRaw(service.url, { method: 'GET', path });

    expect(status).toBe(401);
  });
});

describe('a header that overrides method, address or client elsewhere', () => {
  const ruses = [
    { 'x-http-method-override': 'DELETE' },
    { 'x-method-override': 'PUT' },
    { 'x-original-url': '/health', 'x-rewrite-url': '/health' },
    { 'x-forwarded-prefix': '/..', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher' },
    { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1', 'true-client-ip': '127.0.0.1' },
    { host: 'evil.example' },
    { te: 'trailers, deflate' },
    { connection: 'x-api-key, close' },
  ];

  it.each(ruses)('%j changes nothing: GET /products stays one, and needs its key', async (headers) => {
    const path = '/products?_method=DELETE';

    expect((await sendRaw(service.url, { method: 'GET', path, headers })).status).toBe(401);
    const { status, text } = await sendRaw(service.url, {
      method: 'GET',
      path,
      headers: { ...headers, 'x-api-key': testKey },
    });
    expect({ status, text }).toEqual({ status: 200, text: '{"count":0,"items":[]}' });
    expect(text).not.toContain('evil');
  });

  it('Expect: 100-continue gets a rejection before the body is sent, if there is one', async () => {
    const { port, hostname } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
    socket.write(
      `POST /orders HTTP/1.1\r\n${key}Content-Type: application/json\r\nContent-Length: 999999999\r\nExpect: 100-continue${end}`,
    );

    expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});

describe("a method that is not the document's", () => {
  it.each(operations)(
    '$title has no TRACE that echoes the request, and its OPTIONS returns only Allow',
    async ({ examplePath }) => {
      for (const method of ['TRACE', 'OPTIONS']) {
        const { status, text, headers } = await sendRaw(service.url, {
          method,
          path: examplePath,
          headers: {
            'x-api-key': testKey,
            'x-secret': 'secret',
            origin: 'https://evil.example',
            'access-control-request-method': 'PUT',
          },
        });

        expect({ status, text }).toEqual({ status: 405, text: '{"detail":"Method Not Allowed"}' });
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    },
  );
});
