import { recoverRuns } from '../../../src/runs/queue/recovery';
import type { ApiClient, UploadedFeed } from '../../support/api-client';
import { aTimestamp, limitTwice, wrongLimits } from '../../support/expectations';
import { eventually } from '../../support/harness';
import { leaveRunning, whileReading } from '../../support/runs-in-flight';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,NA\n';
const nothing = {
  processed: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  skipped: 0,
  withdrawn: 0,
  restored: 0,
};

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const list = (jobId: string, query = '', api: ApiClient = service.api) =>
  api.get(`/jobs/${jobId}/runs${query}`);
const run = ({ jobId }: UploadedFeed, query = '', api: ApiClient = service.api) =>
  api.post(`/jobs/${jobId}/run${query}`);
const runsOf = async ({ jobId }: UploadedFeed, api?: ApiClient) => {
  const { status, body } = await list(jobId, '', api);
  expect(status).toBe(200);
  return body.items as { run: number; requested_by: string; requested_at: string; started_at: string }[];
};

const notFound = (jobId: string) => ({
  error_code: 'JOB_NOT_FOUND',
  message: `Job ${jobId} not found`,
  details: { job_id: jobId },
});

describe('GET /jobs/{job_id}/runs', () => {
  describe('200', () => {
    it('is empty for a submission job, and before the first run', async () => {
      const { jobId, submissionJobId } = await service.api.uploadFeed(csv);

      for (const id of [jobId, submissionJobId]) {
        const { status, body } = await list(id);
        expect(status).toBe(200);
        expect(body).toEqual({ count: 0, items: [] });
      }
    });

    it('returns a run with the values of its job', async () => {
      const feed = await service.api.loadFeed(csv, 'Shown');

      const { body } = await list(feed.jobId);

      const { started_at, finished_at, summary } = feed.job;
      expect(body).toEqual({
        count: 1,
        items: [
          {
            run: 1,
            kind: 'load',
            status: 'completed',
            mode: 'upsert',
            requested_by: 'api-keys',
            requested_at: aTimestamp,
            started_at,
            finished_at,
            failure_reason: null,
            summary,
          },
        ],
      });
      expect(body.items[0].requested_at <= started_at).toBe(true);
    });

    it('returns every run, newest first, each with its own counters and reason', async () => {
      const rows = Array.from({ length: 12 }, (_, at) => `S${at},Product\n`).join('');
      const replace = { mode: 'replace' };
      const empty = await service.api.uploadFeed('sku,product_name\n', 'Replacing', replace);
      await service.api.loadFeed(`sku,product_name\n${rows}`, 'Replacing', replace);
      await run(empty);
      await run(empty, '?allow_older=true');
      await run(empty, '?allow_older=true&max_withdrawn=12');

      expect(await runsOf(empty)).toMatchObject([
        {
          run: 3,
          status: 'completed',
          mode: 'replace',
          failure_reason: null,
          summary: { ...nothing, withdrawn: 12 },
        },
        {
          run: 2,
          status: 'failed',
          failure_reason: expect.stringMatching(/^The run would withdraw 12 of 12 active products/),
          summary: { ...nothing, would_withdraw: 12 },
        },
        {
          run: 1,
          status: 'failed',
          failure_reason: expect.stringMatching(/^A newer feed \(FD\d+\) has been loaded since\.$/),
          summary: nothing,
        },
      ]);
    });

    it('returns each run exactly once over all pages', async () => {
      const feed = await service.api.loadFeed(csv, 'Paged');
      for (let count = 1; count < 5; count++) await run(feed);
      const all = await runsOf(feed);
      expect(all.map((one) => one.run)).toEqual([5, 4, 3, 2, 1]);

      const seen: unknown[] = [];
      const sizes: number[] = [];
      let query = '?limit=2';
      while (query !== '') {
        const { body } = await list(feed.jobId, query);
        seen.push(...body.items);
        sizes.push(body.count);
        query = body.next_cursor === undefined ? '' : `?limit=2&cursor=${body.next_cursor}`;
      }

      expect(sizes).toEqual([2, 2, 1]);
      expect(seen).toEqual(all);
      expect((await list(feed.jobId, '?limit=5&cursor=')).body).toEqual({ count: 5, items: all });
      expect((await list(feed.jobId, '?cursor=1')).body).toEqual({ count: 0, items: [] });
    });

    it('shows a run in progress without an end, and its cancellation', async () => {
      const feed = await service.api.uploadFeed(csv, 'Cancelled');

      await whileReading(service, feed, async () => {
        expect(await runsOf(feed)).toMatchObject([
          { run: 1, status: 'running', finished_at: null, failure_reason: null, summary: null },
        ]);
        await service.api.post(`/jobs/${feed.jobId}/cancel`);
      });

      expect(await runsOf(feed)).toMatchObject([
        {
          run: 1,
          status: 'failed',
          finished_at: aTimestamp,
          failure_reason: 'The run was cancelled.',
          summary: nothing,
        },
      ]);
    });

    it('shows a run that was cancelled before it started, without start and counters', async () => {
      const feed = await service.api.loadFeed(csv, 'Dequeued');
      const queue = await withStoredKey(service, null, 'queueing');
      await queue.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async' });
      await service.api.post(`/jobs/${feed.jobId}/cancel`);
      await run(feed);

      expect(await runsOf(feed)).toEqual([
        expect.objectContaining({ run: 3, status: 'completed' }),
        {
          run: 2,
          kind: 'load',
          status: 'cancelled',
          mode: 'upsert',
          requested_by: 'queueing',
          requested_at: aTimestamp,
          started_at: null,
          finished_at: aTimestamp,
          failure_reason: null,
          summary: null,
        },
        expect.objectContaining({ run: 1, status: 'completed' }),
      ]);
      const { body } = await service.api.get(`/jobs/${feed.jobId}/changes?run=2`);
      expect(body).toMatchObject({ status: 'cancelled', message: 'The run was cancelled.', items: [] });
      expect(await service.api.post(`/jobs/${feed.jobId}/revert?run=2`)).toMatchObject({
        status: 409,
        body: {
          detail: `Run 2 of job ${feed.jobId} was cancelled and changed nothing: there is nothing to revert.`,
        },
      });
    });

    it('shows a run whose process died as failed, and the next attempt as a run of the same requester', async () => {
      const feed = await service.api.uploadFeed(csv, 'Interrupted');
      await leaveRunning(service, feed, 1, 'nightly');
      await recoverRuns(service.db);

      expect(await runsOf(feed)).toMatchObject([
        {
          run: 1,
          status: 'failed',
          finished_at: aTimestamp,
          failure_reason: 'The run was interrupted.',
          summary: nothing,
        },
      ]);
      await leaveRunning(service, feed);
      await recoverRuns(service.db);
      expect(await runsOf(feed)).toMatchObject([
        {
          run: 2,
          status: 'failed',
          requested_by: 'nightly',
          failure_reason: 'The run was interrupted. Run the job again.',
        },
        { run: 1, requested_by: 'nightly' },
      ]);
    });

    it('names the key that requested the run, to unbound keys', async () => {
      const feed = await service.api.loadFeed(csv, 'Named');
      await run(feed, '', await withStoredKey(service, null, 'back office'));
      await run(feed, '', await withStoredKey(service, 'Named', 'nightly upload'));

      expect((await runsOf(feed)).map(({ requested_by }) => requested_by)).toEqual([
        'nightly upload',
        'back office',
        'api-keys',
      ]);
    });

    it('names only keys of its partner to a bound key; all others are the operator', async () => {
      const feed = await service.api.loadFeed(csv, 'Bound');
      const own = await withStoredKey(service, 'Bound', 'own key');
      await run(feed, '', await withStoredKey(service, null, 'secret project'));
      await run(feed, '', own);
      await run(feed, '', await withStoredKey(service, 'Bound', 'other own key'));

      expect((await runsOf(feed, own)).map(({ requested_by }) => requested_by)).toEqual([
        'other own key',
        'own key',
        'operator',
        'operator',
      ]);
    });

    it('names the first requester of a queued run that another one has joined', async () => {
      const feed = await service.api.uploadFeed(csv, 'Joined');
      const respondAsync = { prefer: 'respond-async' };
      const first = await withStoredKey(service, null, 'first');
      await first.post(`/jobs/${feed.jobId}/run`, undefined, respondAsync);
      await service.api.post(`/jobs/${feed.jobId}/run`, undefined, respondAsync);
      await service.api.post(`/jobs/${feed.jobId}/run`);

      await eventually('it has run', async () => (await runsOf(feed)).length === 1);
      expect(await runsOf(feed)).toMatchObject([{ requested_by: 'first' }]);
    });

    it('has null if the requester of a run is unknown', async () => {
      const feed = await service.api.loadFeed(csv, 'Unknown requester');
      await service
        .db('runs')
        .where('job_id', Number(feed.jobId.slice(2)))
        .update({ requested_by: null, requested_at: null });
      const bound = await withStoredKey(service, 'Unknown requester', 'reader of unknown');

      expect(await runsOf(feed)).toMatchObject([{ requested_by: null, requested_at: null }]);
      expect(await runsOf(feed, bound)).toMatchObject([{ requested_by: null }]);
    });
  });

  describe('400', () => {
    it.each(['x', '0', '-1', '1.5', '01', 'JV00001', '1%00', '99999999999999999999'])(
      'rejects the cursor %s',
      async (cursor) => {
        const { jobId } = await service.api.uploadFeed(csv);

        const { status, body } = await list(jobId, `?cursor=${cursor}&limit=0`);

        expect(status).toBe(400);
        expect(body).toEqual({ detail: 'Invalid cursor value.' });
      },
    );
  });

  describe('404', () => {
    it.each(['JV99999', 'JS99999', 'JV1', 'FD00001', 'x'])('does not find the job %s', async (jobId) => {
      const { status, body } = await list(jobId);

      expect(status).toBe(404);
      expect(body).toEqual(notFound(jobId));
    });

    it('does not find the job of another partner, for a bound key', async () => {
      const { jobId } = await service.api.loadFeed(csv, 'Foreign');
      const bound = await withStoredKey(service, 'Another');

      expect(await list(jobId, '', bound)).toMatchObject({
        status: 404,
        body: notFound(jobId),
      });
    });
  });

  describe('422', () => {
    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { jobId } = await service.api.uploadFeed(csv);

      const { status, body } = await list(jobId, `?limit=${encodeURIComponent(limit)}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it('rejects a limit that is sent twice', async () => {
      const { jobId } = await service.api.uploadFeed(csv);

      expect(await list(jobId, '?limit=5&limit=5')).toMatchObject({
        status: 422,
        body: { detail: [limitTwice] },
      });
    });
  });
});
