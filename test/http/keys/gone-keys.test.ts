import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { revokeKey } from '../../../src/http/keys/keys.repository';
import { mergePartners } from '../../../src/catalog/partners/merge-partners';
import { removePartner } from '../../../src/operation/retention/remove-partner';
import { transferRules } from '../../../src/base/concurrency/transfer-limit';
import { digestOf, generateKey } from '../../../src/base/key-format';
import { insertKey } from '../../../src/http/keys/keys.repository';
import { loadProducts } from '../../support/catalog';
import { eventually } from '../../support/harness';
import type { ApiClient } from '../../support/api-client';
import { filePart, formBody, formType, openFiles, OpenUpload, partnerPart } from '../../support/requests';
import { putFormat } from '../../support/format-requests';
import { putSource } from '../../support/source-requests';
import { startTestService, testKey, type TestService } from '../../support/service';
import { HeldProducts } from '../../support/runs-in-flight';
import { filesBelow } from '../../support/stored-uploads';

const partner = 'Leaving & Co';
const small = 'sku,product_name,price,currency\nA,Tent,5,EUR\n';
const large = `sku,product_name\n${'A,A\n'.repeat(300_000)}`;

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => jest.restoreAllMocks());

/** Creates a key. @param partnerName - its limit; null: none */
async function makeKey(partnerName: string | null, name = 'going'): Promise<string> {
  const key = generateKey();
  await insertKey(service.db, { key_name: name, key_digest: digestOf(key), partner_name: partnerName });
  return key;
}

/** Advances the time of the service: a key is cached for two seconds, and checked again after two more. */
function passSeconds(seconds: number): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + seconds * 1000);
}

/** Sends the first half of an upload. @returns a function that sends the other half and returns the response */
async function beginUpload(key: string, headers: Record<string, string> = {}, name = partner) {
  const body = formBody([partnerPart(name), filePart(large)]);
  const upload = new OpenUpload(service, { 'x-api-key': key, ...headers });
  const half = Math.floor(body.length / 2);
  await upload.write(body.subarray(0, half));
  await eventually('the file is being stored', () => openFiles(service.dataDir).length > 0);
  return async () => {
    await upload.write(body.subarray(half));
    upload.end();
    return upload.response;
  };
}

async function expectNothingOf(name: string): Promise<void> {
  expect(await service.db('partners').where('partner_name', name)).toEqual([]);
  expect(await service.db('feeds')).toEqual([]);
  expect(await service.db('idempotency_keys')).toEqual([]);
  expect(await filesBelow(service.dataDir)).toEqual([]);
}

const kinds: [string, Record<string, string>][] = [
  ['an upload', {}],
  ['an upload with an Idempotency-Key', { 'idempotency-key': 'once' }],
];

/** Uploads the small feed with an Idempotency-Key. */
const uploadKeyed = (api: ApiClient) =>
  api.send('POST', '/feeds/upload', {
    body: formBody([partnerPart(partner), filePart(small)]),
    headers: { 'content-type': formType, 'idempotency-key': 'daily' },
  });

