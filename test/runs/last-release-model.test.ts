import fc from 'fast-check';
import { inTransaction } from '../../src/base/db/transaction';
import { failedCounters } from '../../src/runs/etl/run-result';
import { startRun } from '../../src/runs/queue/claims.repository';
import { requestCancel } from '../../src/runs/queue/cancel.repository';
import { findPendingRun, type PendingRun } from '../../src/runs/queue/pending-runs.repository';
import { recoverRuns } from '../../src/runs/queue/recovery';
import { completeRun, failRun } from '../../src/runs/queue/run-ends.repository';
import { ServiceError } from '../../src/base/errors';
import { casesFor } from '../support/fuzz';
import { requestRunOf, withdraw } from '../support/requested-runs';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** The statements of release 1.2.0 on the row of a job. */
const cleared = `progress = null, cancel_requested = false, finished_at = null, failure_reason = null, processed = null,
  inserted = null, updated = null, unchanged = null, skipped = null`;
const failed = `status = 'failed', queued_at = null, finished_at = clock_timestamp(), progress = null,
  cancel_requested = false, failure_reason = 'It failed.', processed = 0, inserted = 0, updated = 0, unchanged = 0, skipped = 0`;
const earlier = {
  queue: `status = 'queued', queued_at = now(), started_at = null, ${cleared}`,
  start: `status = 'running', run_count = run_count + 1, queued_at = null, started_at = now(), ${cleared}`,
  complete: `status = 'completed', finished_at = clock_timestamp(), progress = null, processed = 3, inserted = 1, updated = 1,
    unchanged = 1, skipped = 0`,
  fail: failed,
  cancelQueued: failed,
  cancelRunning: 'cancel_requested = true',
};

const inRequest = <T>(work: Parameters<typeof inTransaction<T>>[2]) =>
  inTransaction(service.db, 'request', work);
const byEarlier = (part: keyof typeof earlier, jobId: number) =>
  service.db.raw(`update validation_jobs set ${earlier[part]} where job_id = ?`, [jobId]);

const isRefused = (error: unknown) => {
  if (!(error instanceof ServiceError)) throw error;
};

/** Steps that a process takes at any time. */
const anyTime: Record<string, (jobId: number) => PromiseLike<unknown>> = {
  '1.2.0: start': (jobId) => byEarlier('start', jobId),
  request: (jobId) => requestRunOf(service.db, jobId, { attempts: 2 }).catch(isRefused),
  'request revert': (jobId) =>
    requestRunOf(service.db, jobId, { attempts: 1, reverts: { run: 1, skipsConflicts: false } }).catch(
      isRefused,
    ),
  cancel: (jobId) => inRequest((trx) => requestCancel(trx, jobId)),
  recover: () => recoverRuns(service.db),
};

const onQueued: Record<string, (run: PendingRun) => PromiseLike<unknown>> = {
  '1.2.0: cancelQueued': ({ jobId }) => byEarlier('cancelQueued', jobId),
  withdraw: (run) => withdraw(service.db, run),
  start: (run) => startRun(service.db, run),
};

const onRunning: Record<string, (run: PendingRun) => PromiseLike<unknown>> = {
  '1.2.0: complete': ({ jobId, isCancelled }) => byEarlier(isCancelled ? 'fail' : 'complete', jobId),
  '1.2.0: fail': ({ jobId }) => byEarlier('fail', jobId),
  '1.2.0: cancelRunning': ({ jobId }) => byEarlier('cancelRunning', jobId),
  complete: (run) =>
    inRequest((trx) => {
      const facts = { prices: null, priceJumps: null, isCorrection: false };
      const load = { issueCounts: [], facts, delimiter: null };
      const counters = { ...failedCounters(0), processed: 2, inserted: 2 };
      return completeRun(trx, run, counters, run.kind === 'load' ? load : undefined);
    }),
  fail: (run) => {
    const failure = { reason: 'It failed.', counters: failedCounters(0), issueCounts: [] };
    return inRequest((trx) => failRun(trx, run, failure));
  },
};

const queueByEarlier = '1.2.0: queue';
const steps = [...[anyTime, onQueued, onRunning].flatMap((each) => Object.keys(each)), queueByEarlier];

/** Takes a step if its process could: it knows what is queued or in progress. */
async function take(step: string, jobId: number): Promise<void> {
  const pending = await findPendingRun(service.db, jobId);
  if (pending?.kind === 'revert' && step.startsWith('1.2.0') && step !== queueByEarlier && !(step in anyTime))
    return;
  await anyTime[step]?.(jobId);
  if (pending?.status === 'queued') await onQueued[step]?.(pending);
  else if (step === queueByEarlier) await byEarlier('queue', jobId);
  if (pending?.status === 'running') await onRunning[step]?.(pending);
}

/** The state of a job, by its runs. */
function shownBy(runs: Record<string, unknown>[]): object {
  const shown = runs.findLast(
    ({ status, failure_reason }) => status !== 'cancelled' && failure_reason !== 'The run was interrupted.',
  );
  const columns = [
    'started_at',
    'finished_at',
    'failure_reason',
    'processed',
    'inserted',
    'unchanged',
    'skipped',
  ];
  return {
    status: shown?.status ?? 'queued',
    cancel_requested: shown?.cancel_requested ?? false,
    ...Object.fromEntries(columns.map((name) => [name, shown?.[name] ?? null])),
  };
}

it('a job shows its last load, and has one run at a time, for writes of either release', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { maxLength: 12 }), async (history) => {
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Both');
      const number = Number(jobId.slice(2));
      for (const step of history) {
        await take(step, number);

        const runs = (await service.db('runs').where('job_id', number).orderBy('run')) as Record<
          string,
          unknown
        >[];
        const pending = runs.filter(({ status }) => status === 'queued' || status === 'running');
        // Release 1.2.0 does not know reverts.
        expect(new Set(pending.map(({ kind }) => kind)).size).toBe(pending.length);
        const [job] = (await service.db('validation_jobs').where('job_id', number)) as {
          run_count: number;
        }[];
        expect(job).toMatchObject(shownBy(runs.filter(({ kind }) => kind === 'load')));
        expect(job!.run_count).toBeGreaterThanOrEqual(Math.max(0, ...runs.map(({ run }) => run as number)));
      }
    }),
    casesFor('steps of two releases', 40),
  );
});

describe('a run of release 1.2.0', () => {
  it('stays in the queue when a client of this release that also requested it disconnects', async () => {
    const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Promised');
    const number = Number(jobId.slice(2));
    const requested = await requestRunOf(service.db, number, { attempts: 1 });
    await byEarlier('queue', number);

    await withdraw(service.db, requested);

    expect((await findPendingRun(service.db, number))?.status).toBe('queued');
  });

  it('is shown with its progress', async () => {
    const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Progressing');
    const progress = {
      phase: 'reading',
      rows: 1,
      bytes_read: 2,
      bytes_total: 3,
      rows_per_second: 4,
      bytes_per_second: 5,
    };
    await byEarlier('start', Number(jobId.slice(2)));
    await service.db('validation_jobs').where('job_id', jobId.slice(2)).update({ progress });

    expect((await service.api.get(`/jobs/${jobId}`)).body).toMatchObject({ status: 'running', progress });
  });
});
