import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { removeFromQueue, takeBack } from '../queue/queued-runs';
import { claimRun, type ValidationJobRow } from './jobs.repository';
import { failUnheldRun } from './left-runs.repository';
import { cancelledReason, type RunNumber } from './run-progress.repository';

/** What a cancellation has met: a run that it has ended, one that goes on and was told to stop, or none. */
export type Cancellation = 'ended' | 'none' | { run: number } | 'about to change';

/**
 * Ends the run of a job that waits in the queue, or whose process has died; asks one that goes on to stop. Safe to call
 * at once, and again.
 */
export async function requestCancel(trx: Knex.Transaction, jobId: number): Promise<Cancellation> {
  if (await claimRun(trx, jobId)) {
    const job = await trx<ValidationJobRow>('validation_jobs').where('job_id', jobId).forUpdate().first();
    if (job?.status !== 'running' && !job?.queued_at) return 'none';
    await takeBack(trx, jobId, 'anybody');
    await removeFromQueue(trx, jobId);
    await failUnheldRun(trx, jobId, cancelledReason);
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
