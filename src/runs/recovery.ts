import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { cancelledReason } from '../jobs/run-progress.repository';
import { failSql, publishRunEvent } from '../jobs/jobs.repository';
import { lockOrphanedRuns, lockReservedRun, requeueRun, type OrphanedRun } from './queue.repository';

/** Jobs of orphaned runs. */
interface RecoveredRuns {
  failed: number[];
  requeued: number[];
}

/**
 * Requeues orphaned runs at their position, or fails them when no attempt is left. Safe to call concurrently.
 * @param mayFail - whether a run without attempts fails now; default: always
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

/** Fails the orphaned run of a reserved job. @returns whether there was one */
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

/** Fails a queued or orphaned run. The caller has locked the job. */
export async function failLockedRun(trx: Knex.Transaction, jobId: number, reason: string): Promise<void> {
  const failure = { jobId, reason, skipped: 0, issueCounts: '[]' };
  const { rowCount } = await trx.raw<{ rowCount: number }>(failSql('job_id = :jobId'), failure);
  await trx('row_issues').where('job_id', jobId).delete();
  if (rowCount > 0) await publishRunEvent(trx, 'job.failed', jobId);
}
