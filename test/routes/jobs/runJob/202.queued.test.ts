import { setTimeout as sleep } from 'node:timers/promises';
import { recoverRuns } from '../../../../src/runs/queue/recovery';
import type { ApiClient, UploadedFeed } from '../../../support/api-client';
import { eventually } from '../../../support/harness';
import { aTimestamp } from '../../../support/expectations';
import { leaveRunning, whileLoading } from '../../../support/runs-in-flight';
import { sendRaw } from '../../../support/requests';
import { startTestService, testKey, type TestService } from '../../../support/service';
import { jobPollMilliseconds, jobWaitLimits } from '../../../../src/runs/jobs/job-changes';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,24.50\n';

const runWith = (api: ApiClient, { jobId }: Pick<UploadedFeed, 'jobId'>, prefer: string) =>
  api.post(`/jobs/${jobId}/run`, undefined, { prefer });

const jobNumber = ({ jobId }: Pick<UploadedFeed, 'jobId'>) => Number(jobId.slice(2));

/** Jobs with a queued or running run, by position. */
const inQueue = ({ db }: TestService) =>
  db('runs').whereIn('status', ['queued', 'running']).orderBy('requested_at').pluck<number[]>('job_id');

describe('POST /jobs/{job_id}/run with Prefer: respond-async', () => {
  describe('with a queue worker', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService({ queuedRuns: 2 });
    });

    it('returns 202 at once with the location of the job; the run starts automatically', async () => {
      const feed = await service.api.uploadFeed(csv, 'Queued');

      const { status, headers, body } = await runWith(service.api, feed, 'respond-async');

      expect(status).toBe(202);
      expect(headers.get('location')).toBe(`/jobs/${feed.jobId}`);
      expect(headers.get('retry-after')).toBe('1');
      expect(headers.get('preference-applied')).toBe('respond-async');
      expect(body).toMatchObject({ job_id: feed.jobId, feed_id: feed.feedId, job_type: 'validation' });
      await eventually('the run has ended', async () => {
        const job = (await service.api.get(headers.get('location')!)).body;
        return job.status === 'completed' && job.summary.inserted === 2;
      });
      expect(await inQueue(service)).toEqual([]);
    });

    it('waits for the end and responds as without the header', async () => {
      const feed = await service.api.uploadFeed(csv, 'Waited for');

      const { status, headers, body } = await runWith(service.api, feed, 'respond-async, wait=30');

      expect([status, body.status, body.summary.inserted]).toEqual([200, 'completed', 2]);
      expect(headers.has('preference-applied')).toBe(false);
      expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(body);
    });

    it('reads the preferences of several header lines as one list', async () => {
      const feed = await service.api.uploadFeed(csv, 'Several lines');

      const { status, headers } = await sendRaw(service.url, {
        method: 'POST',
        path: `/jobs/${feed.jobId}/run`,
        headers: { 'x-api-key': testKey, prefer: ['note="a, b"', 'respond-async'] },
      });

      expect([status, headers['preference-applied']]).toEqual([202, 'respond-async']);
    });

    it('runs the job at once when respond-async is only in the value of another preference', async () => {
      const feed = await service.api.uploadFeed(csv, 'In a note');

      const { status, body } = await runWith(service.api, feed, 'note="x, respond-async, y"');

      expect([status, body.status]).toEqual([200, 'completed']);
    });

    it('reports a failed run as without the header', async () => {
      const feed = await service.api.uploadFeed(`${csv}"`, 'Broken');

      const { status, body } = await runWith(service.api, feed, 'respond-async, wait=30');

      expect([status, body.status]).toEqual([200, 'failed']);
      expect(body.message).toContain('is never closed');
    });

    it('runs a job again, any number of times', async () => {
      const feed = await service.api.uploadFeed(csv, 'Again');

      for (const inserted of [2, 0, 0]) {
        const { body } = await runWith(service.api, feed, 'respond-async, wait=30');
        expect(body).toMatchObject({ status: 'completed', summary: { processed: 2, inserted } });
      }
    });

    it('runs the feeds of a partner in the order in which they were queued, one at a time', async () => {
      const feeds: UploadedFeed[] = [];
      for (let at = 0; at < 6; at++) {
        feeds.push(await service.api.uploadFeed(`sku,product_name\nA,Tent ${at}\n`, 'In order'));
      }
      for (const feed of feeds) await runWith(service.api, feed, 'respond-async');

      const last = await runWith(service.api, feeds.at(-1)!, 'respond-async, wait=30');

      expect(last.body.status).toBe('completed');
      const jobs = await Promise.all(
        feeds.map(async ({ jobId }) => (await service.api.get(`/jobs/${jobId}`)).body),
      );
      const times = jobs.flatMap(({ started_at, finished_at }) => [started_at, finished_at] as string[]);
      expect(times).toEqual(times.toSorted());
      const { body } = await service.api.get('/products?partner_name=In order');
      expect(body.items).toMatchObject([{ product_name: 'Tent 5' }]);
    });

    it('is 409 while a run is in progress, queued or not', async () => {
      const feed = await service.api.uploadFeed(csv, 'Running');

      await whileLoading(service, feed, async () => {
        const { status, body } = await runWith(service.api, feed, 'respond-async');
        expect([status, body]).toEqual([409, { detail: `Job ${feed.jobId} is already running.` }]);
      });
    });
  });

  describe('without a queue worker', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    it('queues the job and its feed once for repeated requests', async () => {
      const feed = await service.api.uploadFeed(csv, 'Patient');
      await runWith(service.api, feed, 'respond-async');

      const { status, body } = await runWith(service.api, feed, 'respond-async, wait=1');

      expect(status).toBe(202);
      expect(body).toMatchObject({
        status: 'queued',
        message: 'Validation job queued. It starts automatically.',
        created_at: aTimestamp,
        started_at: null,
        finished_at: null,
        summary: null,
      });
      expect((await service.api.get(`/feeds/${feed.feedId}`)).body).toMatchObject({
        validation_status: 'queued',
        validation_message: 'Validation job queued. It starts automatically.',
      });
      expect(await inQueue(service)).toEqual([jobNumber(feed)]);
    });

    it('dequeues a job that is run synchronously', async () => {
      const feed = await service.api.uploadFeed(csv, 'Impatient');
      await runWith(service.api, feed, 'respond-async');

      const { status, body } = await service.api.post(`/jobs/${feed.jobId}/run`);

      expect([status, body.status]).toEqual([200, 'completed']);
      expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('completed');
    });

    it.each([
      ['return=minimal', 'another preference'],
      ['respond-asynchronously', 'what only begins like it'],
      ['wait=1', 'a wait alone'],
      ['', 'none'],
      [',;=,', 'nonsense'],
    ])('runs the job in the request for %j: %s', async (prefer) => {
      const feed = await service.api.uploadFeed(csv, `Prefers ${prefer}`);

      const { status, body } = await runWith(service.api, feed, prefer);

      expect([status, body.status]).toEqual([200, 'completed']);
    });

    it.each([
      ['Respond-Async', 'respond-async'],
      ['return=minimal, respond-async; strictly', 'respond-async'],
      ['wait=0, respond-async', 'respond-async, wait=0'],
      ['respond-async, wait = "1"', 'respond-async, wait=1'],
      ['respond-async, wait=1, wait=100', 'respond-async, wait=1'],
      ['respond-async, wait=soon', 'respond-async'],
      ['respond-async, wait=-1', 'respond-async'],
    ])('understands %j', async (prefer, applied) => {
      const feed = await service.api.uploadFeed(csv, 'Understood');

      const { status, headers } = await runWith(service.api, feed, prefer);

      expect([status, headers.get('preference-applied')]).toEqual([202, applied]);
    });

    it('waits no longer than preferred', async () => {
      jest.replaceProperty(jobWaitLimits, 'secondsMax', 1);
      const feed = await service.api.uploadFeed(csv, 'Very patient');

      const { status, headers } = await runWith(service.api, feed, 'respond-async, wait=100');

      expect([status, headers.get('preference-applied')]).toEqual([202, 'respond-async, wait=1']);
    });

    it('stops waiting when the client disconnects', async () => {
      const feed = await service.api.uploadFeed(csv, 'Leaves');
      const client = new AbortController();
      let looks = 0;
      const count = ({ sql }: { sql: string }) => (looks += Number(/where job_id = any/.test(sql)));
      service.pool.on('query', count);
      const response = fetch(`${service.url}/jobs/${feed.jobId}/run`, {
        method: 'POST',
        headers: { 'x-api-key': testKey, prefer: 'respond-async, wait=50' },
        signal: client.signal,
      }).catch(() => undefined);
      await eventually('it waits', () => looks > 3);

      client.abort();
      await response;

      await eventually('it looks no more', async () => {
        const before = looks;
        await sleep(3 * jobPollMilliseconds);
        return looks === before;
      });
      service.pool.off('query', count);
    });

    it.each(['a first run', 'a run of a completed job'])(
      'is 409 for %s that is cancelled while its client waits',
      async (which) => {
        const feed = await service.api.uploadFeed(csv, `Waits for ${which}`);
        if (which !== 'a first run') await service.api.post(`/jobs/${feed.jobId}/run`);
        const response = runWith(service.api, feed, 'respond-async, wait=60');
        await eventually('it is queued', async () => (await inQueue(service)).includes(jobNumber(feed)));

        await service.api.post(`/jobs/${feed.jobId}/cancel`);

        const { status, body } = await response;
        expect([status, body]).toEqual([
          409,
          { detail: `The run of job ${feed.jobId} was cancelled before it started.` },
        ]);
      },
    );

    it('does not start a claimed run that was cancelled or run meanwhile', async () => {
      for (const meanwhile of ['cancel', 'run']) {
        const feed = await service.api.uploadFeed(csv, `Taken and ${meanwhile}`);
        await runWith(service.api, feed, 'respond-async');
        const { body } = await service.api.post(`/jobs/${feed.jobId}/${meanwhile}`);

        expect(await service.runClaimed(jobNumber(feed))).toBe('not_claimed');

        expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(body);
      }
    });

    it('keeps its position when it is requested again', async () => {
      const [first, second] = [
        await service.api.uploadFeed(csv, 'Keeps its place'),
        await service.api.uploadFeed(csv, 'Keeps its place'),
      ];
      for (const feed of [first, second, first]) await runWith(service.api, feed, 'respond-async');

      expect((await inQueue(service)).slice(-2)).toEqual([first, second].map(jobNumber));
    });

    it('is 404 for an unknown job, and 400 for a submission job', async () => {
      const feed = await service.api.uploadFeed(csv, 'Wrong');

      expect((await runWith(service.api, { jobId: 'JV99999' }, 'respond-async')).status).toBe(404);
      expect((await runWith(service.api, { jobId: feed.submissionJobId }, 'respond-async')).status).toBe(400);
    });

    describe('and an orphaned run', () => {
      const stateOf = async ({ jobId, feedId }: UploadedFeed) => [
        (await service.api.get(`/jobs/${jobId}`)).body.status as string,
        (await service.api.get(`/feeds/${feedId}`)).body.status as string,
      ];

      it('is requeued at its position, as job and feed show', async () => {
        const feed = await service.api.uploadFeed(csv, 'Interrupted');
        const next = await service.api.uploadFeed(csv, 'Interrupted');
        await runWith(service.api, feed, 'respond-async');
        await runWith(service.api, next, 'respond-async');
        await leaveRunning(service, feed, 4);
        expect(await stateOf(feed)).toEqual(['running', 'validating']);

        const { failed, requeued } = await recoverRuns(service.db);

        expect([failed, requeued]).toEqual([[], [jobNumber(feed)]]);
        expect(await stateOf(feed)).toEqual(['queued', 'processing']);
        expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toMatchObject({
          started_at: null,
          message: 'Validation job queued. It starts automatically.',
        });
        expect((await inQueue(service)).slice(-2)).toEqual([feed, next].map(jobNumber));
      });

      it('fails without attempts left, and can be queued again', async () => {
        const feed = await service.api.loadFeed(`${csv},No sku,1\n`, 'Poisoned');
        await runWith(service.api, feed, 'respond-async');
        await leaveRunning(service, feed, 0);

        expect((await recoverRuns(service.db)).failed).toEqual([jobNumber(feed)]);

        const { body } = await service.api.get(`/jobs/${feed.jobId}`);
        expect(body.status).toBe('failed');
        expect(body.message).toContain('The run was interrupted. Run the job again.');
        expect((await service.api.get(`/jobs/${feed.jobId}/issues`)).body).toMatchObject({
          count: 0,
          items: [],
          issue_counts: [],
        });
        expect(await inQueue(service)).not.toContain(jobNumber(feed));
        expect((await runWith(service.api, feed, 'respond-async')).status).toBe(202);
        expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [] });
      });

      it.each([
        ['is queued again', 'respond-async', 202, 'queued'],
        ['is run while its client waits', '', 200, 'completed'],
      ])('and the job %s before its recovery', async (what, prefer, status, end) => {
        const feed = await service.api.uploadFeed(csv, what);
        await runWith(service.api, feed, 'respond-async');
        await leaveRunning(service, feed, 4);

        expect((await runWith(service.api, feed, prefer)).status).toBe(status);

        expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [] });
        expect((await stateOf(feed))[0]).toBe(end);
      });
    });
  });
});
