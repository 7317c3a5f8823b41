import { get } from 'node:http';
import { truncate } from 'node:fs/promises';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { generateKey } from '../../src/base/key-format';
import { createLog } from '../../src/base/log';
import { FileStore } from '../../src/base/storage/file-store';
import { download, filePart, formBody, formType, partnerPart, OpenUpload } from '../support/requests';
import { eventually, createTestFolder } from '../support/harness';
import { HeldProducts } from '../support/runs-in-flight';
import { manyProducts } from '../support/catalog';
import { startTestService, testKey, type TestService } from '../support/service';
import { rawFilePath } from '../support/stored-uploads';
import { whileWritesDo } from '../support/faults';

type Line = Record<string, unknown>;

const logged: string[] = [];
const csv = 'sku,product_name\nTENT-2,Two-person tent\n';
const key = 'API_KEYS 1';

let service: TestService;
beforeAll(async () => {
  const log = createLog('trace', { write: (line: string) => void logged.push(line) });
  service = await startTestService({ log });
});
beforeEach(() => {
  logged.length = 0;
});

const requestLines = () =>
  logged.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'request');

/** Waits for the log line of the only request of the test. */
async function theLine(): Promise<Line> {
  await eventually('the request is logged', () => requestLines().length > 0);
  expect(requestLines()).toHaveLength(1);
  return requestLines()[0]!;
}

/** Sends raw bytes, and ends the connection when the server does. */
async function sendBytes(...pieces: string[]): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  for (const piece of pieces) socket.write(piece);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

describe('the log line of a request', () => {
  it('has key, operation, status, outcome, duration and bytes', async () => {
    const { headers } = await service.api.get('/products?sku=secret', { 'x-request-id': 'mine' });
    expect(headers.get('x-request-id')).toBe('mine');

    expect(await theLine()).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/) as unknown,
      msg: 'request',
      request_id: 'mine',
      key,
      operation: 'listProducts',
      method: 'GET',
      path: '/products',
      status: 200,
      outcome: 'ok',
      duration_ms: expect.any(Number) as unknown,
      bytes_in: expect.any(Number) as unknown,
      bytes_out: expect.any(Number) as unknown,
    });
  });

  it.each<[string, () => Promise<unknown>, Line]>([
    [
      'a wrong key',
      () => service.api.withKey('wrong').get('/orders'),
      { operation: 'listOrders', status: 401, outcome: 'refused', error_code: 'unauthorized' },
    ],
    [
      'a wrong shape',
      () => service.api.get('/products?limit=0'),
      { operation: 'listProducts', status: 422, outcome: 'refused', error_code: 'validation_error', key },
    ],
    [
      'an unknown resource',
      () => service.api.get('/orders/OR00099'),
      { operation: 'getOrder', status: 404, error_code: 'order_not_found', path: '/orders/OR00099', key },
    ],
    [
      'an unknown route',
      () => service.api.get('/products/PR00001/photos'),
      { status: 404, error_code: 'route_not_found', path: '/products/PR00001/*' },
    ],
    [
      'another method',
      () => service.api.send('PUT', '/products'),
      { status: 405, outcome: 'refused', error_code: 'method_not_allowed', method: 'PUT' },
    ],
  ])('has the error of a rejected request: %s', async (_what, ask, expected) => {
    await ask();

    const line = await theLine();
    expect(line).toMatchObject(expected);
    expect('operation' in line).toBe('operation' in expected);
    expect('key' in line).toBe('key' in expected);
  });

  it.each([
    ['/feeds/s3cret', '/feeds/*'],
    ['/s3cret/feeds', '/*/feeds'],
    ['/jobs/JV00001s3cret', '/jobs/*'],
    ['/a/b/c/d/e/f/g/h/i/j/k', '/*/*/*/*/*/*/*'],
    ['/%73/%zz', '/*/*'],
  ])('masks segments of the path %s that could be a secret', async (path, shown) => {
    await service.api.get(path);

    expect((await theLine()).path).toBe(shown);
  });

  it('counts the bytes of each request on a connection separately', async () => {
    const request = (path: string, extra = '') =>
      `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\n${extra}\r\n`;
    const sent = [request('/health'), request('/health', 'connection: close\r\n')];
    const { port, hostname } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));

    socket.write(sent[0]!);
    await eventually('the first is answered', () => answer.includes('"connected"}'));
    const firstBytes = answer.length;
    socket.write(sent[1]!);
    await eventually('both are answered', () => answer.split('"connected"}').length === 3);
    await eventually('both are logged', () => requestLines().length === 2);

    expect(requestLines().map(({ bytes_in, bytes_out }) => [bytes_in, bytes_out])).toEqual([
      [sent[0]!.length, firstBytes],
      [sent[1]!.length, answer.length - firstBytes],
    ]);
  });
});

