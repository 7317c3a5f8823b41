import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../base/db/database';
import { inTransaction } from '../base/db/transaction';
import {
  jobToRunNotFound,
  notAValidationJob,
  rawFileRemoved,
  runCancelled,
  unavailable,
  invalidShape,
} from '../base/errors';
import type { ProductChange } from './etl/list-changes';
import type { RowIssueCount } from '../feed-format/rows/row-issues';
import type { RunCounters } from './etl/run-result';
import { formatId, parseId } from '../base/ids';
import { formatChangePosition, parseChangePosition } from './jobs/change-cursors';
import { followRun, type JobChanges } from './jobs/job-changes';
import type { JobRunRow, RequestedRun } from './jobs/job-runs.repository';
import { endText, findJob, hasEnded } from './jobs/jobs.service';
import type { ChangeQuery } from './jobs/run-changes.service';
import type { KeyInUse, PartnerScope } from '../base/caller';
import { requestRun } from './queue/run-requests.repository';
import {
  findRunTarget,
  queuedRunAttempts,
  type RunRequest,
  type RunTarget,
} from './queue/run-target.repository';
import type { RunWorker } from './execution/worker';

/** Maximum time that a transaction other than a run locks a job. */
export const lockedMilliseconds = 200;

/** Dependencies of runs and plans. */
export interface RunServices {
  db: Database;
  changes: JobChanges;
  worker: RunWorker;
}

/** A client that waits for its run. If its key becomes invalid before the start, a run is withdrawn unless it was queued before. */
export interface WaitingClient {
  key: KeyInUse;
  isAborted: () => boolean;
}

/**
 * Requests a run, and waits for its end.
 *
 * It runs in this process as soon as a slot is free, unless another process claims it first.
 * @throws job_already_running, job_already_queued, run_already_reverted, run_cancelled, unauthorized, unavailable
 */
export async function runHere(
  { db, changes, worker }: RunServices,
  target: RunTarget,
  { key, isAborted }: WaitingClient,
): Promise<JobRunRow> {
  let requested: RequestedRun;
  const onRequested = (run: RequestedRun) => (requested = run);
  const untilClaimed = async (signal: AbortSignal) => {
    for await (const run of followRun(db, changes, requested, () => signal.aborted || key.isGone())) {
      if (run?.status !== 'queued') return;
    }
    if (!signal.aborted) await key.requireInUse();
  };
  do {
    const outcome = await worker.run({ ...target, key, onRequested }, untilClaimed);
    if (outcome === 'unavailable') throw unavailable('the run could not be recorded');
    // Another process has claimed it, or has locked it briefly.
    if (outcome === 'not_claimed') await sleep(lockedMilliseconds);
    let last: JobRunRow | undefined;
    // Waits for a run in progress even while this process shuts down.
    for await (last of followRun(db, changes, requested!, () => isAborted() && last?.status !== 'running')) {
      if (last?.status !== 'running') break;
    }
    if (last && hasRunEnded(last)) return last;
    // No run: another client has withdrawn the request that this one had joined.
  } while (!isAborted());
  await key.requireInUse();
  throw unavailable('the run has not ended yet');
}

/** Tells whether a run has ended. @throws run_cancelled if it was cancelled before it started */
export function hasRunEnded(run: JobRunRow): boolean {
  if (run.status === 'cancelled') throw runCancelled(formatId('JV', run.job_id));
  return hasEnded(run);
}

/**
 * Enqueues a run without waiting for a slot. A queued run keeps its position.
 * @throws job_already_running, job_already_queued, run_already_reverted
 */
export async function queueRun({ db, worker }: RunServices, target: RunTarget): Promise<RequestedRun> {
  const requested = await inTransaction(db, 'request', (trx) => requestRun(trx, target, queuedRunAttempts));
  worker.wake();
  return requested;
}

/**
 * Gets the target of a load.
 * @throws job_not_found, not_a_validation_job, raw_file_removed; validation_error for a limit of withdrawals in a mode without them
 */
export async function getPermittedTarget(
  db: Database,
  id: string,
  scope: PartnerScope,
  request: RunRequest,
): Promise<RunTarget> {
  const target = await getRunTarget(db, id, scope);
  const { maxWithdrawn } = request;
  if (maxWithdrawn === undefined || target.mode === 'replace') return { ...target, ...request };
  const msg = "Input should be absent unless the mode of the feed is 'replace'";
  const loc = ['query', 'max_withdrawn'];
  throw invalidShape([{ type: 'not_replace', loc, msg, input: String(maxWithdrawn) }]);
}

/** @throws job_not_found, not_a_validation_job, raw_file_removed */
async function getRunTarget(db: Database, id: string, scope: PartnerScope): Promise<RunTarget> {
  const jobId = parseId('JV', id);
  const target = jobId === undefined ? null : await findRunTarget(db, jobId, scope);
  if (target?.rawFileRemovedAt) throw rawFileRemoved(formatId('FD', target.feedId), target.rawFileRemovedAt);
  if (target) return target;
  throw (await findJob(db, id, scope)) ? notAValidationJob() : jobToRunNotFound();
}

/** Plan of a run, with one page of its changes. */
export interface JobPlan {
  jobId: string;
  feedId: number;
  status: 'completed' | 'failed';
  message: string;
  summary: RunCounters;
  issueCounts: RowIssueCount[];
  changes: ProductChange[];
  withheldLines?: number[];
  newerFeedId?: string;
  nextCursor?: string;
}

/**
 * Plans a run of a validation job (dry run).
 * @param request - permissions of the run
 * @throws job_not_found, not_a_validation_job, raw_file_removed, invalid_cursor, validation_error, unavailable
 */
export async function planJob(
  { db, worker }: Pick<RunServices, 'db' | 'worker'>,
  id: string,
  scope: PartnerScope,
  { cursor, ...query }: ChangeQuery,
  request: RunRequest,
): Promise<JobPlan> {
  const position = parseChangePosition(cursor, query.sort);
  const target = await getPermittedTarget(db, id, scope, request);
  const plan = await worker.plan(target, { ...query, ...position });
  return {
    jobId: formatId('JV', target.jobId),
    feedId: target.feedId,
    status: plan.failureReason === null ? 'completed' : 'failed',
    message: endText(plan.failureReason, plan.counters),
    summary: plan.counters,
    issueCounts: plan.issueCounts,
    changes: plan.changes,
    withheldLines: plan.withheldLines,
    newerFeedId: plan.newerFeedId === undefined ? undefined : formatId('FD', plan.newerFeedId),
    nextCursor: plan.next && formatChangePosition(plan.next, query.sort),
  };
}
