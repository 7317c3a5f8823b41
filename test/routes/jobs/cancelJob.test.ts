import { cancelLimits } from '../../../src/runs/cancel.service';
import type { ApiResponse, UploadedFeed } from '../../support/api-client';
import { recoverRuns } from '../../../src/runs/queue/recovery';
import { startRun } from '../../../src/runs/queue/claims.repository';
import { eventually } from '../../support/harness';
import { aTimestamp } from '../../support/expectations';
import { HeldProducts, leaveRunning, whileLoading, whileReading } from '../../support/runs-in-flight';
import { storedFeed } from '../../support/stored-uploads';
import { withStoredKey, startTestService, type TestService } from '../../support/service';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,24.50\n';
const noRows = 'Products processed: 0. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 0.';
const cancelled = {
  status: 'failed',
  message: `ETL processing failed: The run was cancelled. ${noRows}`,
  result: noRows,
  finished_at: aTimestamp,
  summary: { processed: 0, inserted: 0, updated: 0, unchanged: 0, skipped: 0, withdrawn: 0, restored: 0 },
  issue_counts: [],
};

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const cancel = ({ jobId }: Pick<UploadedFeed, 'jobId'>) => service.api.post(`/jobs/${jobId}/cancel`);
const run = ({ jobId }: UploadedFeed, prefer = '') =>
  service.api.post(`/jobs/${jobId}/run`, undefined, { prefer });
const revert = ({ jobId }: UploadedFeed, prefer = '') =>
  service.api.post(`/jobs/${jobId}/revert?run=1`, undefined, { prefer });
const lastRunOf = async ({ jobId }: UploadedFeed) =>
  (await service.api.get(`/jobs/${jobId}/runs`)).body.items[0] as { status: string };
