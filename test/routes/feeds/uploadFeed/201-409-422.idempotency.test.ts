import type { ApiClient, ApiResponse } from '../../../support/api-client';
import { transferRules } from '../../../../src/base/concurrency/transfer-limit';
import { eventually } from '../../../support/harness';
import { expectReplay, keysAreHeld, leaveAnsweredLongAgo } from '../../../support/idempotency-keys';
import {
  filePart,
  formBody,
  formType,
  goodCsv,
  partnerPart,
  type RawPart,
  OpenUpload,
} from '../../../support/requests';
import { withStoredKey, otherKey, startTestService, type TestService } from '../../../support/service';
import { loadProducts } from '../../../support/catalog';
import { stored } from '../../../support/stored-uploads';
import { cutConnection, whileWritesDo } from '../../../support/faults';

let service: TestService;
let api: ApiClient;
beforeAll(async () => {
  service = await startTestService();
  ({ api } = service);
});

let keys = 0;
const newKey = () => `key-${++keys}`;

const right = () => [partnerPart(), filePart(goodCsv)];
const upload = (key: string, parts: RawPart[] = right(), client = api) =>
  client.send('POST', '/feeds/upload', {
    headers: { 'content-type': formType, 'idempotency-key': key },
    body: formBody(parts),
  });

const inProgress = {
  status: 409,
  body: { detail: 'A request with this Idempotency-Key is still in progress.' },
};
const used = {
  status: 422,
  body: { detail: 'Idempotency-Key was already used with a different request.' },
};
const answer = ({ status, body }: ApiResponse) => ({ status, body: body as unknown });

/** Size of the form before the rows of its file, in bytes. */
const begun = () => formBody(right()).indexOf('TENT-2');

/** Starts an upload, and waits until it has locked its key. */
async function openUpload(key: string, on: TestService = service): Promise<OpenUpload> {
  await keysAreHeld(on, 0);
  const open = new OpenUpload(on, { 'idempotency-key': key });
  await open.write(formBody(right()).subarray(0, begun()));
  await keysAreHeld(on, 1);
  return open;
}