describe('work that was started by a key that has been revoked since', () => {
  const ends: [string, () => Promise<unknown>][] = [
    ['revoked', () => revokeKey(service.db, 'going')],
    ['expired', () => service.db('api_keys').update({ expires_at: new Date(Date.now() - 1000) })],
    ['removed with its partner', () => removePartner(service.db, partner)],
    [
      'given to the new name of its partner',
      () => service.db.transaction((trx) => mergePartners(trx, partner, 'Renamed')),
    ],
  ];
  it.each(kinds.flatMap((kind) => ends.map((end) => [...kind, ...end] as const)))(
    '%s is 401, and stores nothing: %s, %s',
    async (_what, headers, _end, endKey) => {
      const finish = await beginUpload(await makeKey(partner), headers);
      await endKey();

      const { status, body } = await finish();

      expect({ status, body }).toEqual({ status: 401, body: { detail: 'Invalid or missing API key' } });
      await expectNothingOf(partner);
    },
  );

  it('an upload is rejected midway when the key is checked again', async () => {
    const body = formBody([partnerPart(partner), filePart(large)]);
    // The service would close at once, and the client's write would fail before it has read the response.
    const headers = { 'content-length': '9999999', connection: 'keep-alive' };
    const upload = new OpenUpload(service, { 'x-api-key': await makeKey(null), ...headers });
    await upload.write(body.subarray(0, 800_000));
    await eventually('the file is being stored', () => openFiles(service.dataDir).length > 0);
    await revokeKey(service.db, 'going');
    passSeconds(5);

    let response: Awaited<typeof upload.response> | undefined;
    void upload.response.then((received) => (response = received));
    await eventually('the upload is refused', async () => {
      if (!response) await upload.write('A,A\n').catch(() => undefined);
      return response !== undefined;
    });

    expect(response!.status).toBe(401);
    upload.abort();
    await eventually('nothing is left', async () => (await filesBelow(service.dataDir)).length === 0);
  });

  it.each([
    ['a format', (api: ApiClient) => putFormat(api, partner, 'weekly')],
    [
      'a source',
      (api: ApiClient) => putSource(api, partner, 'daily', { url: 'https://feeds.acme.example/' }),
    ],
  ])('%s is not stored while the service still caches the key', async (_what, put) => {
    const api = service.api.withKey(await makeKey(partner));
    expect((await api.get('/orders')).status).toBe(200);
    await removePartner(service.db, partner);

    await put(api).catch(() => undefined);

    await expectNothingOf(partner);
  });

  it('an order is 401 if its body arrived later', async () => {
    const { productIds } = await loadProducts(service, [{ sku: 'A', price: '5', currency: 'EUR' }]);
    const order = { partner_name: 'Acme Outdoor', items: [{ product_id: productIds[0], quantity: 1 }] };
    const body = JSON.stringify(order);
    const key = await makeKey(null);
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const sent = new OpenUpload(service, headers, '/orders');
    await sent.write(body.slice(0, 10));
    await eventually('the key is known', () => service.db('api_keys').then((keys) => keys.length === 1));
    await service.api.withKey(key).get('/orders');
    await revokeKey(service.db, 'going');
    passSeconds(5);

    await sent.write(body.slice(10));
    sent.end();

    expect((await sent.response).status).toBe(401);
    expect(await service.db('orders')).toEqual([]);
  });

  /** Sends a request with a key, and waits for the response. */
  async function ask(
    key: string,
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<IncomingMessage> {
    const asked = request(`${service.url}${path}`, {
      agent: false,
      method,
      headers: { 'x-api-key': key, ...headers },
    });
    asked.on('error', () => undefined).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return response;
  }

  /** Creates a job with a queued run that no process claims. */
  async function queueRun(): Promise<string> {
    const { jobId } = await service.api.uploadFeed(small, partner);
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    return jobId;
  }

  describe('a run or revert that waits for a slot', () => {
    let stateOf: () => Promise<unknown>;
    let begin: (path: string, key: string) => Promise<IncomingMessage>;
    let jobId: string;
    let release: () => Promise<unknown>;
    beforeEach(async () => {
      service = await startTestService({ queuedRuns: 1 });
      ({ jobId } = await service.api.loadFeed(small, partner));
      const other = await service.api.uploadFeed(small, 'Busy');
      const held = await HeldProducts.of(service.address);
      const { answer } = await held.run(service.api, other);
      release = async () => {
        await held.release();
        await answer;
      };
      stateOf = async () => {
        const paths = [`/jobs/${jobId}`, `/jobs/${jobId}/runs`, '/products'];
        return Promise.all(paths.map(async (path) => (await service.api.get(path)).body as unknown));
      };
      begin = async (path, key) => ask(key, `/jobs/${jobId}/${path}`, {}, 'POST');
    });

    it.each(['run', 'revert?run=1'] as const)(
      'is 401 while it waits, and is dequeued: POST %s',
      async (path) => {
        const before = await stateOf();
        const waiting = begin(path, await makeKey(partner));
        await eventually('it waits', async () => JSON.stringify(await stateOf()) !== JSON.stringify(before));
        await revokeKey(service.db, 'going');
        passSeconds(5);

        expect((await waiting).statusCode).toBe(401);
        expect(await stateOf()).toEqual(before);
        await release();
      },
    );

    it('continues without its client if it was queued with respond-async', async () => {
      await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
      const waiting = begin('run?allow_older=true', await makeKey(partner));
      await eventually('it waits too', async () => {
        const runs = await service.db('runs').where({ allow_older: true });
        return runs.length === 1;
      });
      await revokeKey(service.db, 'going');
      passSeconds(5);
      expect((await waiting).statusCode).toBe(401);

      await release();

      await eventually('the run has ended', async () => {
        const { body } = await service.api.get(`/jobs/${jobId}/runs`);
        return body.items.length === 2 && body.items[0].status === 'completed';
      });
    });
  });

  it('a wait for a job is 401', async () => {
    const jobId = await queueRun();
    const key = await makeKey(partner);
    const { headers } = await ask(key, `/jobs/${jobId}`);
    const waiting = ask(key, `/jobs/${jobId}`, { prefer: 'wait=50', 'if-none-match': headers.etag! });
    await revokeKey(service.db, 'going');
    passSeconds(5);

    expect((await waiting).statusCode).toBe(401);
  });

  it('an event stream ends', async () => {
    const stream = await ask(await makeKey(partner), `/jobs/${await queueRun()}/events`);
    const ended = new Promise((resolve) => stream.on('close', resolve).resume());
    await revokeKey(service.db, 'going');
    passSeconds(5);

    await ended;
    expect(stream.statusCode).toBe(200);
  });

  it.each(['/feeds/upload', '/feeds/inspect'])('a form that waits for a slot is 401: %s', async (path) => {
    jest.replaceProperty(transferRules, 'lookMilliseconds', 10);
    service = await startTestService({ concurrentUploads: 1 });
    await beginUpload(testKey, {}, 'Busy');
    const key = await makeKey(null);
    const waiting = service.api.withKey(key).send('POST', path, {
      body: formBody([partnerPart(partner), filePart(small)]),
      headers: { 'content-type': formType },
    });
    await revokeKey(service.db, 'going');
    passSeconds(5);

    expect((await waiting).status).toBe(401);
  });

  it('a download is cut off', async () => {
    const csv = `sku,product_name,description\nA,A,${'x'.repeat(24 * 1024 * 1024)}\n`;
    const { feedId } = await service.api.uploadFeed(csv, partner);
    const download = await ask(await makeKey(partner), `/feeds/${feedId}/raw`);
    download.pause();
    await revokeKey(service.db, 'going');
    passSeconds(5);

    let bytes = 0;
    download.on('error', () => undefined);
    // Slowly: the key is checked beside the download.
    await eventually('the connection is closed', () => {
      bytes += ((download.read(64 * 1024) ?? download.read()) as Buffer | null)?.length ?? 0;
      return download.closed;
    });
    expect(download.complete).toBe(false);
    expect(bytes).toBeLessThan(csv.length);
  });
});

describe('work that was started for a partner that has been removed since', () => {
  beforeEach(() => service.api.upload({ partnerName: partner, csv: small }));

  it.each(kinds)(
    '%s by a key without limit is 404, and the partner is not created again',
    async (_what, headers) => {
      const finish = await beginUpload(testKey, headers);
      await removePartner(service.db, partner);

      const { status, body } = await finish();

      expect({ status, body }).toEqual({ status: 404, body: { detail: 'Partner not found.' } });
      expect(await service.db('partners')).toEqual([]);
      expect(await service.db('feeds')).toEqual([]);
      expect(await service.db('idempotency_keys')).toEqual([]);
      expect(openFiles(service.dataDir)).toEqual([]);
    },
  );

  it('an upload is 404 if the partner was merged into another', async () => {
    await service.api.upload({ partnerName: 'Other', csv: small });
    const finish = await beginUpload(testKey);
    await service.db.transaction((trx) => mergePartners(trx, partner, 'Other'));

    expect((await finish()).status).toBe(404);
    expect(await service.db('partners').pluck('partner_name')).toEqual(['Other']);
  });

  it('an upload is a feed of the partner under its new name', async () => {
    const finish = await beginUpload(testKey);
    await service.db.transaction((trx) => mergePartners(trx, partner, 'Renamed'));

    const { status, body } = await finish();

    expect(status).toBe(201);
    expect((await service.api.get(`/feeds/${body.feed_id}`)).body).toMatchObject({ partner_name: 'Renamed' });
    expect(await service.db('partners').pluck('partner_name')).toEqual(['Renamed']);
  });

  it('an upload creates a partner that did not exist when it started', async () => {
    const finish = await beginUpload(testKey, {}, 'New');

    expect((await finish()).status).toBe(201);
  });

  it('an Idempotency-Key of its uploads is new again', async () => {
    const send = () => uploadKeyed(service.api);
    const first = await send();
    await removePartner(service.db, partner);

    const second = await send();

    expect(second.status).toBe(201);
    expect(second.headers.has('idempotent-replayed')).toBe(false);
    expect(second.body.feed_id).not.toBe(first.body.feed_id);
    expect((await service.api.get(`/feeds/${second.body.feed_id}`)).status).toBe(200);
    expect((await send()).headers.get('idempotent-replayed')).toBe('true');
  });

  it('a stored response is not returned to a key without access to its feed', async () => {
    const key = await makeKey(partner);
    const api = service.api.withKey(key);
    const send = () => uploadKeyed(api);
    await send();
    // As if the feed now belonged to another partner.
    const [other] = await service.db('partners').insert({ partner_name: 'Other' }, 'partner_id');
    await service.db('feeds').update({ partner_id: other.partner_id });

    const { status, headers } = await send();

    expect(status).toBe(201);
    expect(headers.has('idempotent-replayed')).toBe(false);
  });
});
