import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { failSql, announceRunEnd } from '../jobs/jobs.repository';
import { keepAttention, partnersOfJobs } from '../partners/keep-attention';
import { lockOrphanedRuns, lockReservedRun, requeueRun, type OrphanedRun } from './orphaned-runs.repository';
import { failRevert, requeueRevert } from './reverts.repository';
import { cancelledReason } from '../shared/errors';

/** Jobs of orphaned runs. */
interface RecoveredRuns {
  failed: number[];
  requeued: number[];
}

/**
 * Requeues orphaned runs at their position, or fails them when no attempt is left. Safe to call concurrently.
 * @param mayFail - whether a run without attempts fails now; default: always
 * @param onError - receives the error of a run that is not recovered, which delays no other; default: throws it
 */
export function recoverRuns(
  db: Database,
  mayFail: (orphan: OrphanedRun) => boolean = () => true,
  onError: (error: unknown, orphan: OrphanedRun) => void = (error) => {
    throw error;
  },
): Promise<RecoveredRuns> {
  return inTransaction(db, 'request', async (trx) => {
    const recovered: RecoveredRuns = { failed: [], requeued: [] };
    for (const orphan of await lockOrphanedRuns(trx)) {
      const isRequeued = orphan.attempts_left > 0 && !orphan.cancel_requested;
      if (!isRequeued && !mayFail(orphan)) continue;
      try {
        await trx.transaction((savepoint) =>
          isRequeued
            ? requeue(savepoint, orphan)
            : failOrphan(savepoint, orphan, 'The run was interrupted. Run the job again.'),
        );
        recovered[isRequeued ? 'requeued' : 'failed'].push(orphan.job_id);
      } catch (error) {
        onError(error, orphan);
      }
    }
    if (recovered.failed.length > 0) await keepAttention(trx, partnersOfJobs(recovered.failed));
    return recovered;
  });
}

function requeue(trx: Knex.Transaction, { job_id: jobId, run_count: run, is_revert }: OrphanedRun) {
  return is_revert ? requeueRevert(trx, { jobId, run }) : requeueRun(trx, jobId);
}

/** Fails an orphaned run, which the caller has locked. The caller keeps the attention of its partner, at its end. */
async function failOrphan(trx: Knex.Transaction, orphan: OrphanedRun, reason: string): Promise<void> {
  const { job_id: jobId, run_count: run, cancel_requested: isCancelled } = orphan;
  if (orphan.is_revert) {
    const interrupted = 'The revert was interrupted. Request it again.';
    await failRevert(trx, { jobId, run }, isCancelled ? cancelledReason : interrupted, 0);
  } else {
    await failLockedRun(trx, jobId, isCancelled ? cancelledReason : reason);
  }
}

/**
 * Fails the orphaned run of a reserved job.
 * @param run - `revert`: the number of a revert; else a load
 * @returns whether there was one
 */
export async function failReservedRun(
  trx: Knex.Transaction,
  { jobId, revert }: { jobId: number; revert?: number | null },
  reason: string,
): Promise<boolean> {
  const orphan = await lockReservedRun(trx, jobId, revert);
  if (!orphan) return false;
  await failOrphan(trx, orphan, reason);
  await keepAttention(trx, partnersOfJobs([jobId]));
  return true;
}

/** Fails a queued or orphaned run. The caller has locked the job, and keeps the attention of its partner, at its end. */
export async function failLockedRun(trx: Knex.Transaction, jobId: number, reason: string): Promise<void> {
  const failure = { jobId, reason, skipped: 0, wouldWithdraw: null, issueCounts: '[]' };
  const { rowCount } = await trx.raw<{ rowCount: number }>(failSql('job_id = :jobId'), failure);
  await trx('row_issues').where('job_id', jobId).delete();
  if (rowCount > 0) await announceRunEnd(trx, 'job.failed', jobId);
}
