import type { Database } from '../base/db/database';
import { inSnapshot } from '../base/db/transaction';
import { formatId } from '../base/ids';
import { findRunChange, type RunChange } from './etl/change-effects';
import { listKnownEffects, type ProductEffect } from './etl/list-effects';
import { countRevert } from './etl/revert-counts';
import { failedCounters, type RunCounters } from './etl/run-result';
import { followRun } from './jobs/job-changes';
import type { JobRunRow } from './jobs/job-runs.repository';
import { conflictBody } from './jobs/jobs.body';
import { parseProductPosition } from './jobs/change-cursors';
import { getRun, hasChanges, type AskedRun } from './jobs/run-changes.service';
import {
  revertConflicts,
  runAlreadyReverted,
  nothingToRevert,
  runNotEnded,
  runNotKept,
  unavailable,
} from '../base/errors';
import { findPendingRun } from './queue/pending-runs.repository';
import { findRevertInForce } from './queue/run-requests.repository';
import { findRunTarget, type RunTarget } from './queue/run-target.repository';
import { conflictText, revertCounters } from './execution/run-revert';
import { hasRunEnded, queueRun, runHere, type RunServices, type WaitingClient } from './runs.service';

/** Maximum number of conflicts that are shown. */
const conflictsMax = 100;

/** A request to undo a run. */
export interface AskedRevert extends AskedRun {
  skipsConflicts: boolean;
  requestedBy: string;
  requestId?: string;
}

/** Effects of a revert, with one page of its changes. */
export interface RevertPlan {
  run: JobRunRow;
  failureReason: string | null;
  summary: RunCounters;
  changes: ProductEffect[];
  nextCursor?: string;
  conflicts: ProductEffect[];
}

/**
 * Plans a revert (dry run). Changes nothing and waits for no lock.
 * @throws job_not_found, run_not_found, invalid_cursor, run_not_ended, nothing_to_revert, run_already_reverted, run_not_kept
 */
export async function planRevert(
  db: Database,
  asked: AskedRevert,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<RevertPlan> {
  const page = { limit, afterProduct: parseProductPosition(cursor) };
  const run = await getRun(db, asked);
  checkCompleted(asked, run);
  return inSnapshot(db, async (trx) => {
    const change = await getChange(trx, asked, run);
    if (!change) return { run, failureReason: null, summary: failedCounters(0), changes: [], conflicts: [] };
    const asPage = { ...page, conflictsMax };
    const { counts, revertedIds, conflictIds } = await countRevert(trx, change, asPage);
    const counters = revertCounters(counts);
    const conflicts = await listConflicts(trx, change, conflictIds);
    const { effects: changes, hasMore } = await listKnownEffects(trx, 'reverted', change, {
      productIds: revertedIds,
      limit,
    });
    const isRefused = counters.skipped > 0 && !asked.skipsConflicts;
    return {
      run,
      failureReason: isRefused ? conflictText(counters.skipped, asked.run) : null,
      summary: isRefused ? failedCounters(counters.skipped) : counters,
      changes,
      nextCursor: hasMore ? formatId('PR', changes.at(-1)!.productId) : undefined,
      conflicts,
    };
  });
}

async function listConflicts(
  db: Database,
  change: RunChange,
  productIds: readonly string[],
): Promise<ProductEffect[]> {
  const { effects } = await listKnownEffects(db, 'conflicts', change, { productIds, limit: conflictsMax });
  return effects;
}

/**
 * Requests the revert of a run and waits for its end. A repeated request joins a revert that is queued or in progress.
 * @throws job_not_found, run_not_found, run_not_ended, nothing_to_revert, run_not_kept, revert_conflicts; as `runHere`
 */
export async function revertRun(
  services: RunServices,
  asked: AskedRevert,
  client: WaitingClient,
): Promise<JobRunRow> {
  return runHere(services, await prepareRevert(services.db, asked), client);
}

/**
 * Enqueues the revert of a run without waiting for a slot.
 * @param isOver - ends the wait for the end of the revert
 * @throws as `revertRun`
 */
export async function queueRevert(
  services: RunServices,
  asked: AskedRevert,
  isOver: () => boolean,
): Promise<JobRunRow> {
  const { db, changes } = services;
  const requested = await queueRun(services, await prepareRevert(db, asked));
  let last: JobRunRow | undefined;
  for await (last of followRun(db, changes, requested, isOver)) {
    if (!last || hasRunEnded(last)) break;
  }
  if (!last) throw unavailable('the request was withdrawn');
  return last;
}

/** Checks a request, unless it repeats one that is queued or in progress. The revert checks again under the partner's lock. */
async function prepareRevert(db: Database, asked: AskedRevert): Promise<RunTarget> {
  const run = await getRun(db, asked);
  const { job_id: jobId } = run;
  const { run: revertsRun, skipsConflicts, requestedBy, requestId } = asked;
  const pending = await findPendingRun(db, jobId);
  if (pending?.revertsRun !== revertsRun) {
    checkCompleted(asked, run);
    await inSnapshot(db, async (trx) => {
      const change = await getChange(trx, asked, run);
      if (!change || skipsConflicts) return;
      const page = { afterProduct: 0, limit: 0, conflictsMax };
      const { counts, conflictIds } = await countRevert(trx, change, page);
      if (counts.conflicts === 0) return;
      const shown = await listConflicts(trx, change, conflictIds);
      throw revertConflicts(conflictText(counts.conflicts, revertsRun), shown.map(conflictBody));
    });
  }
  const target = (await findRunTarget(db, jobId, asked.scope))!;
  return { ...target, reverts: { run: revertsRun, skipsConflicts }, requestedBy, requestId };
}

/** @throws nothing_to_revert, run_not_ended */
function checkCompleted({ id }: AskedRevert, { run, status }: JobRunRow): void {
  if (status === 'failed' || status === 'cancelled') {
    throw nothingToRevert(id, run, status === 'failed' ? 'failed' : 'was cancelled');
  }
  if (status !== 'completed') throw runNotEnded(id, run);
}

/**
 * Gets the change of a run that can be reverted; null if it has changed nothing.
 * @throws run_already_reverted, run_not_kept
 */
async function getChange(db: Database, asked: AskedRevert, run: JobRunRow): Promise<RunChange | null> {
  await checkNotReverted(db, asked, run.job_id);
  const kept = await findRunChange(db, { jobId: run.job_id, run: run.run }, hasChanges(run));
  if (kept === 'not kept') throw runNotKept(asked.id, run.run);
  return kept.change;
}

/** @throws run_already_reverted */
async function checkNotReverted(db: Database, { id, run }: AskedRevert, jobId: number): Promise<void> {
  const by = await findRevertInForce(db, { jobId, run });
  if (by !== undefined) throw runAlreadyReverted(id, run, by);
}
