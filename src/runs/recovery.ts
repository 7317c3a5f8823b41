import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { cancelledReason } from '../jobs/run-progress.repository';
import { failSql, tellOfRun } from '../jobs/jobs.repository';
import { lockOrphanedRuns, lockReservedRun, requeueRun, type OrphanedRun } from './queue.repository';

/** The jobs of orphaned runs, by what became of them. */
export interface RecoveredRuns {
  failed: number[];
  requeued: number[];
}

/**
 * Ends orphaned runs: a job is `running`, and its lock is free. The run waits again, at its position, or fails when
 * no attempt is left. Safe at any time, on any number of processes.
 * @param mayFail - whether a run without an attempt left fails now; default: always
 */
export function recoverRuns(
  db: Database,
  mayFail: (orphan: OrphanedRun) => boolean = () => true,
): Promise<RecoveredRuns> {
  return inTransaction(db, 'request', async (trx) => {
    const recovered: RecoveredRuns = { failed: [], requeued: [] };
    for (const orphan of await lockOrphanedRuns(trx)) {
      if (orphan.attempts_left > 0 && !orphan.cancel_requested) {
        await requeueRun(trx, orphan.job_id);
        recovered.requeued.push(orphan.job_id);
      } else if (mayFail(orphan)) {
        const reason = orphan.cancel_requested
          ? cancelledReason
          : 'The run was interrupted. Run the job again.';
        await failLockedRun(trx, orphan.job_id, reason);
        recovered.failed.push(orphan.job_id);
      }
    }
    return recovered;
  });
}

/** Fails the orphaned run of a job that the transaction has reserved. @returns whether there was one */
export async function failReservedRun(
  trx: Knex.Transaction,
  jobId: number,
  reason: string,
): Promise<boolean> {
  const orphan = await lockReservedRun(trx, jobId);
  if (!orphan) return false;
  await failLockedRun(trx, jobId, orphan.cancel_requested ? cancelledReason : reason);
  return true;
}

/** Fails a run that waits or is orphaned. The caller has locked the job. */
export async function failLockedRun(trx: Knex.Transaction, jobId: number, reason: string): Promise<void> {
  const failure = { jobId, reason, skipped: 0, issueCounts: '[]' };
  const { rowCount } = await trx.raw<{ rowCount: number }>(failSql('job_id = :jobId'), failure);
  await trx('row_issues').where('job_id', jobId).delete();
  if (rowCount > 0) await tellOfRun(trx, 'job.failed', jobId);
}
