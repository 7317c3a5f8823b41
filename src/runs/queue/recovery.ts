import type { Knex } from 'knex';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { failedCounters } from '../etl/run-result';
import { keepAttention, partnersOfJobs } from '../../catalog/partners/keep-attention';
import { cancelledReason } from '../../base/errors';
import { lockOrphanedRuns, lockReservedRun } from './claims.repository';
import type { PendingRun } from './pending-runs.repository';
import { failRun, requeueRun } from './run-ends.repository';

/** Jobs of orphaned runs. */
interface RecoveredRuns {
  failed: number[];
  requeued: number[];
}

const interruptedReasons = {
  load: 'The run was interrupted. Run the job again.',
  revert: 'The revert was interrupted. Request it again.',
};

/**
 * Requeues orphaned runs at their position, or fails them when no attempt is left. Safe to call concurrently.
 * @param mayFail - whether a run without attempts fails now; default: always
 * @param onError - receives the error of a run that is not recovered, and recovery continues; default: throws it
 */
export function recoverRuns(
  db: Database,
  mayFail: (orphan: PendingRun) => boolean = () => true,
  onError: (error: unknown, orphan: PendingRun) => void = (error) => {
    throw error;
  },
): Promise<RecoveredRuns> {
  return inTransaction(db, 'request', async (trx) => {
    const recovered: RecoveredRuns = { failed: [], requeued: [] };
    for (const orphan of await lockOrphanedRuns(trx)) {
      const isRequeued = orphan.attemptsLeft > 0 && !orphan.isCancelled;
      if (!isRequeued && !mayFail(orphan)) continue;
      try {
        await trx.transaction(async (savepoint) => {
          if (isRequeued) await requeueRun(savepoint, orphan);
          else await failLockedRun(savepoint, orphan);
        });
        recovered[isRequeued ? 'requeued' : 'failed'].push(orphan.jobId);
      } catch (error) {
        onError(error, orphan);
      }
    }
    if (recovered.failed.length > 0) await keepAttention(trx, partnersOfJobs(recovered.failed));
    return recovered;
  });
}

/**
 * Fails the orphaned run of a reserved job.
 * @param loadReason - why a load has failed; absent: it was interrupted
 * @returns whether there was one
 */
export async function failReservedRun(
  trx: Knex.Transaction,
  jobId: number,
  loadReason?: string,
): Promise<boolean> {
  const orphan = await lockReservedRun(trx, jobId);
  if (orphan) await failOrphan(trx, orphan, loadReason);
  return orphan !== undefined;
}

/** Fails an orphaned run, which the caller has locked, and keeps the attention of its partner. */
export async function failOrphan(
  trx: Knex.Transaction,
  orphan: PendingRun,
  loadReason?: string,
): Promise<void> {
  await failLockedRun(trx, orphan, loadReason);
  await keepAttention(trx, partnersOfJobs([orphan.jobId]));
}

async function failLockedRun(
  trx: Knex.Transaction,
  { kind, isCancelled, ...at }: PendingRun,
  loadReason: string = interruptedReasons.load,
): Promise<void> {
  const reason = kind === 'load' ? loadReason : interruptedReasons[kind];
  await failRun(
    trx,
    { ...at, kind },
    { reason: isCancelled ? cancelledReason : reason, counters: failedCounters(0), issueCounts: [] },
  );
  if (kind === 'load') await trx('row_issues').where('job_id', at.jobId).delete();
}
