import { connect, type Socket } from 'node:net';
import { transferRules } from '../../src/base/concurrency/transfer-limit';
import { afterFile, eventually } from '../support/harness';
import type { ApiClient, ApiResponse } from '../support/api-client';
import { openFiles, filePart, formBody, goodCsv, partnerPart, OpenUpload } from '../support/requests';
import { withStoredKey, otherKey, startTestService, testKey, type TestService } from '../support/service';
import { stored } from '../support/stored-uploads';

const normal = { ...transferRules };
beforeEach(
  () =>
    void Object.assign(transferRules, {
      lookMilliseconds: 10,
      patienceMilliseconds: 300,
      // No transfer counts as slow.
      sampleMilliseconds: 60_000,
    }),
);
afterEach(() => void Object.assign(transferRules, normal));

const evicted = { status: 408, body: { detail: 'The request took too long to arrive.' } };

/** An upload or inspection that stalls in its file. */
interface SlowUpload {
  finish: () => Promise<ApiResponse>;
  response?: ApiResponse;
}

describe.each([
  ['uploads', '/feeds/upload', 201],
  ['inspections', '/feeds/inspect', 200],
] as const)('%s', (what, path, success) => {
  let service: TestService;
  beforeEach(async () => {
    service = await startTestService({ concurrentUploads: 4 });
  });

  /** @param partner - null: its part comes after the file */
  async function begin(partner: string | null, key = testKey): Promise<SlowUpload> {
    const form = formBody(partner ? [partnerPart(partner), filePart()] : [filePart(), partnerPart('Late')]);
    const headers = { 'x-api-key': key, 'content-length': String(form.length) };
    const upload = new OpenUpload(service, headers, path);
    afterFile(() => upload.abort());
    const middle = form.indexOf('TENT-2');
    await upload.write(form.subarray(0, middle));
    const slow: SlowUpload = {
      finish: async () => {
        await upload.write(form.subarray(middle));
        upload.end();
        return upload.response;
      },
    };
    upload.response.then((response) => (slow.response = response)).catch(() => undefined);
    return slow;
  }

  async function beginAll(partners: (string | null)[], key = testKey): Promise<SlowUpload[]> {
    const uploads = [];
    for (const partner of partners) uploads.push(await begin(partner, key));
    return uploads;
  }

  const send = (api: ApiClient, partnerName: string) =>
    what === 'uploads'
      ? api.upload({ csv: goodCsv, partnerName })
      : api.inspect({ csv: goodCsv, partnerName });

  /** Whether an upload of the key and partner is rejected after a second of waiting. An earlier waiter waits less. */
  async function isRefused(partner: string | null, key = testKey): Promise<boolean> {
    Object.assign(transferRules, { waitMilliseconds: 1_000 });
    const { status } = await (await begin(partner, key)).finish();
    Object.assign(transferRules, { waitMilliseconds: normal.waitMilliseconds });
    return status === 503;
  }

  const responses = (uploads: SlowUpload[]) => uploads.flatMap(({ response }) => response ?? []);

  it.each([
    ['of one partner', 'Acme'],
    ['whose partner_name comes after the file', null],
  ])('of one key, %s, get half of the permits; further ones wait', async (_whose, partner) => {
    const working = await beginAll([partner, partner]);
    await eventually('they have their permits', () => isRefused(partner));
    const waiting = await beginAll([partner, partner]);

    expect((await send(service.api, 'Birch')).status).toBe(success);
    expect((await send(service.api.withKey(otherKey), 'Acme')).status).toBe(success);
    const finished = waiting.map(({ finish }) => finish());
    await service.api.get('/feeds');
    expect(responses(waiting)).toEqual([]);
    for (const { finish } of working) expect((await finish()).status).toBe(success);
    for (const each of finished) expect((await each).status).toBe(success);
  });

  it('of stalled clients make room for waiting ones, even the only one of its partner', async () => {
    // None counts as slow until all permits are taken: with a free one, the waiting ones would not need an eviction.
    Object.assign(transferRules, { sampleMilliseconds: 50, slowBytesPerSecond: 0 });
    const uploads = await beginAll(['Acme', 'Birch', 'Cedar', 'Dogwood']);
    await eventually('all slots are taken', () => isRefused('Elm'));
    transferRules.slowBytesPerSecond = normal.slowBytesPerSecond;

    const waiting = [];
    for (const partner of ['Acme', 'Birch', 'Cedar', 'Dogwood', 'Elm'])
      waiting.push(send(service.api, partner));

    for (const each of waiting) expect((await each).status).toBe(success);
    expect(responses(uploads).length).toBeGreaterThan(0);
    for (const response of responses(uploads)) expect(response).toMatchObject(evicted);
  });

  it('of another key evict the slowest of a key that has all permits', async () => {
    const uploads = await beginAll(['Acme', 'Birch', 'Cedar', 'Dogwood']);
    await eventually('all slots are taken', () => isRefused('Elm'));
    const before = await stored(service);

    expect((await send(service.api.withKey(otherKey), 'Acme')).status).toBe(success);

    await eventually('one is evicted', () => expect(responses(uploads)).toMatchObject([evicted]));
    const others = uploads.filter(({ response }) => !response);
    for (const upload of others) expect((await upload.finish()).status).toBe(success);
    const after = await stored(service);
    expect(after.feeds.length - before.feeds.length).toBe(what === 'uploads' ? 1 + others.length : 0);
    expect(after.files.length).toBe(after.feeds.length);
  });

  it('of a partner without a permit evict from the partner with most permits of the same key', async () => {
    const acme = await beginAll(['Acme', 'Acme']);
    const others = await beginAll(['Birch', 'Cedar']);
    await eventually('all slots are taken', () => isRefused('Birch'));

    expect((await send(service.api, 'Elm')).status).toBe(success);

    await eventually('one of Acme is evicted', () => expect(responses(acme)).toMatchObject([evicted]));
    for (const upload of others) expect((await upload.finish()).status).toBe(success);
  });

  it('of a partner are counted together for all of its keys', async () => {
    const clients = [
      await withStoredKey(service, 'Acme', 'first'),
      await withStoredKey(service, 'Acme', 'second'),
    ];
    const [one, two] = [await begin('Acme', clients[0]!.key), await begin('Acme', clients[1]!.key)];
    await eventually('its slots are taken', () => isRefused('Acme', clients[0]!.key));

    expect(await isRefused('Acme', clients[1]!.key)).toBe(true);
    expect((await send(service.api, 'Acme')).status).toBe(success);
    for (const upload of [one, two]) expect((await upload.finish()).status).toBe(success);
  });
});

