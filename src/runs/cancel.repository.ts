import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { lockJob } from './claims.repository';
import { cancelQueuedRun } from './queue.repository';
import { failLockedRun } from './recovery';
import { cancelQueuedRevert, failRevert, findPendingRevert, requestRevertCancel } from './reverts.repository';
import type { ValidationJobRow } from '../jobs/jobs.repository';
import type { RunNumber } from '../jobs/run-progress.repository';
import { keepAttention, partnersOfJobs } from '../partners/keep-attention';
import { cancelledReason } from '../shared/errors';

/** Result of a cancellation request: a number is that of a run in progress, which was requested to stop. */
type Cancellation = 'ended' | 'none' | { run: number } | 'changing';

/** Dequeues a queued run, fails an orphaned one, requests a run in progress to stop. Idempotent, and safe to call concurrently. */
export async function requestCancel(trx: Knex.Transaction, jobId: number): Promise<Cancellation> {
  if (await lockJob(trx, jobId)) {
    const job = await trx<ValidationJobRow>('validation_jobs').where('job_id', jobId).forUpdate().first();
    const isQueued = job?.status === 'queued' && job.run_requested_at !== null;
    if (isQueued) await cancelQueuedRun(trx, jobId);
    else if (job?.status === 'running') {
      await failLockedRun(trx, jobId, cancelledReason);
      await keepAttention(trx, partnersOfJobs([jobId]));
    } else return endRevert(trx, jobId);
    return 'ended';
  }
  const { rows } = await trx.raw<{ rows: { run: number }[] }>(
    `update validation_jobs set cancel_requested = true
     where job_id = (
       select job_id from validation_jobs where job_id = ? and status = 'running' for no key update skip locked
     )
     returning run_count as run`,
    [jobId],
  );
  // Else, the claim is not visible as `running` yet, or the run is just ending.
  return rows[0] ?? (await requestRevertCancel(trx, jobId)) ?? 'changing';
}

/** Ends a queued or orphaned revert of a job, which the caller has locked. */
async function endRevert(trx: Knex.Transaction, jobId: number): Promise<'ended' | 'none'> {
  const revert = await findPendingRevert(trx, jobId);
  if (!revert) return 'none';
  const at = { jobId, run: revert.run };
  if (revert.status === 'queued') await cancelQueuedRevert(trx, at);
  else await failRevert(trx, at, cancelledReason, 0);
  return 'ended';
}

/** Tells whether this run of the job is in progress. */
export async function isRunning(db: Database, { jobId, run }: RunNumber): Promise<boolean> {
  return (await db('runs').where({ job_id: jobId, run, status: 'running' }).first('run')) !== undefined;
}
