import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '../support/harness';
import { expectSecurityHeaders } from '../support/contract';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Sends raw bytes. @returns all received bytes until the server closes the connection */
async function sendBytes(bytes: string): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

/** Returns the status of each response, and the rest of the last one. */
const statusesOf = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe('data after a request in progress that is not a request', () => {
  const order = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };
  const postOrder = () => {
    const body = JSON.stringify(order);
    const head = `POST /orders HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\ncontent-type: application/json`;
    return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
  beforeAll(() => service.api.loadFeed('sku,product_name,price\nA,A,1\n'));

  it.each([
    ['a space', ' ', 400],
    ['a brace', '}', 400],
    ['a NUL', '\0', 400],
    ['a line that is no request', 'no request\r\n\r\n', 400],
    [
      'a header that is too large',
      `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['too many headers', `GET /health HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(100)}\r\n`, 431],
    ['a request without a host', `GET /health HTTP/1.1\r\n\r\n${postOrder()}`, 400],
    [
      'a request with a malformed body',
      postOrder().replace('content-length: ', 'transfer-encoding: chunked\r\nx: '),
      400,
    ],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n', 400],
  ])('is rejected after its response: %s', async (_what, bytes, status) => {
    const before = await service.db('orders').count();

    const answer = await sendBytes(postOrder() + bytes);

    expect(statusesOf(answer)).toEqual([201, status]);
    expect(answer).toContain('"order_id":"OR');
    const [{ count }] = (await service.db('orders').count()) as [{ count: number }];
    expect(count - (before as [{ count: number }])[0].count).toBe(1);
  });

  it('is rejected after the responses to all requests before it', async () => {
    expect(statusesOf(await sendBytes(`${postOrder()}${postOrder()}${postOrder()} }`))).toEqual([
      201, 201, 201, 400,
    ]);
  });

  it('is rejected after a response for which no other reason closes the connection', async () => {
    const closing = postOrder().replace('host: x', 'host: x\r\nconnection: close');

    expect(statusesOf(await sendBytes(`${closing} `))).toEqual([201]);
  });

  it('is rejected after a long response, which is complete', async () => {
    const large = `sku,product_name\n${'A,A\n'.repeat(2_000_000)}`;
    const { feedId } = await service.api.uploadFeed(large);
    const { port, hostname } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /feeds/${feedId}/raw HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\n\r\n`);
    await once(socket, 'readable');
    socket.write('no request\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += (chunk as Buffer).toString('latin1');

    expect(statusesOf(text)).toEqual([200, 400]);
    const [, body] = text.split('\r\n\r\n');
    expect(body!.startsWith(large.slice(0, 100))).toBe(true);
    expect(body!.slice(large.length)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('a target without a path', () => {
  it.each(['foo://bar', 'http://[/health'])('ends the connection: %s', async (target) => {
    expect(await sendBytes(`GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)).toBe('');
  });
});

describe('malformed or oversized HTTP', () => {
  it.each([
    ['is malformed', 'NOT A REQUEST\r\n\r\n', '400 Bad Request', 'Malformed HTTP request.'],
    ['names no host', 'GET /health HTTP/1.1\r\n\r\n', '400 Bad Request', 'Malformed HTTP request.'],
    [
      'has a header that is too large',
      `GET /health HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'Request header is too large.',
    ],
    [
      'has a path that is too long',
      `GET /products?sku=${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'Request header is too large.',
    ],
    [
      'has too many headers',
      `GET /health HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(100)}\r\n`,
      '431 Request Header Fields Too Large',
      'Request header is too large.',
    ],
  ])('gets an error in the usual form, because it %s', async (_, bytes, status, detail) => {
    const answer = await sendBytes(bytes);

    const [head, body] = answer.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status}\r\n`));
    expect(head).toMatch(/\r\nContent-Type: application\/json\r\n/);
    expect(head).toMatch(
      /\r\nx-request-id: [0-9a-f-]{36}\r\nx-error-code: (malformed_http|header_too_large)$/,
    );
    const lines = head!.split('\r\n').slice(1);
    const fields = lines.map((line) => line.split(': ') as [string, string]);
    expectSecurityHeaders(new Headers(fields));
    expect(JSON.parse(body!)).toEqual({ detail });
  });
});

it('accepts a request with the maximum number of headers', async () => {
  const headers = `host: x\r\nconnection: close\r\n${'a: b\r\n'.repeat(97)}x-request-id: the-last\r\n`;

  const answer = await sendBytes(`GET /health HTTP/1.1\r\n${headers}\r\n`);

  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  expect(answer).toContain('x-request-id: the-last');
});

it('closes connections beyond the maximum', async () => {
  const { url } = await startTestService({ server: { connectionsMax: 2 } });
  const { port, hostname } = new URL(url);
  const open = () => connect(Number(port), hostname).on('error', () => undefined);
  const sockets = [open(), open()];
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const beyond = open();
  beyond.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => beyond.once('close', resolve));

  sockets[0]!.destroy();

  await eventually('there is room', () =>
    fetch(`${url}/health`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  sockets[1]!.destroy();
});

it('ignores an unknown expectation', async () => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { expect: 'miracles', 'x-api-key': testKey };
    httpRequest(`${service.url}/health`, { headers }, resolve).on('error', reject).end();
  });
  response.resume();

  expect(response.statusCode).toBe(200);
});

describe('a target in absolute form', () => {
  it.each([
    ['/health', 'GET http://partners.example.org/health HTTP/1.1', 200],
    ['a path with a query', 'GET HTTPS://partners.example.org:8443/products?limit=0 HTTP/1.1', 422],
    ['no path', 'GET http://partners.example.org HTTP/1.1', 404],
    ['no path, but a query', 'GET http://partners.example.org?limit=1 HTTP/1.1', 404],
    ['a path of the wrong method', 'POST http://partners.example.org/health HTTP/1.1', 405],
  ])('is handled as its path: %s', async (_what, line, status) => {
    const answer = await sendBytes(
      `${line}\r\nhost: partners.example.org\r\nx-api-key: ${testKey}\r\nconnection: close\r\n\r\n`,
    );

    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
