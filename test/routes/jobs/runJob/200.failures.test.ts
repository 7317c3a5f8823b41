import { aTimestamp } from '../../../support/expectations';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { recoverRuns } from '../../../../src/runs/queue/recovery';
import type { UploadedFeed } from '../../../support/api-client';
import { leaveRunning, whileLoading, whileReading } from '../../../support/runs-in-flight';
import { startTestService, type TestService } from '../../../support/service';
import { rawFilePath, replaceRawFile } from '../../../support/stored-uploads';
import { cutConnection, whileWritesDo } from '../../../support/faults';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,24.50\n';
const nothing = {
  processed: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  skipped: 0,
  withdrawn: 0,
  restored: 0,
};
const nothingText = 'Products processed: 0. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 0.';
const missing = 'The raw file is missing from object storage.';

const run = (jobId: string) => service.api.post(`/jobs/${jobId}/run`);
const products = () => service.db('products').orderBy('product_id').select('*', service.db.raw('xmin::text'));

/** Expects job and feed to be failed for this reason (text or pattern). */
async function expectFailed(
  feed: UploadedFeed,
  response: { status: number; body: unknown },
  reason: string | RegExp,
  skipped = 0,
): Promise<void> {
  const result = nothingText.replace(/(processed|Skipped): 0/g, `$1: ${skipped}`);
  const pattern = typeof reason === 'string' ? escape(reason) : reason.source;
  const message = expect.stringMatching(
    new RegExp(`^ETL processing failed: ${pattern} ${escape(result)}$`),
  ) as unknown as string;
  expect(response).toMatchObject({
    status: 200,
    body: {
      job_id: feed.jobId,
      feed_id: feed.feedId,
      status: 'failed',
      job_type: 'validation',
      message,
      result,
      started_at: aTimestamp,
      finished_at: aTimestamp,
      summary: { ...nothing, processed: skipped, skipped },
    },
  });
  expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(response.body);
  expect((await service.api.get(`/feeds/${feed.feedId}`)).body).toMatchObject({
    status: 'failed',
    validation_status: 'failed',
    validation_message: (response.body as { message: string }).message,
  });
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Uploads a feed and replaces its raw file by bytes that no upload accepts. */
async function uploadBroken(content: string | Buffer, partnerName: string): Promise<UploadedFeed> {
  const feed = await service.api.uploadFeed(csv, partnerName);
  await replaceRawFile(service, feed.feedId, content);
  return feed;
}

/** Runs the job with a trigger that executes this code for each written product. */
const runWhileProducts = (statement: string, { jobId }: UploadedFeed, when?: 'deferred') =>
  whileWritesDo(service, 'products', statement, () => run(jobId), when);

describe('POST /jobs/{job_id}/run', () => {
  describe('200, failed:', () => {
    it('the raw file is missing', async () => {
      const feed = await service.api.uploadFeed(csv, 'Missing');
      await rm(await rawFilePath(service, feed.feedId));

      await expectFailed(feed, await run(feed.jobId), missing);
    });

    it('the folder of the raw file is missing', async () => {
      const feed = await service.api.uploadFeed(csv, 'Missing folder');
      await rm(dirname(await rawFilePath(service, feed.feedId)), { recursive: true });

      await expectFailed(feed, await run(feed.jobId), missing);
    });

    it('the raw file cannot be read', async () => {
      const feed = await service.api.uploadFeed(csv, 'Unreadable');
      const path = await rawFilePath(service, feed.feedId);
      await rm(path);
      await mkdir(path);

      await expectFailed(feed, await run(feed.jobId), /[^.]*could not be read[^.]*\./);
    });

    it('the object store is unreachable', async () => {
      const feed = await service.api.uploadFeed(csv, 'Unreachable');
      const folder = dirname(await rawFilePath(service, feed.feedId));
      await rm(folder, { recursive: true });
      await writeFile(folder, '');

      await expectFailed(feed, await run(feed.jobId), /[^.]+\./);
    });

    it.each<[string, number, number, string]>([
      ['on the last line', 4, 0, `${csv}ROPE,"Rope,1\n`],
      ['with rows after it', 3, 0, csv.replace('Head lamp', '"Head lamp') + 'ROPE,Rope,1\n'.repeat(1000)],
      ['with no more than the quote', 4, 0, `${csv}"`],
      ['after bad rows', 6, 2, `${csv},No sku,1\nROPE,Rope,NA\nMAT,"Mat\n`],
      ['after line breaks inside quotes', 6, 0, `${csv}ROPE,"Rope\n30 m",1\nMAT,"Mat\n`],
      ['after blank lines', 6, 0, `${csv}\n\nROPE,"Rope\n`],
      ['after CRLF', 4, 0, `${csv}ROPE,"Rope,1\n`.replaceAll('\n', '\r\n')],
      ['after a megabyte', 10_004, 0, `${csv}${`A,${'a'.repeat(100)},1\n`.repeat(10_000)}B,"B\n`],
    ])('an unclosed quote, %s: the message names line %d', async (what, line, skipped, content) => {
      const feed = await service.api.uploadFeed(content, what);

      const response = await run(feed.jobId);

      const reason = `The quote that opens in the record at line ${line} is never closed.`;
      await expectFailed(feed, response, reason, skipped);
    });

    it.each<[string, string | Buffer]>([
      ['has no header', '1,Tent\n'],
      ['has a header twice', 'sku,sku,product_name\n1,1,Tent\n'],
    ])('the raw file was replaced, and %s', async (what, content) => {
      const feed = await uploadBroken(content, what);

      await expectFailed(feed, await run(feed.jobId), /[^.]+?\.?/);
    });

    it.each<[string, (content: Buffer) => Buffer, RegExp]>([
      [
        'cut to a third',
        (content) => content.subarray(0, content.length / 3),
        /has 25 bytes instead of the 76 /,
      ],
      ['empty', () => Buffer.alloc(0), /has 0 bytes instead of the 76 /],
      [
        'cut after a row',
        (content) => content.subarray(0, content.indexOf('LAMP')),
        /has 53 bytes instead of the 76 /,
      ],
      [
        'longer',
        (content) => Buffer.concat([content, Buffer.from('MAT,Mat,1\n')]),
        /has 86 bytes instead of the 76 /,
      ],
      [
        'of the same size and other bytes',
        (content) => Buffer.from(content.toString().replace('24.50', '24.51')),
        /its SHA-256 differs/,
      ],
      [
        'of the same size and no text',
        (content) => Buffer.concat([content.subarray(0, -2), Buffer.from([0xff, 0x0a])]),
        /its SHA-256 differs/,
      ],
    ])('the raw file in object storage is %s: no row is loaded', async (what, change, reason) => {
      const feed = await service.api.uploadFeed(csv, `Raw file ${what}`);
      const path = await rawFilePath(service, feed.feedId);
      await writeFile(path, change(await readFile(path)));
      const before = await products();

      const response = await run(feed.jobId);

      await expectFailed(
        feed,
        response,
        new RegExp(`The raw file in object storage [^.]*${reason.source}[^.]*\\. Upload the feed again\\.`),
      );
      expect(await products()).toEqual(before);
    });

    it('reports a failure of the run in the validation job, not in the submission job', async () => {
      const feed = await service.api.uploadFeed(`${csv}"`, 'Upload is fine');
      await run(feed.jobId);

      const { body } = await service.api.get(`/jobs/${feed.submissionJobId}`);

      expect(body.status).toBe('completed');
    });

    it('the database rejects the products: the reason contains no internal details', async () => {
      const feed = await service.api.uploadFeed(csv, 'Refused');

      const response = await runWhileProducts("raise exception 'secret of the database';", feed);

      await expectFailed(feed, response, /[^.]+\./);
      expect(JSON.stringify(response.body)).not.toContain('secret');
    });

    it('the products cannot be committed', async () => {
      const feed = await service.api.uploadFeed(csv, 'No commit');

      const response = await runWhileProducts("raise exception 'secret of the database';", feed, 'deferred');

      await expectFailed(feed, response, /[^.]+\./);
      expect(JSON.stringify(response.body)).not.toContain('secret');
    });

    it('counts skipped rows, also when the products cannot be committed', async () => {
      const feed = await service.api.uploadFeed(`${csv},No sku,1\nROPE,Rope,NA\n`, 'Skipped until then');

      const response = await runWhileProducts("raise exception 'no';", feed, 'deferred');

      await expectFailed(feed, response, /[^.]+\./, 2);
    });

    it('the connection to the database is lost during the load', async () => {
      const feed = await service.api.uploadFeed(csv, 'Lost connection');

      const response = await runWhileProducts(cutConnection, feed);

      await expectFailed(feed, response, /[^.]+\./);
    });

    it.each<[string, (feed: UploadedFeed) => Promise<void>]>([
      ['without its raw file', async ({ feedId }) => rm(await rawFilePath(service, feedId))],
      ['on a quote at its end', async ({ feedId }) => replaceRawFile(service, feedId, changed + '"')],
    ])('changes no product when it fails %s', async (what, spoil) => {
      await service.api.loadFeed(csv, what);
      const before = await products();
      const feed = await service.api.uploadFeed(changed, what);
      await spoil(feed);

      expect((await run(feed.jobId)).body.status).toBe('failed');

      expect(await products()).toEqual(before);
    });
    const changed = 'sku,product_name,price\nTENT-2,Tent,1\nLAMP-1,Lamp,2\nMAT,Mat,3\n';

    it('changes no product when the load fails', async () => {
      await service.api.loadFeed(csv, 'Load fails');
      const before = await products();
      const feed = await service.api.uploadFeed(changed, 'Load fails');

      const response = await runWhileProducts("raise exception 'no';", feed, 'deferred');

      expect(response.body.status).toBe('failed');
      expect(await products()).toEqual(before);
    });
  });

  describe('200, after a failure:', () => {
    it('loads the feed once its raw file is restored', async () => {
      const feed = await service.api.uploadFeed(csv, 'Back again');
      const path = await rawFilePath(service, feed.feedId);
      await rename(path, `${path}.away`);
      await expectFailed(feed, await run(feed.jobId), missing);
      await rename(`${path}.away`, path);

      const { status, body } = await run(feed.jobId);

      const summary = 'Products processed: 2. Inserted: 2. Updated: 0. Unchanged: 0. Skipped: 0.';
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'completed',
        message: summary,
        result: summary,
        issue_counts: [],
      });
      expect((await service.api.get(`/feeds/${feed.feedId}`)).body).toMatchObject({
        status: 'processed',
        validation_status: 'completed',
        validation_message: `ETL processing completed. ${summary}`,
      });
    });

    it('loads the feed once its data is correct', async () => {
      const feed = await service.api.uploadFeed(`${csv}MAT,"Mat\n`, 'Mended');
      await run(feed.jobId);
      await replaceRawFile(service, feed.feedId, `${csv}MAT,Mat\n`);

      expect((await run(feed.jobId)).body.summary).toEqual({ ...nothing, processed: 3, inserted: 3 });
    });

    it('counts the products of the previous run as unchanged', async () => {
      const feed = await service.api.loadFeed(csv, 'Fails between');
      const path = await rawFilePath(service, feed.feedId);
      const content = await readFile(path);
      await rm(path);
      await expectFailed(feed, await run(feed.jobId), missing);
      await writeFile(path, content);

      expect((await run(feed.jobId)).body.summary).toEqual({ ...nothing, processed: 2, unchanged: 2 });
    });
  });

  describe('200, after a process died during a run:', () => {
    it('replaces the orphaned run at once', async () => {
      const feed = await service.api.uploadFeed(csv, 'Taken over');
      await leaveRunning(service, feed);
      expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('running');

      const { status, body } = await run(feed.jobId);

      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'completed', summary: { ...nothing, processed: 2, inserted: 2 } });
      expect((await service.api.get(`/feeds/${feed.feedId}`)).body.status).toBe('processed');
    });

    it('is marked as failed at the next startup, and can be run again', async () => {
      const feed = await service.api.uploadFeed(csv, 'Marked');
      await leaveRunning(service, feed);

      expect((await recoverRuns(service.db)).failed).toEqual([Number(feed.jobId.slice(2))]);

      const job = await service.api.get(`/jobs/${feed.jobId}`);
      await expectFailed(feed, job, /.*interrupted.*\./);
      expect(job.body.issue_counts).toEqual([]);
      expect((await run(feed.jobId)).body).toMatchObject({ status: 'completed', summary: { inserted: 2 } });
      expect((await recoverRuns(service.db)).failed).toEqual([]);
    });

    it('does not treat a run in progress as orphaned', async () => {
      const feed = await service.api.uploadFeed(csv, 'In progress');

      for (const hold of [whileReading, whileLoading]) {
        const { body } = await hold(service, feed, async () => {
          expect((await recoverRuns(service.db)).failed).toEqual([]);
          expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('running');
        });
        expect(body.status).toBe('completed');
      }
    });

    it('does not change jobs that are not running', async () => {
      const queued = await service.api.uploadFeed(csv, 'Queued');
      const completed = await service.api.loadFeed(csv, 'Completed');
      const failed = await service.api.loadFeed(`${csv}"`, 'Failed');
      const jobs = () =>
        Promise.all([queued, completed, failed].map(({ jobId }) => service.api.get(`/jobs/${jobId}`)));
      const before = (await jobs()).map(({ body }) => body as unknown);

      expect((await recoverRuns(service.db)).failed).toEqual([]);

      expect((await jobs()).map(({ body }) => body as unknown)).toEqual(before);
    });
  });
});
