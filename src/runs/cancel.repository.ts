import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { lockJob } from './queue.repository';
import { failLockedRun } from './recovery';
import type { ValidationJobRow } from '../jobs/jobs.repository';
import { cancelledReason, type RunNumber } from '../jobs/run-progress.repository';

/** What a cancellation has met: a run that it has ended, one that goes on and was told to stop, or none. */
export type Cancellation = 'ended' | 'none' | { run: number } | 'about to change';

/**
 * Ends the run of a job that waits, or whose process has died; asks one that is in progress to stop. Safe to call at once,
 * and again.
 */
export async function requestCancel(trx: Knex.Transaction, jobId: number): Promise<Cancellation> {
  if (await lockJob(trx, jobId)) {
    const job = await trx<ValidationJobRow>('validation_jobs').where('job_id', jobId).forUpdate().first();
    const isWaiting = job?.status === 'queued' && job.run_requested_at !== null;
    if (job?.status !== 'running' && !isWaiting) return 'none';
    await failLockedRun(trx, jobId, cancelledReason);
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
  // Whoever has claimed the job says so a moment later, and has it locked at the end.
  return rows[0] ?? 'about to change';
}

/** Whether this run of the job goes on. */
export async function isRunning(db: Database, { jobId, run }: RunNumber): Promise<boolean> {
  const job = db('validation_jobs').where({ job_id: jobId, run_count: run, status: 'running' });
  return (await job.first('job_id')) !== undefined;
}
