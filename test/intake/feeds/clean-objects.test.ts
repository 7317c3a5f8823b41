import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { cleanObjects, type CleaningResult } from '../../../src/intake/feeds/clean-objects';
import { continueNumbers } from '../../../src/operation/database/continue-numbers';
import { stagingKey } from '../../../src/base/storage/object-key';
import { inChunks, eventually } from '../../support/harness';
import { filePart, formBody, goodCsv, partnerPart, OpenUpload } from '../../support/requests';
import { S3Front } from '../../support/s3';
import { startTestService, type TestService } from '../../support/service';
import { stored } from '../../support/stored-uploads';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const before = new Date('2026-11-01T00:00:00Z');
const long = new Date('2026-10-31T00:00:00Z');

/** Stores an object that no row names. */
async function leaveBehind(key: string, modifiedAt = long): Promise<void> {
  await service.objectStore.put(key, inChunks(Buffer.from(goodCsv)), 'text/csv');
  utimesSync(join(service.dataDir, 'objects/local', key), modifiedAt, modifiedAt);
}

async function clean(dryRun = false): Promise<{ result: CleaningResult; lines: string[] }> {
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);
  return { result: await cleanObjects(service.db, service.objectStore, { dryRun, before, report }), lines };
}

const orphan = 'raw/partners/acme/feeds/FD00002/feed.csv';

describe('cleanObjects', () => {
  it('removes old objects without a row and old staged objects, nothing else', async () => {
    const { feedId } = await service.api.uploadFeed(goodCsv);
    // It draws a number of its own, and stores nothing.
    await service.db.raw("select nextval(pg_get_serial_sequence('feeds', 'feed_id'))");
    const kept = await stored(service);
    for (const file of kept.files) utimesSync(join(service.dataDir, file), long, long);
    const staged = stagingKey();
    await leaveBehind(orphan);
    await leaveBehind(staged);

    const { result, lines } = await clean();

    expect(result).toEqual({ seen: 3, removed: 2, young: 0, foreign: 0, unfinishedRemoved: 0 });
    expect(lines.map((line) => line.split(' ')[0])).toEqual([orphan, staged]);
    expect(await stored(service)).toEqual(kept);
    expect(kept.files).toEqual([expect.stringContaining(feedId)]);
  });

  it('keeps younger objects, whose upload may be in progress', async () => {
    await service.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 2)");
    await leaveBehind(orphan, before);
    await leaveBehind(stagingKey(), new Date());
    const all = await stored(service);

    expect((await clean()).result).toMatchObject({ removed: 0, young: 2 });
    expect(await stored(service)).toEqual(all);
  });

  it('reports without removing in a dry run', async () => {
    await service.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 2)");
    await leaveBehind(orphan);
    const all = await stored(service);

    const { result, lines } = await clean(true);

    expect(result).toMatchObject({ seen: 1, removed: 1 });
    expect(lines).toEqual([expect.stringContaining(orphan)]);
    expect(await stored(service)).toEqual(all);
  });

  it('keeps files of feeds that were lost before a restore', async () => {
    await service.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 1)");
    await leaveBehind(orphan);
    await continueNumbers(service.db, 2, 10);
    const all = await stored(service);

    expect((await clean()).result).toMatchObject({ removed: 0, foreign: 1 });
    expect(await stored(service)).toEqual(all);
    const next = await service.api.uploadFeed(goodCsv);
    expect(next.feedId).toBe('FD00013');
  });

  it.each([
    ['of a feed number that was never given out here', orphan],
    ['with a key of another program', 'raw/partners/acme/notes.txt'],
    ['that only looks like one that waits', 'staging/notes.txt'],
  ])('preserves an object %s, because the database may be the wrong one', async (_what, key) => {
    await leaveBehind(key);
    const all = await stored(service);

    expect((await clean()).result).toMatchObject({ seen: 0, removed: 0, foreign: 1 });
    expect(await stored(service)).toEqual(all);
  });

  it('handles more objects than one look-up', async () => {
    await service.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 1001)");
    const feeds = Array.from({ length: 1_001 }, (_, at) => `FD${String(at + 1).padStart(5, '0')}`);
    await Promise.all(feeds.map((feed) => leaveBehind(`raw/partners/acme/feeds/${feed}/feed.csv`)));

    expect((await clean()).result).toMatchObject({ seen: 1_001, removed: 1_001 });
    expect((await stored(service)).files).toEqual([]);
  });

  it.each([
    ['does not abort an upload to S3 that began long ago and is still written to', new Date(), 0, 201],
    ['aborts an upload to S3 that was not written to for long', long, 1, 503],
  ])('%s', async (_what, written, unfinishedRemoved, status) => {
    const front = await S3Front.open();
    const onS3 = await startTestService({ objectStore: front.store() });
    const upload = new OpenUpload(onS3);
    const form = formBody([partnerPart(), filePart(goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(400_000))]);
    await upload.write(form.subarray(0, -100));
    await eventually('a part of it is stored', () =>
      [...front.unfinished.values()].some((one) => one.written),
    );
    for (const one of front.unfinished.values()) Object.assign(one, { initiated: long, written });

    const options = { dryRun: false, before, report: () => undefined };
    const result = await cleanObjects(onS3.db, onS3.objectStore, options);

    expect(result).toMatchObject({ unfinishedRemoved });
    expect(front.unfinished.size).toBe(1 - unfinishedRemoved);
    if (unfinishedRemoved > 0)
      front.onRequest = ({ url }) => (url.includes('uploadId') ? { status: 404 } : 'pass');
    await upload.write(form.subarray(-100));
    upload.end();
    expect((await upload.response).status).toBe(status);
  });
});
