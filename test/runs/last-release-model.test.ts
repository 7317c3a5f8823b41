import fc from 'fast-check';
import { inTransaction } from '../../src/db/transaction';
import { failedCounters } from '../../src/etl/run-result';
import { startRun } from '../../src/runs/claims.repository';
import { requestCancel } from '../../src/runs/cancel.repository';
import { findPendingRun, type PendingRun } from '../../src/runs/pending-runs.repository';
import { recoverRuns } from '../../src/runs/recovery';
import { completeRun, failRun } from '../../src/runs/run-ends.repository';
import { casesFor } from '../support/fuzz';
import { requestRunOf, withdraw } from '../support/requested-runs';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  // No worker.
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

const steps = [
  ...(Object.keys(earlier) as (keyof typeof earlier)[]).map((step) => `1.2.0: ${step}` as const),
  ...(['request', 'withdraw', 'start', 'complete', 'fail', 'cancel', 'recover'] as const),
];
type Step = (typeof steps)[number];

const runsOf = (jobId: number) => service.db('runs').where('job_id', jobId).orderBy('run');

/** Takes a step if the process that would take it could: it knows what is queued or in progress. */
async function take(step: Step, jobId: number): Promise<void> {
  const { db } = service;
  const pending = await findPendingRun(db, jobId);
  const state = pending?.status ?? 'none';
  const byEarlier = (part: keyof typeof earlier) =>
    db.raw(`update validation_jobs set ${earlier[part]} where job_id = ?`, [jobId]);
  const end = (work: (run: PendingRun) => Promise<unknown>) =>
    state === 'running' ? work(pending!) : undefined;
  switch (step) {
    case '1.2.0: queue':
      return void (state !== 'queued' && (await byEarlier('queue')));
    case '1.2.0: start':
      return void (await byEarlier('start'));
    case '1.2.0: cancelQueued':
      return void (state === 'queued' && (await byEarlier('cancelQueued')));
    case '1.2.0: complete':
      return void (await end(({ isCancelled }) => (isCancelled ? byEarlier('fail') : byEarlier('complete'))));
    case '1.2.0: fail':
      return void (await end(() => byEarlier('fail')));
    case '1.2.0: cancelRunning':
      return void (await end(() => byEarlier('cancelRunning')));
    case 'request':
      return void (await requestRunOf(db, jobId, { attempts: 2 }));
    case 'withdraw':
      return void (state === 'queued' && (await withdraw(db, pending!)));
    case 'start':
      return void (state === 'queued' && (await startRun(db, pending!)));
    case 'complete':
      return void (await end((run) =>
        inTransaction(db, 'request', async (trx) => {
          const facts = { prices: null, priceJumps: null, isCorrection: false };
          const load = { issueCounts: [], facts, delimiter: null };
          await completeRun(trx, run, { ...failedCounters(0), processed: 2, inserted: 2 }, load);
        }),
      ));
    case 'fail':
      return void (await end((run) => {
        const failure = { reason: 'It failed.', counters: failedCounters(0), issueCounts: [] };
        return inTransaction(db, 'request', (trx) => failRun(trx, run, failure));
      }));
    case 'cancel':
      return void (await inTransaction(db, 'request', (trx) => requestCancel(trx, jobId)));
    case 'recover':
      return void (await recoverRuns(db));
  }
}

/** What a job shows, by its runs. */
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
    run_count: runs.at(-1)?.run ?? 0,
    ...Object.fromEntries(columns.map((name) => [name, shown?.[name] ?? null])),
  };
}

it('a job shows its last load, and has one at a time, whichever release writes it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { maxLength: 12 }), async (history) => {
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Both');
      const number = Number(jobId.slice(2));
      for (const step of history) {
        await take(step, number);

        const runs = (await runsOf(number)) as Record<string, unknown>[];
        const pending = runs.filter(({ status }) => status === 'queued' || status === 'running');
        expect(pending.length).toBeLessThanOrEqual(1);
        const [job] = (await service.db('validation_jobs').where('job_id', number)) as object[];
        expect(job).toMatchObject(shownBy(runs));
      }
    }),
    casesFor('steps of two releases', 40),
  );
});