const jobNumber = ({ jobId }: Pick<UploadedFeed, 'jobId'>) => Number(jobId.slice(2));
const stateOf = async ({ jobId, feedId }: UploadedFeed) => {
  const [job, feed, issues] = await Promise.all(
    [`/jobs/${jobId}`, `/feeds/${feedId}`, `/jobs/${jobId}/issues`].map((path) => service.api.get(path)),
  );
  return { job: job!.body, feed: feed!.body, issues: issues!.body.items as unknown[] };
};
const productsOf = async (partnerName: string) =>
  (await service.api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`)).body
    .items as unknown[];
const queued = () => service.db('runs').where('status', 'queued').pluck<number[]>('job_id');

const told = (feed: UploadedFeed) =>
  eventually('the cancellation is requested', async () => {
    const run = await service
      .db('runs')
      .where({ job_id: jobNumber(feed), status: 'running' })
      .first('cancel_requested');
    return run?.cancel_requested === true;
  });

describe('POST /jobs/{job_id}/cancel', () => {
  describe('200', () => {
    it('dequeues a first run, and leaves the job as it was before the request', async () => {
      const feed = await service.api.uploadFeed(csv, 'Queued');
      const before = await stateOf(feed);
      await run(feed, 'respond-async');
      expect((await stateOf(feed)).job.queued_at).toEqual(aTimestamp);

      const { status, body } = await cancel(feed);

      expect([status, body]).toEqual([200, before.job]);
      expect(await queued()).not.toContain(jobNumber(feed));
      expect(await stateOf(feed)).toEqual(before);
      await recoverRuns(service.db);
      expect(await stateOf(feed)).toEqual(before);
      expect((await run(feed)).body).toMatchObject({ status: 'completed', summary: { inserted: 2 } });
    });

    it.each([
      ['completed', `${csv}ROPE-3,Rope,NA\n`],
      ['failed', `${csv}ROPE-3,Rope,"\n`],
    ])('keeps the results and issues of the last run, which has %s', async (state, file) => {
      const feed = await service.api.loadFeed(file, `Was ${state}`);
      const before = await stateOf(feed);
      expect([before.job.status, before.issues.length]).toEqual([state, expect.any(Number)]);
      await run(feed, 'respond-async');

      const { status, body } = await cancel(feed);

      expect([status, body]).toEqual([200, before.job]);
      expect(await stateOf(feed)).toEqual(before);
    });

    it('keeps the results of the run before if attempts of the queued one were interrupted', async () => {
      const feed = await service.api.loadFeed(`${csv}ROPE-3,Rope,NA\n`, 'Interrupted');
      const before = await stateOf(feed);
      await run(feed, 'respond-async');
      await leaveRunning(service, feed, 1);
      await recoverRuns(service.db);

      expect((await cancel(feed)).body).toEqual(before.job);

      expect(await stateOf(feed)).toEqual(before);
      const { body } = await service.api.get(`/jobs/${feed.jobId}/runs`);
      expect((body.items as { status: string }[]).map(({ status }) => status)).toEqual([
        'cancelled',
        'failed',
        'completed',
      ]);
    });

    it('dequeues a revert, whose client gets 409, and leaves the job as its last load left it', async () => {
      const feed = await service.api.loadFeed(`${csv}ROPE-3,Rope,NA\n`, 'Queued revert');
      const before = await stateOf(feed);
      const waiting = revert(feed, 'respond-async, wait=60');
      await eventually('it is queued', async () => (await lastRunOf(feed)).status === 'queued');

      expect(await cancel(feed)).toMatchObject({ status: 200, body: before.job });

      const { status, body } = await waiting;
      expect([status, body]).toEqual([
        409,
        { detail: `The run of job ${feed.jobId} was cancelled before it started.` },
      ]);
      expect(await stateOf(feed)).toEqual(before);
      const state = { kind: 'revert', status: 'cancelled', started_at: null, finished_at: aTimestamp };
      expect(await lastRunOf(feed)).toMatchObject({ ...state, failure_reason: null, summary: null });
      expect((await cancel(feed)).status).toBe(409);
      expect((await revert(feed)).body).toMatchObject({ run: 3, status: 'completed' });
    });

    it('cancels the running statement of a revert, which changes neither products nor the job', async () => {
      const feed = await service.api.loadFeed(csv, 'Reverted');
      const before = { ...(await stateOf(feed)), products: await productsOf('Reverted') };
      const { partner_id } = await storedFeed(service, feed.feedId);
      const { answer } = await service.db.transaction(async (trx) => {
        await trx('partners').where({ partner_id }).forUpdate().select('partner_id');
        const started = revert(feed);
        await eventually('it is running', async () => (await lastRunOf(feed)).status === 'running');

        expect(await cancel(feed)).toMatchObject({ status: 200, body: before.job });
        return { answer: started };
      });

      const counters = { updated: 0, withdrawn: 0 };
      expect((await answer).body).toMatchObject({ run: 2, status: 'failed', summary: counters });
      const failed = { run: 2, status: 'failed', failure_reason: 'The run was cancelled.' };
      expect(await lastRunOf(feed)).toMatchObject(failed);
      expect({ ...(await stateOf(feed)), products: await productsOf('Reverted') }).toEqual(before);
      expect((await revert(feed)).body).toMatchObject({ run: 3, status: 'completed' });
    });

    it('ends a revert whose process died', async () => {
      const feed = await service.api.loadFeed(csv, 'Orphaned revert');
      await revert(feed, 'respond-async');
      await startRun(service.db, { jobId: jobNumber(feed), run: 2 });

      expect((await cancel(feed)).status).toBe(200);

      expect(await lastRunOf(feed)).toMatchObject({
        status: 'failed',
        failure_reason: 'The run was cancelled.',
      });
      expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [] });
    });

    it('cancels the running statement of a run, whose changes are rolled back', async () => {
      await service.api.loadFeed(csv, 'Statement');
      const before = await productsOf('Statement');
      const feed = await service.api.uploadFeed(
        'sku,product_name\nTENT-2,Another tent\nROPE-3,Rope\n',
        'Statement',
      );
      const held = await HeldProducts.of(service.address);
      const { answer } = await held.run(service.api, feed);

      const { status, body } = await cancel(feed);

      expect([status, body]).toEqual([
        200,
        expect.objectContaining({ ...cancelled, started_at: aTimestamp }),
      ]);
      expect(await answer).toMatchObject({ status: 200, body });
      await held.release();
      expect(await productsOf('Statement')).toEqual(before);
      expect((await service.api.get(`/feeds/${feed.feedId}`)).body.status).toBe('failed');
    });

    it('cancels a run that waits for another run of its partner', async () => {
      const feed = await service.api.uploadFeed(csv, 'Waiting');
      let answer: ApiResponse | undefined;

      const ofRun = await whileLoading(service, feed, async () => {
        answer = await cancel(feed);
      });

      expect(answer).toMatchObject({ status: 200, body: cancelled });
      expect(ofRun).toMatchObject({ status: 200, body: answer!.body });
      expect(await productsOf('Waiting')).toEqual([]);
    });

    it('cancels a run that reads its file', async () => {
      const feed = await service.api.uploadFeed(csv, 'Reading');
      let answer: Promise<ApiResponse> | undefined;

      const ofRun = await whileReading(service, feed, async () => {
        answer = cancel(feed);
        await told(feed);
      });

      expect(await answer).toMatchObject({ status: 200, body: cancelled });
      expect(ofRun).toMatchObject({ status: 200, body: (await answer)!.body });
      expect(await productsOf('Reading')).toEqual([]);
    });

    it('ends an orphaned run, which is not repeated', async () => {
      const feed = await service.api.uploadFeed(csv, 'Dead');
      await run(feed, 'respond-async');
      await leaveRunning(service, feed);

      expect(await cancel(feed)).toMatchObject({ status: 200, body: cancelled });

      expect(await queued()).not.toContain(jobNumber(feed));
      await recoverRuns(service.db);
      expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toMatchObject(cancelled);
    });

    it('applies to a run whose process dies before it stops', async () => {
      const feed = await service.api.uploadFeed(csv, 'Dies');
      await run(feed, 'respond-async');
      await leaveRunning(service, feed);
      await service.db('runs').where('job_id', jobNumber(feed)).update({ cancel_requested: true });

      expect((await recoverRuns(service.db)).failed).toContain(jobNumber(feed));

      expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toMatchObject(cancelled);
      expect(await queued()).not.toContain(jobNumber(feed));
    });

    it('the job can be run again at once', async () => {
      const feed = await service.api.uploadFeed(csv, 'Again');
      await whileLoading(service, feed, async () => {
        await cancel(feed);
      });

      const { body } = await run(feed);

      expect(body).toMatchObject({ status: 'completed', summary: { inserted: 2 } });
    });

    it('has the same response for concurrent cancellations', async () => {
      const feed = await service.api.uploadFeed(csv, 'At once');
      let responses: ApiResponse[] = [];

      await whileLoading(service, feed, async () => {
        responses = await Promise.all(Array.from({ length: 5 }, () => cancel(feed)));
      });

      // Later ones find no run.
      for (const { status, body } of responses) {
        if (status !== 409) expect([status, body]).toEqual([200, expect.objectContaining(cancelled)]);
      }
      expect(responses.map(({ status }) => status)).toContain(200);
    });

    it('does not affect other runs', async () => {
      const feed = await service.api.uploadFeed(csv, 'One');
      const other = await service.api.uploadFeed(csv, 'Other');
      await run(feed, 'respond-async');
      await run(other, 'respond-async');

      await cancel(feed);

      expect((await service.api.get(`/jobs/${other.jobId}`)).body.status).toBe('queued');
      expect(await queued()).toContain(jobNumber(other));
    });
  });

  describe('202', () => {
    it('is returned if the run does not stop in time; it stops later', async () => {
      jest.replaceProperty(cancelLimits, 'waitMilliseconds', 0);
      const feed = await service.api.uploadFeed(csv, 'Slow');

      const ofRun = await whileReading(service, feed, async () => {
        const { status, headers, body } = await cancel(feed);
        expect([status, body.status]).toEqual([202, 'running']);
        expect(headers.get('location')).toBe(`/jobs/${feed.jobId}`);
        expect(headers.get('retry-after')).toBe('1');
        const stopped = () => eventually('the cancellation is requested', () => told(feed));
        await stopped();
      });

      expect(ofRun).toMatchObject({ status: 200, body: cancelled });
    });
  });

  describe('400', () => {
    it('rejects a submission job', async () => {
      const { submissionJobId } = await service.api.uploadFeed(csv);

      const { status, body } = await cancel({ jobId: submissionJobId });

      expect([status, body]).toEqual([400, { detail: 'Only validation jobs can be cancelled' }]);
    });

    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.post('/jobs/%E0%A4%A/cancel');

      expect([status, body]).toEqual([400, { detail: 'Malformed request path.' }]);
    });
  });

  describe('404', () => {
    it.each(['JV99999', 'JS99999', 'JV1', 'x'])('does not find the job %s', async (jobId) => {
      const { status, body } = await cancel({ jobId });

      expect([status, body.error_code]).toEqual([404, 'JOB_NOT_FOUND']);
    });

    it("does not affect another partner's run", async () => {
      const feed = await service.api.uploadFeed(csv, 'Owner');
      await run(feed, 'respond-async');
      const limited = await withStoredKey(service, 'Another partner');

      expect((await limited.post(`/jobs/${feed.jobId}/cancel`)).status).toBe(404);

      expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('queued');
    });
  });

  describe('409', () => {
    it.each(['not run yet', 'completed', 'failed', 'cancelled'])(
      'rejects a job that is %s',
      async (state) => {
        const feed = await service.api.uploadFeed(state === 'failed' ? `${csv}"` : csv, `Is ${state}`);
        if (state === 'completed' || state === 'failed') await run(feed);
        if (state === 'cancelled') {
          await run(feed, 'respond-async');
          await cancel(feed);
        }
        const before = (await service.api.get(`/jobs/${feed.jobId}`)).body as unknown;

        const { status, body } = await cancel(feed);

        expect([status, body]).toEqual([409, { detail: `Job ${feed.jobId} has no run to cancel.` }]);
        expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(before);
      },
    );
  });
});