describe('POST /feeds/upload with an Idempotency-Key', () => {
  describe('the same upload again', () => {
    it('gets the first 201 again, and stores nothing', async () => {
      const key = newKey();
      const first = await upload(key);
      expect(first.status).toBe(201);
      expect(first.headers.get('idempotent-replayed')).toBeNull();
      const before = await stored(service);

      expectReplay(await upload(key), first);
      expectReplay(await upload(key), first);

      expect(await stored(service)).toEqual(before);
      const next = await api.uploadFeed(goodCsv);
      expect(Number(next.feedId.slice(2))).toBe(Number((first.body.feed_id as string).slice(2)) + 1);
    });

    it('is the same upload with its parts in another order, another boundary, and additional parts', async () => {
      const key = newKey();
      const first = await upload(key, [
        partnerPart(' Acme Outdoor '),
        filePart(goodCsv, { mediaType: null }),
      ]);
      const form = new FormData();
      form.set('note', 'ignored');
      form.set('file', new Blob([goodCsv], { type: 'text/csv' }), 'feed.csv');
      form.set('partner_name', 'Acme Outdoor');

      expectReplay(
        await api.send('POST', '/feeds/upload', { headers: { 'idempotency-key': key }, body: form }),
        first,
      );
    });

    it('gets the first response, in any state of the feed', async () => {
      const key = newKey();
      const first = await upload(key);
      await api.post(`/jobs/${first.body.validation_job_id}/run`);

      expectReplay(await upload(key), first);
    });
  });

  describe('another upload with the key', () => {
    const others: [string, RawPart[]][] = [
      ['another file', [partnerPart(), filePart(`${goodCsv}B,B,2\n`)]],
      ['another partner name', [partnerPart('Birch & Sons'), filePart(goodCsv)]],
      ['another file name', [partnerPart(), filePart(goodCsv, { fileName: 'other.csv' })]],
      ['another media type', [partnerPart(), filePart(goodCsv, { mediaType: 'application/csv' })]],
      ['another file, before the partner name', [filePart(`${goodCsv}B,B,2\n`), partnerPart()]],
    ];
    it.each(others)('is rejected, and stores nothing: %s', async (_what, parts) => {
      const key = newKey();
      const first = await upload(key);
      const before = await stored(service);

      expect(answer(await upload(key, parts))).toEqual(used);

      expect(await stored(service)).toEqual(before);
      expectReplay(await upload(key), first);
    });

    it('is rejected for its own errors first', async () => {
      const key = newKey();
      await upload(key);
      const before = await stored(service);

      expect((await upload(key, [partnerPart(), filePart('')])).body.detail).toBe('Uploaded file is empty.');
      expect((await upload(key, [partnerPart()])).body.detail[0].loc).toEqual(['body', 'file']);
      expect(await stored(service)).toEqual(before);
    });

    it('is rejected also if it is an order', async () => {
      const key = newKey();
      await upload(key);
      const { productIds } = await loadProducts(service, [{ sku: 'A', price: '1' }]);
      const order = { partner_name: 'Acme Outdoor', items: [{ product_id: productIds[0], quantity: 1 }] };

      expect(answer(await api.post('/orders', order, { 'idempotency-key': key }))).toEqual(used);
    });
  });

  describe('the key', () => {
    it('is one per API key', async () => {
      const key = newKey();
      const first = await upload(key);
      const parts = [partnerPart('Theirs'), filePart(goodCsv)];
      const theirs = await upload(key, parts, api.withKey(otherKey));

      expect(theirs.status).toBe(201);
      expect(theirs.headers.get('idempotent-replayed')).toBeNull();
      expectReplay(await upload(key), first);
      expectReplay(await upload(key, parts, api.withKey(otherKey)), theirs);
    });

    it.each([
      ['', 'string_too_short', 'String should have at least 1 character', { min_length: 1 }],
      ['k'.repeat(256), 'string_too_long', 'String should have at most 255 characters', { max_length: 255 }],
    ])('is rejected when it is empty or too long, and nothing is stored', async (key, type, msg, ctx) => {
      const before = await stored(service);

      expect(answer(await upload(key))).toEqual({
        status: 422,
        body: { detail: [{ type, loc: ['header', 'Idempotency-Key'], msg, input: key, ctx }] },
      });
      expect(await stored(service)).toEqual(before);
    });

    it('is checked after the API key', async () => {
      expect((await upload('', right(), api.withKey('wrong'))).status).toBe(401);
    });

    it('is checked after the 403 of a limited API key', async () => {
      const limited = await withStoredKey(service, 'Acme Outdoor');
      const key = newKey();
      const first = await upload(key, right(), limited);
      const foreign = [partnerPart('Birch & Sons'), filePart(goodCsv)];

      expect((await upload(key, foreign, limited)).status).toBe(403);
      expect((await upload(newKey(), foreign, limited)).status).toBe(403);
      expectReplay(await upload(key, right(), limited), first);
    });

    it('can be reused after 24 hours', async () => {
      const key = newKey();
      const first = await upload(key);
      await leaveAnsweredLongAgo(service, key);

      const second = await upload(key, [partnerPart('Later'), filePart(goodCsv)]);

      expect(second.status).toBe(201);
      expect(second.body.feed_id).not.toBe(first.body.feed_id);
      expectReplay(await upload(key, [partnerPart('Later'), filePart(goodCsv)]), second);
    });
  });

  describe('after a failure', () => {
    const failures: [string, RawPart[], number][] = [
      ['an empty file', [partnerPart(), filePart('')], 400],
      ['no partner name', [filePart(goodCsv)], 422],
      [
        'a file that is not UTF-8 at its end',
        [partnerPart(), filePart(Buffer.from(`${goodCsv}\xff`, 'latin1'))],
        400,
      ],
    ];
    it.each(failures)('can be reused: %s', async (_what, parts, status) => {
      const key = newKey();
      const before = await stored(service);
      expect((await upload(key, parts)).status).toBe(status);
      expect(await stored(service)).toEqual(before);

      const first = await upload(key);

      expect(first.status).toBe(201);
      expect(first.headers.get('idempotent-replayed')).toBeNull();
      expectReplay(await upload(key), first);
    });

    it.each([
      ['the database connection is lost during the upload', cutConnection, 'validation_jobs', 503],
      ['the database goes away when the answer is kept', cutConnection, 'idempotency_keys', 503],
      ['the answer cannot be kept', "raise exception 'no';", 'idempotency_keys', 500],
    ] as const)('has stored nothing, and can be used again: %s', async (_what, statement, table, status) => {
      const key = newKey();
      const before = await stored(service);

      const failed = await whileWritesDo(service, table, statement, () => upload(key));

      expect(failed.status).toBe(status);
      expect(await stored(service)).toEqual(before);
      const first = await upload(key);
      expect(first.status).toBe(201);
      expectReplay(await upload(key), first);
    });

    it("stores nothing when the connection with the key's lock is lost during the file", async () => {
      const key = newKey();
      const before = await stored(service);
      const open = await openUpload(key);
      await eventually('its connection is cut', async () => {
        const { rowCount } = await service.db.raw<{ rowCount: number }>(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
        );
        return rowCount === 1;
      });

      await open.write(formBody(right()).subarray(begun()));
      open.end();

      expect((await open.response).status).toBe(503);
      expect(await stored(service)).toEqual(before);
      expect((await upload(key)).status).toBe(201);
    });
  });

  describe('in progress', () => {
    it('is 409 for another upload, before its body is sent, and for an order', async () => {
      const key = newKey();
      const open = await openUpload(key);
      const order = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };

      const second = new OpenUpload(service, { 'idempotency-key': key });

      expect(answer(await second.response)).toEqual(inProgress);
      second.abort();
      expect(answer(await api.post('/orders', order, { 'idempotency-key': key }))).toEqual(inProgress);
      await open.write(formBody(right()).subarray(begun()));
      open.end();
      expect((await open.response).status).toBe(201);
      expectReplay(await upload(key), await open.response);
    });

    it('is released as soon as the client disconnects', async () => {
      const key = newKey();
      const before = await stored(service);
      const open = await openUpload(key);

      open.abort();

      const next = await eventually('the key is free', async () => {
        const response = await upload(key);
        return response.status !== 409 && response;
      });
      expect(next.status).toBe(201);
      expect(next.headers.get('idempotent-replayed')).toBeNull();
      expect((await stored(service)).feeds).toHaveLength(before.feeds.length + 1);
    });

    it('creates one feed from twenty concurrent uploads', async () => {
      const key = newKey();
      const before = await stored(service);

      const answers = await Promise.all(Array.from({ length: 20 }, () => upload(key)));

      const after = await stored(service);
      expect(after.feeds).toHaveLength(before.feeds.length + 1);
      expect(after.files).toHaveLength(before.files.length + 1);
      const created = answers.filter(({ status }) => status === 201);
      expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
      expect(created.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
      expect(new Set(created.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    });

    it('is released by an upload that gets 503', async () => {
      const one = await startTestService({ concurrentUploads: 1 });
      const held = await openUpload('first', one);

      const { waitMilliseconds } = transferRules;
      transferRules.waitMilliseconds = 50;
      const refused = await upload('second', right(), one.api);
      transferRules.waitMilliseconds = waitMilliseconds;
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).not.toBeNull();
      held.abort();

      await eventually(
        'a slot is free',
        async () => (await upload('second', right(), one.api)).status === 201,
      );
    });
  });
});
