import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../src/base/db/database';
import { cleanObjects } from '../../../src/intake/feeds/clean-objects';
import { isPruneDue } from '../../../src/operation/retention/lease';
import { planPrune, prune, type RetentionContext } from '../../../src/operation/retention/prune';
import { requestRunOf } from '../../support/requested-runs';
import { StorageError } from '../../../src/base/storage/object-store';
import { findBroken } from '../../support/service-invariants';
import { goodCsv } from '../../support/requests';
import { startTestService, type TestService } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';

const rules = { rowIssueDays: 36_500, rawFileDays: 30, historyDays: 36_500 };

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const context = (): RetentionContext => ({ db: service.db, objectStore: service.objectStore, rules });
const files = async () => (await prune(context())).files;
const broken = () => findBroken({ db: service.db, objectStore: service.objectStore, apis: [service.api] });

const numberOf = (id: string) => Number(id.slice(2));

/** Shifts feeds and the ends of their last runs into the past; the first is the oldest. */
async function age(days: number, ...feedIds: string[]): Promise<void> {
  for (const [at, feedId] of feedIds.entries()) {
    const bindings = { days, at, feedId: numberOf(feedId) };
    const time = "now() - :days * interval '1 day' + :at * interval '1 second'";
    await service.db.raw(`update feeds set uploaded_at = ${time} where feed_id = :feedId`, bindings);
    await service.db.raw(
      `update validation_jobs set finished_at = ${time} where feed_id = :feedId and finished_at is not null`,
      bindings,
    );
  }
}

async function loadOld(count: number, partnerName = 'Acme Outdoor') {
  const feeds = [];
  for (let at = 0; at < count; at++) {
    feeds.push(await service.api.loadFeed(`${goodCsv}ROW-${at},Product,\n`, partnerName));
  }
  await age(31, ...feeds.map(({ feedId }) => feedId));
  return feeds;
}

/** Returns whether the raw file of each feed can be downloaded. */
const areThere = (feeds: { feedId: string }[]) =>
  Promise.all(
    feeds.map(async ({ feedId }) => (await service.api.get(`/feeds/${feedId}/raw`)).status === 200),
  );