describe('the outcome of an incomplete response', () => {
  it('is aborted when the client aborts its upload', async () => {
    const upload = new OpenUpload(service);
    await upload.write(formBody([partnerPart(), filePart(manyProducts(1_000))]).subarray(0, 20_000));
    upload.abort();

    expect(await theLine()).toMatchObject({ operation: 'uploadFeed', key, outcome: 'aborted' });
  });

  it('is aborted when the client closes its side during the headers', async () => {
    const { port, hostname } = new URL(service.url);
    connect(Number(port), hostname).resume().end('GET /health HTTP/1.1\r\nhost:');

    expect(await theLine()).toMatchObject({
      status: 400,
      outcome: 'aborted',
      error_code: 'incomplete_request',
    });
  });

  it('is aborted when the client disconnects during its run, and is logged at the end of the run', async () => {
    const feed = await service.api.uploadFeed(csv);
    const held = await HeldProducts.of(service.address);
    const client = new AbortController();
    const run = `${service.url}/jobs/${feed.jobId}/run`;
    const request = { method: 'POST', headers: { 'x-api-key': testKey }, signal: client.signal };
    const asked = expect(fetch(run, request)).rejects.toThrow();
    await eventually(
      'it runs',
      async () => (await service.db('validation_jobs').where({ status: 'running' })).length > 0,
    );
    client.abort();
    await asked;
    logged.length = 0;
    await held.release();

    expect(await theLine()).toMatchObject({ operation: 'runJob', outcome: 'aborted', status: 200, key });
  });

  const largeFeed = async () => {
    const feed = await service.api.uploadFeed(manyProducts(100_000));
    await eventually('the upload is logged', () => requestLines().length === 1);
    logged.length = 0;
    return feed;
  };

  it('is aborted when the client disconnects during a download', async () => {
    const { feedId } = await largeFeed();
    const request = get(`${service.url}/feeds/${feedId}/raw`, {
      headers: { 'x-api-key': testKey },
      agent: false,
    });
    request.on('error', () => undefined);
    request.on('response', (response) =>
      response.once('data', () => request.destroy()).on('error', () => undefined),
    );

    expect(await theLine()).toMatchObject({ operation: 'downloadFeedFile', outcome: 'aborted', status: 200 });
    expect(logged.filter((line) => line.includes('cut off'))).toEqual([]);
  });

  it('is truncated when the file is shorter than expected', async () => {
    const { feedId } = await largeFeed();
    await truncate(await rawFilePath(service, feedId), 5_000);
    const { port, hostname } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).resume();
    socket.write(`GET /feeds/${feedId}/raw HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\n\r\n`);

    expect(await theLine()).toMatchObject({
      operation: 'downloadFeedFile',
      outcome: 'truncated',
      status: 200,
    });
    const why = logged.map((line) => JSON.parse(line) as Line).find(({ level }) => level === 50);
    expect(why).toMatchObject({ msg: 'response truncated', request_id: (await theLine()).request_id });
  });

  it('is truncated when the store closes the file without an error', async () => {
    const store = new FileStore(createTestFolder());
    const log = createLog('info', { write: (line: string) => void logged.push(line) });
    const closing = await startTestService({ objectStore: store, log });
    const { feedId } = await closing.api.uploadFeed(csv);
    logged.length = 0;
    store.get = () => {
      const content = new Readable({ read: () => undefined });
      content.push('sku');
      content.once('data', () => setImmediate(() => content.destroy()));
      content.pause();
      return Promise.resolve(content);
    };

    await expect(download(closing, feedId)).rejects.toThrow();

    expect(await theLine()).toMatchObject({ operation: 'downloadFeedFile', outcome: 'truncated' });
  });
});

