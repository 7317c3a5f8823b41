import { setTimeout as sleep } from 'node:timers/promises';
import { endInterruptedRun, failInterruptedRuns } from '../../../src/jobs/left-runs.repository';
import { limits } from '../../../src/limits';
import { createLog } from '../../../src/log';
import { startRunWorker } from '../../../src/queue/run-worker';
import type { ApiClient, UploadedFeed } from '../../support/api-client';
import { eventually } from '../../support/eventually';
import { leaveRunning, whileLoading } from '../../support/held-run';
import { sendRaw } from '../../support/raw-request';
import { startTestService, testKey, type TestService } from '../../support/service';
import { aTimestamp } from '../../support/timestamp';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,24.50\n';

const runWith = (api: ApiClient, { jobId }: Pick<UploadedFeed, 'jobId'>, prefer: string) =>
  api.post(`/jobs/${jobId}/run`, undefined, { prefer });

/** A run that has ended, as its job says it. */
const ended = {
  status: 'completed',
  queued_at: null,
  finished_at: new Date(),
  processed: 2,
  inserted: 2,
  updated: 0,
  unchanged: 0,
  skipped: 0,
};

const jobNumber = ({ jobId }: Pick<UploadedFeed, 'jobId'>) => Number(jobId.slice(2));

describe('POST /jobs/{job_id}/run with Prefer: respond-async', () => {
  describe('where somebody works on the queue', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService({ queuedRuns: 2 });
    });

    it('answers 202 at once and says where the run can be followed; the run comes by itself', async () => {
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
      await eventually('the queue is empty', async () => {
        return (await service.db('graphile_worker.jobs').select()).length === 0;
      });
    });

    it('waits for the end, and answers as without the header', async () => {
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

    it('says that a run has failed, as without the header', async () => {
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

    it('is 409 while a run goes on, queued or not', async () => {
      const feed = await service.api.uploadFeed(csv, 'Running');

      await whileLoading(service, feed, async () => {
        const { status, body } = await runWith(service.api, feed, 'respond-async');
        expect([status, body]).toEqual([409, { detail: `Job ${feed.jobId} is already running.` }]);
      });
    });
  });

  describe('where nobody does yet', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    afterEach(() => jest.restoreAllMocks());

    const entries = () => service.db('graphile_worker.jobs').orderBy('id').select('key', 'attempts');

    it('shows the job and its feed as queued, once however often it is asked for', async () => {
      const feed = await service.api.uploadFeed(csv, 'Patient');
      await runWith(service.api, feed, 'respond-async');

      const { status, body } = await runWith(service.api, feed, 'respond-async, wait=1');

      expect(status).toBe(202);
      expect(body).toMatchObject({
        status: 'queued',
        message: 'Validation job queued. It starts by itself.',
        created_at: aTimestamp,
        started_at: null,
        finished_at: null,
        summary: null,
      });
      expect((await service.api.get(`/feeds/${feed.feedId}`)).body).toMatchObject({
        validation_status: 'queued',
        validation_message: 'Validation job queued. It starts by itself.',
      });
      expect(await entries()).toEqual([{ key: `run ${jobNumber(feed)}`, attempts: 0 }]);
    });

    it('leaves a job that is run without waiting for the queue nothing to do there', async () => {
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
    ])('runs it in the request when asked for %j: %s', async (prefer) => {
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

    it('waits no longer than it says', async () => {
      jest.replaceProperty(limits, 'jobWaitSecondsMax', 1 as never);
      const feed = await service.api.uploadFeed(csv, 'Very patient');

      const { status, headers } = await runWith(service.api, feed, 'respond-async, wait=100');

      expect([status, headers.get('preference-applied')]).toEqual([202, 'respond-async, wait=1']);
    });

    it('waits for nobody who has gone', async () => {
      const feed = await service.api.uploadFeed(csv, 'Leaves');
      const client = new AbortController();
      let looks = 0;
      const count = ({ sql }: { sql: string }) => (looks += Number(/where job_id = any/.test(sql)));
      service.pool.on('query', count);
      const answer = fetch(`${service.url}/jobs/${feed.jobId}/run`, {
        method: 'POST',
        headers: { 'x-api-key': testKey, prefer: 'respond-async, wait=50' },
        signal: client.signal,
      }).catch(() => undefined);
      await eventually('it waits', () => looks > 3);

      client.abort();
      await answer;

      await eventually('it looks no more', async () => {
        const before = looks;
        await sleep(3 * limits.jobWatchMilliseconds);
        return looks === before;
      });
      service.pool.off('query', count);
    });

    it('is not begun by a worker that has taken it, when it was cancelled or run meanwhile', async () => {
      for (const meanwhile of ['cancel', 'run']) {
        const feed = await service.api.uploadFeed(csv, `Taken and ${meanwhile}`);
        await runWith(service.api, feed, 'respond-async');
        const { body } = await service.api.post(`/jobs/${feed.jobId}/${meanwhile}`);

        expect(await service.runQueued(jobNumber(feed))).toBe('not_queued');

        expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(body);
      }
    });

    it('is another entry where a worker is about to say that it has done the one before', async () => {
      const feed = await service.api.uploadFeed(csv, 'Queued again');
      const entry = () =>
        service
          .db('graphile_worker.jobs')
          .where('key', `run ${jobNumber(feed)}`)
          .first('id', 'locked_by');
      await runWith(service.api, feed, 'respond-async');
      const before = await entry();
      await service.db.raw(
        'update graphile_worker._private_jobs set locked_by = ?, locked_at = now() where id = ?',
        ['a worker', before.id],
      );
      await service.runQueued(jobNumber(feed));

      await runWith(service.api, feed, 'respond-async');

      const after = await entry();
      expect(after.locked_by).toBeNull();
      expect(after.id).not.toBe(before.id);
    });

    it("is known to be somebody's while it waits for its turn there", async () => {
      jest.replaceProperty(limits, 'queuedRunSignMilliseconds', 50 as never);
      const feed = await service.api.uploadFeed(csv, 'Waits for its turn');
      let begin: (outcome: 'not_queued') => void = () => undefined;
      const turn = new Promise<'not_queued'>((resolve) => (begin = resolve));
      const worker = startRunWorker(service.address, {
        db: service.db,
        runner: {
          async runQueued(jobId) {
            if (jobId !== jobNumber(feed)) return service.runQueued(jobId);
            await turn;
            return service.runQueued(jobId);
          },
        },
        log: createLog('fatal'),
        concurrentRuns: 2,
        shutdownSeconds: 10,
      });
      await runWith(service.api, feed, 'respond-async');
      const takenAt = async () =>
        (
          await service
            .db('graphile_worker.jobs')
            .where('key', `run ${jobNumber(feed)}`)
            .first('locked_at')
        )?.locked_at as Date | null | undefined;
      const first = await eventually('it is taken', async () => (await takenAt()) ?? false);

      await eventually('it gives a sign', async () => (await takenAt())! > first);

      begin('not_queued');
      await eventually('it has run', async () => {
        return (await service.api.get(`/jobs/${feed.jobId}`)).body.status === 'completed';
      });
      await worker.stop();
    });

    it('is 404 for an unknown job, and 400 for a submission job', async () => {
      const feed = await service.api.uploadFeed(csv, 'Wrong');

      expect((await runWith(service.api, { jobId: 'JV99999' }, 'respond-async')).status).toBe(404);
      expect((await runWith(service.api, { jobId: feed.submissionJobId }, 'respond-async')).status).toBe(400);
    });

    describe('and a worker has died', () => {
      const waitsSince = (feed: UploadedFeed, secondsAgo: number) =>
        service.db.raw(
          `update validation_jobs set queued_at = now() - ? * interval '1 second' where job_id = ?`,
          [secondsAgo, jobNumber(feed)],
        );

      /** Has the run, and with it its partner's turn, taken from the queue by a worker of which nothing more is heard. */
      async function take(feed: UploadedFeed, { attempts = 1, secondsAgo = 0 }): Promise<void> {
        await service.db.raw(
          `with job as (
             update graphile_worker._private_jobs
             set locked_by = :worker, locked_at = now() - :secondsAgo * interval '1 second', attempts = :attempts
             where key = :key returning job_queue_id, locked_by, locked_at
           )
           update graphile_worker._private_job_queues as queue
           set locked_by = job.locked_by, locked_at = job.locked_at from job where queue.id = job.job_queue_id`,
          { worker: `worker of ${feed.jobId}`, secondsAgo, attempts, key: `run ${jobNumber(feed)}` },
        );
      }
      const partnersThatWait = async () => {
        const { rows } = await service.db.raw<{ rows: { queue_name: string }[] }>(
          'select queue_name from graphile_worker._private_job_queues where locked_by is not null',
        );
        return rows.map(({ queue_name }) => queue_name);
      };
      const lockOf = async (feed: UploadedFeed) =>
        (
          await service
            .db('graphile_worker.jobs')
            .where('key', `run ${jobNumber(feed)}`)
            .first('locked_by')
        )?.locked_by;

      it('amid a run: it goes back into the queue', async () => {
        const feed = await service.api.uploadFeed(csv, 'Interrupted');
        await runWith(service.api, feed, 'respond-async');
        await take(feed, {});
        await leaveRunning(service, feed);

        expect(await failInterruptedRuns(service.db)).not.toContain(jobNumber(feed));

        const { body } = await service.api.get(`/jobs/${feed.jobId}`);
        expect(body).toMatchObject({ status: 'queued', started_at: null });
        expect(await lockOf(feed)).toBeNull();
        expect(await partnersThatWait()).toEqual([]);
      });

      it('amid a run for the last time that it is tried: it has failed', async () => {
        const feed = await service.api.uploadFeed(csv, 'Poisoned');
        await runWith(service.api, feed, 'respond-async');
        await take(feed, { attempts: 5 });
        await leaveRunning(service, feed);

        expect(await failInterruptedRuns(service.db)).toContain(jobNumber(feed));

        const { body } = await service.api.get(`/jobs/${feed.jobId}`);
        expect(body.status).toBe('failed');
        expect(body.message).toContain('The run was interrupted.');
        expect(await partnersThatWait()).toEqual([]);
      });

      it('before it could begin: it goes back into the queue when it is overdue', async () => {
        const feed = await service.api.uploadFeed(csv, 'Not begun');
        await runWith(service.api, feed, 'respond-async');
        await waitsSince(feed, 60);
        await take(feed, { secondsAgo: 5 });
        await failInterruptedRuns(service.db);
        expect(await lockOf(feed)).toBe(`worker of ${feed.jobId}`);

        await take(feed, { secondsAgo: 31 });
        await failInterruptedRuns(service.db);

        expect(await lockOf(feed)).toBeNull();
        expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('queued');
      });

      it.each([
        ['is queued again', 'respond-async'],
        ['is run without the queue', ''],
      ])(
        'amid a run, and the job %s before anybody has looked: its partner goes on',
        async (what, prefer) => {
          const feed = await service.api.uploadFeed(csv, what);
          await runWith(service.api, feed, 'respond-async');
          await take(feed, { secondsAgo: 31 });
          await leaveRunning(service, feed);

          const { status } = await runWith(service.api, feed, prefer);

          expect(status).toBe(prefer === '' ? 200 : 202);
          await failInterruptedRuns(service.db);
          expect(await partnersThatWait()).toEqual([]);
          expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe(
            prefer === '' ? 'completed' : 'queued',
          );
        },
      );

      it('or seems to have, but gives signs: it keeps its run and its turn, and so does one that is about to say its run is done', async () => {
        const [taken, done] = [
          await service.api.uploadFeed(csv, 'Slow to begin'),
          await service.api.uploadFeed(csv, 'About to say'),
        ];
        for (const feed of [taken, done]) await runWith(service.api, feed, 'respond-async');
        await waitsSince(taken, 60);
        await service.runQueued(jobNumber(done));
        for (const feed of [taken, done]) await take(feed, { secondsAgo: 10 });
        await service.db('validation_jobs').where('job_id', jobNumber(done)).update(ended);

        await failInterruptedRuns(service.db);
        // Whoever looks had seen it running a moment before.
        await endInterruptedRun(service.db, jobNumber(done));

        for (const feed of [taken, done]) expect(await lockOf(feed)).toBe(`worker of ${feed.jobId}`);
        expect(await partnersThatWait()).toHaveLength(2);
        const workers = [taken, done].map(({ jobId }) => `worker of ${jobId}`);
        await service.db.raw('select graphile_worker.force_unlock_workers(:workers)', { workers });
      });

      it('and another one took its run as well: the turn of its partner is not lost', async () => {
        const feed = await service.api.uploadFeed(csv, 'Taken twice');
        await runWith(service.api, feed, 'respond-async');
        await take(feed, { secondsAgo: 31 });
        // The first one says that it is done.
        await service
          .db('graphile_worker._private_jobs')
          .where('key', `run ${jobNumber(feed)}`)
          .delete();
        await service.db('validation_jobs').where('job_id', jobNumber(feed)).update(ended);

        await failInterruptedRuns(service.db);

        expect(await partnersThatWait()).toEqual([]);
      });

      it.each([
        ['the queue has given it up', { attempts: 5, secondsAgo: 31 }],
        ['the queue has lost it', undefined],
      ])('%s: it has failed, and can be queued again', async (what, state) => {
        // The issues of an earlier run are none of one that never was.
        const feed = await service.api.loadFeed(`${csv},No sku,1\n`, what);
        await runWith(service.api, feed, 'respond-async');
        if (state) await take(feed, { ...state, secondsAgo: 5 });
        else await service.db.raw('select graphile_worker.remove_job(?)', [`run ${jobNumber(feed)}`]);
        expect(await failInterruptedRuns(service.db)).not.toContain(jobNumber(feed));
        await waitsSince(feed, 31);
        if (state) await take(feed, state);

        expect(await failInterruptedRuns(service.db)).toContain(jobNumber(feed));

        const { body } = await service.api.get(`/jobs/${feed.jobId}`);
        expect(body).toMatchObject({ status: 'failed', started_at: null, finished_at: aTimestamp });
        expect(body.message).toContain('The run could not be started. Run the job again.');
        expect((await service.api.get(`/jobs/${feed.jobId}/issues`)).body).toMatchObject({
          count: 0,
          items: [],
          issue_counts: [],
        });
        expect(await partnersThatWait()).toEqual([]);
        expect((await runWith(service.api, feed, 'respond-async')).status).toBe(202);
        expect(await failInterruptedRuns(service.db)).not.toContain(jobNumber(feed));
      });
    });
  });
});