describe('prune', () => {
  it('reads the order items for longer than a request may take', async () => {
    const [old] = await loadOld(2);
    const db = openDatabase(service.address, {
      applicationName: 'api',
      connectionsMax: 5,
      queryMilliseconds: 300,
    });
    const locked = await service.db.transaction();
    try {
      await locked.raw('lock table order_items in access exclusive mode');
      const pruned = prune({ ...context(), db });
      await sleep(1_000);
      await locked.rollback();

      expect((await pruned).files).toMatchObject({ files: 1 });
      expect(await areThere([old!])).toEqual([false]);
    } finally {
      await locked.rollback();
      await db.destroy();
    }
  });

  it('removes old raw files except the last loaded one, and keeps feed, digest and counters', async () => {
    const [first, second, last] = await loadOld(3);
    const other = await loadOld(1, 'Other');
    const before = (await service.api.get(`/feeds/${first!.feedId}`)).body;
    const planned = await planPrune(context());
    expect(await areThere([first!, second!, last!])).toEqual([true, true, true]);

    expect(await files()).toEqual(planned.files);

    expect(planned.files).toEqual({ files: 2, bytes: 2 * before.size_bytes });
    expect(await areThere([first!, second!, last!, ...other])).toEqual([false, false, true, true]);
    expect((await service.api.get(`/feeds/${first!.feedId}`)).body).toEqual({
      ...before,
      raw_file_removed_at: expect.stringMatching(/Z$/),
    });
    expect((await service.api.get(`/jobs/${first!.jobId}`)).body).toMatchObject({
      summary: { processed: 2 },
    });
    expect(await filesBelow(service.dataDir)).toHaveLength(2);
    expect(await broken()).toEqual([]);
    expect((await files()).files).toBe(0);
  });

  it('keeps the newest and the last loaded raw file of each collection', async () => {
    const feeds: { feedId: string }[] = [];
    for (const collection of ['summer', 'summer', 'summer', 'winter']) {
      const csv = `${goodCsv}ROW-${feeds.length},Product,\n`;
      feeds.push(await service.api.loadFeed(csv, 'Acme Outdoor', { collection }));
    }
    await age(31, ...feeds.map(({ feedId }) => feedId));
    // The second has run again before the last one ran.
    await service.db.raw(
      "update validation_jobs set finished_at = finished_at + interval '1.5 seconds' where feed_id = ?",
      [numberOf(feeds[1]!.feedId)],
    );

    await files();

    expect(await areThere(feeds)).toEqual([false, true, true, true]);
  });

  it.each<[string, (service: TestService, feed: { feedId: string; jobId: string }) => unknown]>([
    [
      'was uploaded later',
      ({ db }, { feedId }) =>
        db('feeds').where('feed_id', numberOf(feedId)).update({ uploaded_at: new Date() }),
    ],
    ['ran again later', ({ api }, { jobId }) => api.post(`/jobs/${jobId}/run`)],
    [
      'waits for a run',
      ({ api }, { jobId }) => api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' }),
    ],
    [
      'is running',
      ({ db }, { feedId }) =>
        db('validation_jobs')
          .where('feed_id', numberOf(feedId))
          .update({
            ...{ status: 'running', finished_at: null, processed: null, inserted: null, updated: null },
            ...{ unchanged: null, skipped: null },
          }),
    ],
    [
      'failed after it had loaded products that are still there',
      ({ db }, { feedId }) =>
        db('validation_jobs')
          .where('feed_id', numberOf(feedId))
          .update({ status: 'failed', failure_reason: 'x' }),
    ],
  ])('keeps the raw file of a feed that %s', async (_what, change) => {
    const [first] = await loadOld(2);
    // The second feed does not contain the product.
    await service
      .db('products')
      .insert({ feed_id: numberOf(first!.feedId), partner_id: 1, sku: 'X', product_name: 'X' });
    await change(service, first!);

    expect((await files()).files).toBe(0);
  });

  it('keeps the raw files of feeds that never ran, and removes the raw files of failed feeds', async () => {
    const waiting = await service.api.uploadFeed(goodCsv);
    const failed = await service.api.loadFeed('sku,product_name\nA,"Tent\n');
    await age(31, waiting.feedId, failed.feedId);

    expect((await files()).files).toBe(1);
    expect(await areThere([waiting, failed])).toEqual([true, false]);
  });

  it('keeps all raw files without the setting', async () => {
    await loadOld(3);

    const result = await prune({ ...context(), rules: { rowIssueDays: 90, historyDays: 36_500 } });

    expect(result.files).toEqual({ files: 0, bytes: 0 });
    expect(await filesBelow(service.dataDir)).toHaveLength(3);
  });

  it('deletes an object later that the store could not delete', async () => {
    const [first] = await loadOld(2);
    const failing = Object.create(service.objectStore, {
      delete: { value: () => Promise.reject(new StorageError('The store is down.', false, undefined)) },
    }) as TestService['objectStore'];

    await expect(prune({ ...context(), objectStore: failing })).rejects.toThrow('The store is down.');
    expect(await areThere([first!])).toEqual([false]);
    expect(await filesBelow(service.dataDir)).toHaveLength(2);

    expect((await files()).files).toBe(0);
    expect(await filesBelow(service.dataDir)).toHaveLength(1);
    expect(await broken()).toEqual([]);
  });

  it('keeps a raw file if the digests of its records cannot be read', async () => {
    const [first] = await loadOld(2);
    const failing = Object.create(service.objectStore, {
      get: { value: () => Promise.reject(new StorageError('The store is down.', false, undefined)) },
    }) as TestService['objectStore'];

    await expect(prune({ ...context(), objectStore: failing })).rejects.toThrow(
      'The raw file could not be read from object storage.',
    );
    expect(await areThere([first!])).toEqual([true]);

    expect((await files()).files).toBe(1);
    expect(await broken()).toEqual([]);
  });

  it.each([
    ['deleted', 'delete'],
    ['read', 'get'],
  ] as const)(
    'continues with the next file when one cannot be %s, and tries that one again the next day',
    async (_what, method) => {
      const [first, second, last] = await loadOld(3);
      const key = async ({ feedId }: { feedId: string }) => {
        const feed = await service
          .db('feeds')
          .where('feed_id', numberOf(feedId))
          .first('raw_file_object_key');
        return (feed as { raw_file_object_key: string }).raw_file_object_key;
      };
      const badKey = await key(first!);
      const failing = Object.create(service.objectStore, {
        [method]: {
          value: (...args: [string]) =>
            args[0] === badKey
              ? Promise.reject(new StorageError('Access denied.', false, undefined))
              : service.objectStore[method](...args),
        },
      }) as TestService['objectStore'];

      await expect(prune({ ...context(), objectStore: failing })).rejects.toThrow(
        method === 'get' ? 'The raw file could not be read from object storage.' : 'Access denied.',
      );

      expect(await isPruneDue(service.db)).toBe(false);
      expect(await areThere([second!, last!])).toEqual([false, true]);
      expect(await filesBelow(service.dataDir)).toHaveLength(2);
      expect(await service.db('removed_objects')).toHaveLength(method === 'delete' ? 1 : 0);
      await files();
      expect(await filesBelow(service.dataDir)).toHaveLength(1);
      expect(await broken()).toEqual([]);
    },
  );

  it('removes raw files even if row issues cannot be removed, and remains due', async () => {
    const [first] = await loadOld(2);
    await service.db('validation_jobs').update({ issue_counts: '[{"code": "missing_price", "count": 1}]' });
    await service.db.raw(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before delete on row_issues for each statement execute function refuse()`);

    await expect(prune({ ...context(), rules: { ...rules, rowIssueDays: 0 } })).rejects.toThrow('refused');

    expect(await isPruneDue(service.db)).toBe(true);
    expect(await areThere([first!])).toEqual([false]);
    expect(await filesBelow(service.dataDir)).toHaveLength(1);
  });

  it('keeps a raw file if it is interrupted while it reads the file', async () => {
    const [first] = await loadOld(2);
    const stop = new AbortController();
    const stopping = Object.create(service.objectStore, {
      get: {
        value: (key: string) => {
          stop.abort();
          return service.objectStore.get(key);
        },
      },
    }) as TestService['objectStore'];

    const result = await prune({ ...context(), objectStore: stopping }, stop.signal);

    expect(result.files.files).toBe(0);
    expect(await areThere([first!])).toEqual([true]);
    expect((await files()).files).toBe(1);
    expect(await service.db('source_digests').where('feed_id', 1).pluck('record_offset')).toHaveLength(2);
  });

  it('leaves an object without its raw file to the clean-up of the object store', async () => {
    const [first] = await loadOld(2);
    await service
      .db('feeds')
      .where('feed_id', numberOf(first!.feedId))
      .update({ raw_file_removed_at: new Date() });
    const later = new Date(Date.now() + 1_000);

    const result = await cleanObjects(service.db, service.objectStore, {
      ...{ dryRun: false, before: later, report: () => undefined },
    });

    expect(result).toMatchObject({ seen: 2, removed: 1 });
  });

  it('never removes the raw file of a run that is requested at the same time', async () => {
    const [first] = await loadOld(2);
    await files();

    // A handler checks for the raw file before the request.
    const request = requestRunOf(service.db, numberOf(first!.jobId), { attempts: 1 });
    await expect(request).rejects.toMatchObject({ code: 'job_already_running' });
    expect((await service.api.get(`/jobs/${first!.jobId}`)).body.status).toBe('completed');
  });
});

describe('a feed without its raw file', () => {
  it.each<[string, string, (feed: { feedId: string; jobId: string }) => string]>([
    ['the download of the raw file', 'GET', ({ feedId }) => `/feeds/${feedId}/raw`],
    ['a run', 'POST', ({ jobId }) => `/jobs/${jobId}/run`],
    ['a plan', 'POST', ({ jobId }) => `/jobs/${jobId}/plan`],
    ['the download of the rejects', 'GET', ({ jobId }) => `/jobs/${jobId}/rejects.csv`],
  ])('rejects %s with 410 and the time of the removal', async (_what, method, path) => {
    const [first] = await loadOld(2);
    await files();
    const { raw_file_removed_at: time } = (await service.api.get(`/feeds/${first!.feedId}`)).body;

    const { status, body } = await service.api.send(method, path(first!), {});

    expect({ status, body: body as unknown }).toEqual({
      status: 410,
      body: {
        detail: `The raw file of feed ${first!.feedId} was removed on ${time}. Upload it again to run it.`,
      },
    });
  });

  it('rejects an asynchronous run, too, and changes nothing', async () => {
    const [first] = await loadOld(2);
    await files();
    const before = (await service.api.get(`/jobs/${first!.jobId}`)).body;

    const answer = await service.api.post(`/jobs/${first!.jobId}/run`, undefined, {
      prefer: 'respond-async',
    });

    expect(answer.status).toBe(410);
    expect((await service.api.get(`/jobs/${first!.jobId}`)).body).toEqual(before);
  });

  it('can be uploaded again, as a duplicate', async () => {
    const [first] = await loadOld(2);
    await files();

    const again = await service.api.upload({
      csv: `${goodCsv}ROW-0,Product,\n`,
      partnerName: 'Acme Outdoor',
    });

    expect(again.body).toMatchObject({ duplicate_of: first!.feedId });
    expect((await service.api.post(`/jobs/${again.body.validation_job_id}/run`)).body.status).toBe(
      'completed',
    );
  });
});