describe('a request that the HTTP server rejects', () => {
  it.each([
    ['malformed HTTP', 'NOT A REQUEST\r\n\r\n', 400, 'malformed_http'],
    ['a request without a host', 'GET /health HTTP/1.1\r\n\r\n', 400, 'malformed_http'],
    [
      'too large a header',
      `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'header_too_large',
    ],
  ])('is logged too: %s', async (_what, bytes, status, code) => {
    const answer = await sendBytes(bytes);

    const line = await theLine();
    expect(line).toMatchObject({ status, outcome: 'refused', error_code: code, bytes_out: answer.length });
    expect(answer).toContain(`\r\nx-request-id: ${String(line.request_id)}\r\nx-error-code: ${code}\r\n`);
    expect(line).not.toHaveProperty('operation');
  });

  it('during another request is the outcome of that request, without a line of its own', async () => {
    const head = `POST /feeds/upload HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\ncontent-type: ${formType}\r\n`;
    const answer = await sendBytes(
      `${head}transfer-encoding: chunked\r\n\r\n5\r\n--b\r\n\r\nNOT A CHUNK\r\n`,
    );

    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(await theLine()).toMatchObject({
      operation: 'uploadFeed',
      status: 400,
      outcome: 'refused',
      error_code: 'malformed_http',
    });
  });
});

describe('an error in the log', () => {
  it('has the failed statement without its values', async () => {
    const secret = 'value-of-the-body';
    const refuseRow = `raise exception 'no' using detail = 'Failing row contains (${secret})';`;

    await whileWritesDo(service, 'partners', refuseRow, () =>
      service.api.upload({ csv, partnerName: secret }),
    );

    expect(await theLine()).toMatchObject({ status: 500, outcome: 'failed' });
    const error = logged.map((line) => JSON.parse(line) as Line).find(({ level }) => level === 50);
    const statement = expect.stringMatching(/insert into "?partners/) as unknown;
    expect(error).toMatchObject({ err: { message: statement } });
    expect(logged.join('')).not.toContain(secret);
  });
});

describe('a malformed body', () => {
  it.each([
    ['not JSON', 'application/json', '{"customer": s3cret'],
    ['not UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0x22])],
  ])('has the line of its request only: %s', async (_what, type, body) => {
    const sent = { method: 'POST', headers: { 'x-api-key': testKey, 'content-type': type }, body };
    expect((await fetch(`${service.url}/orders`, sent)).status).toBe(400);

    expect(await theLine()).toMatchObject({ status: 400, error_code: 'malformed_json' });
    expect(logged).toHaveLength(1);
    expect(logged.join('')).not.toContain('s3cret');
  });

  it('of an upload has the line of its request only', async () => {
    const headers = { 'x-api-key': testKey, 'content-type': formType };
    const sent = { method: 'POST', headers, body: 'no form' };
    expect((await fetch(`${service.url}/feeds/upload`, sent)).status).toBe(400);

    expect(await theLine()).toMatchObject({ status: 400, error_code: 'malformed_multipart' });
    expect(logged).toHaveLength(1);
  });
});

it('a key is masked everywhere, also as a request id', async () => {
  const generated = generateKey();
  const { headers } = await service.api.get('/health', { 'x-request-id': generated });

  expect(headers.get('x-request-id')).toBe(generated);
  expect((await theLine()).request_id).toBe('pcis_[redacted]');
  expect(logged.join('')).not.toContain(generated);
});

describe('a header with a secret', () => {
  it.each([
    ['alone', { headers: { 'x-api-key': 's3cret', authorization: 's3cret', cookie: 's3cret' } }],
    ['of a request', { req: { headers: { 'x-api-key': 's3cret', host: 'x' } } }],
    ['of a request of something else', { err: { request: { headers: { authorization: 's3cret' } } } }],
  ])('is redacted if it is logged: %s', (_what, object) => {
    const lines: string[] = [];
    createLog('info', { write: (line: string) => void lines.push(line) }).info(object, 'oops');

    expect(lines.join('')).not.toContain('s3cret');
  });
});
