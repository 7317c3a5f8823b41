import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { findLeftRuns, freeLeftTurns, removeFromQueue, takeBack } from '../queue/queued-runs';
import { claimRun, failSql, markQueued, tellOfRun, type ValidationJobRow } from './jobs.repository';
import { cancelledReason } from './run-progress.repository';

/**
 * Ends the runs whose process has died: a job that says `running` and that nobody holds. One that came from the queue
 * goes back into it, as often as the queue tries; one that the queue has lost or given up has failed. Safe at any time, on
 * any number of processes.
 * @returns the numbers of the jobs that have failed
 */
export async function failInterruptedRuns(db: Database): Promise<number[]> {
  const running = await db('validation_jobs').where('status', 'running').pluck<number[]>('job_id');
  const failed: number[] = [];
  for (const jobId of new Set([...running, ...(await findLeftRuns(db))])) {
    if ((await endInterruptedRun(db, jobId)) === 'failed') failed.push(jobId);
  }
  await freeLeftTurns(db);
  return failed;
}

/** Ends one such run. @returns what has become of it; undefined when somebody holds the job, or nothing was to be done */
export function endInterruptedRun(db: Database, jobId: number): Promise<'failed' | 'queued' | undefined> {
  return inTransaction(db, 'request', async (trx) => {
    if (!(await claimRun(trx, jobId))) return undefined;
    // The end of a run may be written, and not committed yet.
    const job = await trx<ValidationJobRow>('validation_jobs')
      .where('job_id', jobId)
      .forUpdate()
      .first('status', 'queued_at', 'cancel_requested');
    const isRunning = job?.status === 'running';
    const { wasTaken, mayBeTried } = await takeBack(trx, jobId, isRunning ? 'anybody' : 'the dead');
    if (wasTaken === 'kept') return undefined;
    if (!isRunning && !job?.queued_at) {
      if (wasTaken === 'left') await removeFromQueue(trx, jobId);
      return undefined;
    }
    const what = isRunning ? 'was interrupted' : 'could not be started';
    const reason = job.cancel_requested ? cancelledReason : `The run ${what}. Run the job again.`;
    if (job.cancel_requested || !mayBeTried) {
      await removeFromQueue(trx, jobId);
      await failUnheldRun(trx, jobId, reason);
      return 'failed';
    }
    if (isRunning) await markQueued(trx, jobId);
    return 'queued';
  });
}

/** Ends a run that nobody has, or that did not begin. To be called by who holds the job's claim. */
export async function failUnheldRun(trx: Knex.Transaction, jobId: number, reason: string): Promise<void> {
  const failure = { jobId, reason, skipped: 0, issueCounts: '[]' };
  const { rowCount } = await trx.raw<{ rowCount: number }>(failSql('job_id = :jobId'), failure);
  await trx('row_issues').where('job_id', jobId).delete();
  if (rowCount > 0) await tellOfRun(trx, 'job.failed', jobId);
}