/** More than the buffers between two sockets; the rows are long and quick to read. */
const largeCsv = 'sku,product_name,price,description\n' + `A,A,NA,${'x'.repeat(50_000)}\n`.repeat(320);

describe.each([
  ['downloads of a raw file', 16],
  ['downloads of rejects', 8],
] as const)('%s', (what, capacity) => {
  let service: TestService;
  beforeEach(async () => {
    service = await startTestService({ concurrentDownloads: 16, concurrentRejects: 8 });
  });

  /** Returns the path of a download of a feed of the partner. */
  async function prepare(partner: string): Promise<string> {
    const { feedId, jobId } = await service.api.uploadFeed(largeCsv, partner);
    if (what === 'downloads of a raw file') return `/feeds/${feedId}/raw`;
    await service.api.post(`/jobs/${jobId}/run`);
    return `/jobs/${jobId}/rejects.csv`;
  }

  /** Sends a request, and reads nothing of the response. */
  function ask(path: string, key = testKey): Socket {
    const { port, hostname } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`);
    afterFile(() => void socket.destroy());
    return socket;
  }

  async function download(
    path: string,
    key: string,
    headers = {},
  ): Promise<{ status: number; bytes: number }> {
    const response = await fetch(`${service.url}${path}`, { headers: { 'x-api-key': key, ...headers } });
    return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
  }

  const inProgress = () => openFiles(service.dataDir).length;

  it('of a client that reads nothing make room for waiting ones, even the only one', async () => {
    transferRules.sampleMilliseconds = 50;
    service = await startTestService({ concurrentDownloads: 1, concurrentRejects: 1 });
    const path = await prepare('Acme');
    ask(path);
    await eventually('it has the slot', () => inProgress() === 1);

    const { status, bytes } = await download(path, otherKey);

    expect(status).toBe(200);
    expect(bytes).toBeGreaterThanOrEqual(largeCsv.length);
  });

  it('of one key and partner get half of the permits, and another key gets one', async () => {
    const path = await prepare('Acme');
    for (let times = 0; times < capacity; times++) ask(path);
    await eventually('half of the slots are taken', () => inProgress() === capacity / 2);

    const { status, bytes } = await download(path, otherKey);

    expect(status).toBe(200);
    expect(bytes).toBeGreaterThanOrEqual(largeCsv.length);
    await eventually('its slot is free, and the others are not', () => inProgress() === capacity / 2);
  });

  it('of another key evict one of a key that has all permits', async () => {
    const paths = [await prepare('Acme'), await prepare('Birch')];
    const sockets = paths.flatMap((path) => Array.from({ length: capacity / 2 }, () => ask(path)));
    await eventually('all slots are taken', () => inProgress() === capacity);

    const { status, bytes } = await download(paths[0]!, otherKey);

    expect(status).toBe(200);
    expect(bytes).toBeGreaterThanOrEqual(largeCsv.length);
    await eventually('one is evicted', () => inProgress() === capacity - 1);
    const received = sockets.map(() => 0);
    const cut: number[] = [];
    sockets.forEach((socket, at) => {
      socket.on('data', (chunk: Buffer) => (received[at]! += chunk.length)).resume();
      socket.on('close', () => cut.push(at));
    });
    await eventually(
      'all others are complete',
      () => received.filter((each) => each > largeCsv.length).length === capacity - 1,
    );
    expect(cut).toHaveLength(1);
    expect(received[cut[0]!]).toBeLessThan(largeCsv.length);
  });
});
