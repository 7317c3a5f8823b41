import type { Knex } from 'knex';
import { applyRevert, forgetReverted } from '../etl/apply-revert';
import { findRunChange } from '../etl/change-effects';
import type { RevertCounts } from '../etl/revert-counts';
import { FeedFailure, type RunCounters } from '../etl/run-result';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import { findRun } from '../jobs/job-runs.repository';
import { hasChanges } from '../jobs/run-changes.service';
import { beginRunChange, endChange } from '../../catalog/changes/catalog-changes';
import { keepAttention, onePartner } from '../../catalog/partners/keep-attention';
import { lockPartner } from '../../catalog/changes/partner-lock';
import { runNotKept, cancelledReason } from '../../base/errors';
import { formatId } from '../../base/ids';
import type { RunStats } from '../etl/run-stats';
import type { ClaimedRun, StartedRun } from '../queue/claims.repository';
import { completeRun } from '../queue/run-ends.repository';

/** Failure of a revert: products were changed since its run. */
class RevertConflicts extends FeedFailure {
  constructor(
    reason: string,
    readonly conflicts: number,
  ) {
    super(reason);
  }
}

/** Returns the number of products changed since, if a revert failed because of them. */
export const conflictsOf = (error: unknown): number | undefined =>
  error instanceof RevertConflicts ? error.conflicts : undefined;

/** Converts the numbers of a revert to the counters of a run: conflicts are skipped. */
export function revertCounters({
  updated,
  withdrawn,
  restored,
  unchanged,
  conflicts,
}: RevertCounts): RunCounters {
  return {
    processed: updated + unchanged + conflicts,
    inserted: 0,
    updated,
    unchanged,
    skipped: conflicts,
    withdrawn,
    restored,
  };
}

/** Formats why a revert with conflicts fails, and the remedy. */
export function conflictText(conflicts: number, revertsRun: number): string {
  const what = conflicts === 1 ? '1 product was' : `${conflicts} products were`;
  const them = conflicts === 1 ? 'it' : 'them';
  return `${what} changed since run ${revertsRun}. Revert the later runs first, or skip ${them} with on_conflict=skip.`;
}

const nothing: RevertCounts = { updated: 0, withdrawn: 0, restored: 0, unchanged: 0, conflicts: 0 };

/**
 * Undoes a run of a job in the transaction of a claimed revert, and completes the revert.
 * It is one change of the catalog, with one instant, as a load. Manual changes of other products stay for the next load.
 * @throws FeedFailure, RevertConflicts
 */
export async function runRevert(
  trx: Knex.Transaction,
  revert: ClaimedRun & StartedRun,
  stats: RunStats,
  signal: AbortSignal,
): Promise<RunCounters> {
  return stats.timed('revert', () => undoRun(trx, revert, signal));
}

async function undoRun(
  trx: Knex.Transaction,
  revert: ClaimedRun & StartedRun,
  signal: AbortSignal,
): Promise<RunCounters> {
  const { jobId, run, partnerId, skipsConflicts } = revert;
  const revertsRun = revert.revertsRun!;
  if (!(await lockPartner(trx, partnerId))) {
    throw new FeedFailure('The partner was merged into another one during the revert: request it again.');
  }
  const undone = await findRun(trx, { jobId, run: revertsRun, scope: null });
  const kept = await findRunChange(
    trx,
    { jobId, run: revertsRun },
    undone !== undefined && hasChanges(undone),
  );
  if (kept === 'not kept') throw new FeedFailure(runNotKept(formatId('JV', jobId), revertsRun).message);
  const change = await beginRunChange(trx, partnerId);
  const counts = kept.change
    ? await applyRevert(trx, kept.change, change, signal, ({ conflicts }) => {
        if (conflicts === 0 || skipsConflicts) return;
        throw new RevertConflicts(conflictText(conflicts, revertsRun), conflicts);
      })
    : nothing;
  const hasWritten = counts.updated + counts.withdrawn > 0;
  if (hasWritten) await forget(trx, partnerId);
  const counters = revertCounters(counts);
  if (!(await completeRun(trx, revert, counters))) throw new FeedFailure(cancelledReason);
  if (hasWritten) await endChange(trx, change, counts.withdrawn > 0, { jobId, run });
  await keepAttention(trx, onePartner(partnerId));
  return counters;
}

async function forget(trx: Knex.Transaction, partnerId: number): Promise<void> {
  const digests = new PartnerDigests(trx, partnerId);
  try {
    await forgetReverted(trx, partnerId, digests);
  } finally {
    digests.release();
  }
}
