import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { inSnapshot } from '../db/transaction';
import { findRunChange, listEffects, type ProductEffect, type RunChange } from '../etl/change-effects';
import { countRevert } from '../etl/revert-counts';
import { failedCounters, type RunCounters } from '../etl/run-result';
import { jobPollMilliseconds } from '../jobs/job-changes';
import { findRun, type JobRunRow } from '../jobs/job-runs.repository';
import { conflictBody } from '../jobs/jobs.body';
import { hasEnded } from '../jobs/jobs.service';
import {
  getRun,
  hasChanges,
  nextPosition,
  parseProductPosition,
  type AskedRun,
} from '../jobs/run-changes.service';
import type { RunNumber } from '../jobs/run-progress.repository';
import {
  revertConflicts,
  runAlreadyReverted,
  runCancelled,
  runNotCompleted,
  runNotKept,
  ServiceError,
  unavailable,
} from '../shared/errors';
import { findRunTarget, queuedRunAttempts, type RunTarget } from './queue.repository';
import {
  findPendingRevert,
  findRevertInForce,
  requestRevert,
  type RevertRequest,
} from './reverts.repository';
import { conflictText, revertCounters } from './run-revert';
import { lockedMilliseconds, type RunServices, type WaitingClient } from './runs.service';

/** Maximum number of conflicts that are shown. */
const conflictsMax = 100;

/** A request to undo a run. */
export interface AskedRevert extends AskedRun {
  skipsConflicts: boolean;
  requestedBy: string;
  requestId?: string;
}

/** What a revert would do, with one page of its changes. */
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
 * @throws job_to_run_not_found, run_not_found, invalid_query, run_not_completed, run_already_reverted, run_not_kept
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
    const { effects: changes, hasMore } = await listEffects(trx, 'reverted', change, {
      productIds: revertedIds,
      limit,
    });
    const isRefused = counters.skipped > 0 && !asked.skipsConflicts;
    return {
      run,
      failureReason: isRefused ? conflictText(counters.skipped, asked.run) : null,
      summary: isRefused ? failedCounters(counters.skipped) : counters,
      changes,
      nextCursor: nextPosition(changes, hasMore),
      conflicts,
    };
  });
}

async function listConflicts(
  db: Database,
  change: RunChange,
  productIds: readonly string[],
): Promise<ProductEffect[]> {
  const { effects } = await listEffects(db, 'conflicts', change, { productIds, limit: conflictsMax });
  return effects;
}

/**
 * Requests the revert of a run and waits for its end. A repeated request joins a revert that is queued or in progress.
 * @throws job_to_run_not_found, run_not_found, run_not_completed, run_already_reverted, run_not_kept, revert_conflicts,
 *   job_already_running, job_already_waiting, run_cancelled, unauthorized, unavailable
 */
export async function revertRun(
  { db, worker }: RunServices,
  asked: AskedRevert,
  { key, isAborted }: WaitingClient,
): Promise<JobRunRow> {
  const { jobId, request, target } = await prepareRevert(db, asked);
  let number = 0;
  const onRequested = (run: number) => (number = run);
  const untilClaimed = async (signal: AbortSignal) => {
    while (!signal.aborted && (await findPendingRevert(db, jobId))?.status === 'queued') {
      await key.requireInUse();
      await sleep(jobPollMilliseconds);
    }
  };
  const run = async () => {
    try {
      return await worker.run({ ...target, revert: request, key, onRequested }, untilClaimed);
    } catch (error) {
      if (!isBusy(error)) throw error;
      // Perhaps with another request of the same, which has just begun or ended.
      await sleep(lockedMilliseconds);
      const pending = await findPendingRevert(db, jobId);
      if (pending?.reverts_run !== asked.run) {
        await checkNotReverted(db, asked, jobId);
        throw error;
      }
      number = pending.run;
      return 'not_claimed';
    }
  };
  do {
    const outcome = await run();
    if (outcome === 'unavailable') throw unavailable('the revert could not be recorded');
    // Another process has claimed it, or has locked the job briefly.
    if (outcome === 'not_claimed') await sleep(lockedMilliseconds);
    const last = await followRevert(
      db,
      { jobId, run: number },
      (state) => state?.status !== 'running' || isAborted(),
    );
    if (last?.status === 'cancelled') throw runCancelled(asked.id);
    if (last && hasEnded(last)) return last;
  } while (!isAborted());
  await key.requireInUse();
  throw unavailable('the revert has not ended yet');
}

const isBusy = (error: unknown) =>
  error instanceof ServiceError && ['job_already_running', 'job_already_waiting'].includes(error.code);

/**
 * Enqueues the revert of a run without waiting for a slot.
 * @param isOver - until then, waits for its end
 * @throws as `revertRun`
 */
export async function queueRevert(
  { db, worker }: RunServices,
  asked: AskedRevert,
  isOver: () => boolean,
): Promise<JobRunRow> {
  const { jobId, request } = await prepareRevert(db, asked);
  const { run } = await requestRevert(db, jobId, request, queuedRunAttempts);
  worker.wake();
  const last = await followRevert(db, { jobId, run }, (state) => !state || hasEnded(state) || isOver());
  if (!last) throw unavailable('the request was withdrawn');
  if (last.status === 'cancelled') throw runCancelled(asked.id);
  return last;
}

/** Polls a revert until `isOver`. @returns undefined if its request was withdrawn */
async function followRevert(
  db: Database,
  { jobId, run }: RunNumber,
  isOver: (state: JobRunRow | undefined) => boolean,
): Promise<JobRunRow | undefined> {
  for (;;) {
    const state = await findRun(db, { jobId, run, scope: null });
    if (isOver(state)) return state;
    await sleep(jobPollMilliseconds);
  }
}

/** Checks a request, unless it repeats one that is queued or in progress. The revert checks again under the partner's lock. */
async function prepareRevert(
  db: Database,
  asked: AskedRevert,
): Promise<{ jobId: number; request: RevertRequest; target: RunTarget }> {
  const run = await getRun(db, asked);
  const { job_id: jobId } = run;
  const { run: revertsRun, skipsConflicts, requestedBy, requestId } = asked;
  const pending = await findPendingRevert(db, jobId);
  if (pending?.reverts_run !== revertsRun) {
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
  return { jobId, request: { revertsRun, skipsConflicts, requestedBy, requestId }, target };
}

/** @throws run_not_completed */
function checkCompleted({ id }: AskedRevert, { run, status }: JobRunRow): void {
  if (status === 'failed' || status === 'cancelled') {
    const what = status === 'failed' ? 'has failed' : 'was cancelled';
    throw runNotCompleted(`Run ${run} of job ${id} ${what}: it has changed nothing.`);
  }
  if (status !== 'completed')
    throw runNotCompleted(`Run ${run} of job ${id} has not ended: wait for its end.`);
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
