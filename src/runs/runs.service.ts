import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { jobAlreadyRunning, jobToRunNotFound, notAValidationJob, unavailable } from '../shared/errors';
import type { ProductChange } from '../etl/load';
import type { RowIssueCount } from '../etl/row-issues';
import type { RunCounters } from '../etl/run-result';
import { formatId, parseId } from '../shared/ids';
import { followJob, type JobChanges } from '../jobs/job-changes';
import { endText, findJob, getJob, hasEnded, parsePosition, type Job } from '../jobs/jobs.service';
import type { PartnerScope } from '../shared/caller';
import { findRunTarget, queuedRunAttempts, requestRun, type RunTarget } from './queue.repository';
import type { RunWorker } from './worker';

/** Maximum time that a transaction other than a run locks a job. */
const lockedMilliseconds = 200;

/** Dependencies of runs and plans. */
export interface RunServices {
  db: Database;
  changes: JobChanges;
  worker: RunWorker;
}

/**
 * Requests a run of a validation job and waits for its end.
 *
 * It runs in this process as soon as a slot is free, unless another process claims it first.
 * @throws job_to_run_not_found, not_a_validation_job, job_already_running, job_already_waiting, unavailable
 */
export async function runJob(
  { db, changes, worker }: RunServices,
  id: string,
  scope: PartnerScope,
  isAborted: () => boolean,
): Promise<Job> {
  const target = await getRunTarget(db, id, scope);
  const states = (isOver: () => boolean) => followJob(db, changes, id, scope, isOver);
  const untilClaimed = async (signal: AbortSignal) => {
    for await (const { status } of states(() => signal.aborted)) if (status !== 'queued') return;
  };
  do {
    const outcome = await worker.run(target, untilClaimed);
    if (outcome === 'unavailable') throw unavailable('the run could not be recorded');
    if (outcome !== 'not_claimed') return getJob(db, id, scope);
    // Another process has claimed it, or has locked it briefly.
    await sleep(lockedMilliseconds);
    let isRunning = false;
    // A run in progress is awaited even while this process shuts down.
    for await (const job of states(() => isAborted() && !isRunning)) {
      if (hasEnded(job)) return job;
      if (job.status === 'queued') break;
      isRunning = true;
    }
  } while (!isAborted());
  throw unavailable('the run has not ended yet');
}

/**
 * Enqueues a run of a validation job without waiting. A queued run keeps its position.
 * @throws job_to_run_not_found, not_a_validation_job, job_already_running
 */
export async function queueJob({ db, worker }: RunServices, id: string, scope: PartnerScope): Promise<void> {
  const target = await getRunTarget(db, id, scope);
  if (!(await requestRun(db, target, queuedRunAttempts))) throw jobAlreadyRunning(id);
  worker.wake();
}

/** @throws job_to_run_not_found, not_a_validation_job */
async function getRunTarget(db: Database, id: string, scope: PartnerScope): Promise<RunTarget> {
  const jobId = parseId('JV', id);
  const target = jobId === undefined ? null : await findRunTarget(db, jobId, scope);
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
  nextCursor?: string;
}

/**
 * Plans a run of a validation job (dry run).
 * @param page - `limit` changes after `cursor`, the `nextCursor` of the previous page
 * @throws job_to_run_not_found, not_a_validation_job, invalid_query, unavailable
 */
export async function planJob(
  { db, worker }: Pick<RunServices, 'db' | 'worker'>,
  id: string,
  scope: PartnerScope,
  page: { limit: number; cursor?: string },
): Promise<JobPlan> {
  const afterRow = parsePosition(page.cursor);
  const target = await getRunTarget(db, id, scope);
  const plan = await worker.plan(target, { afterRow, limit: page.limit });
  return {
    jobId: formatId('JV', target.jobId),
    feedId: target.feedId,
    status: plan.failureReason === null ? 'completed' : 'failed',
    message: endText(plan.failureReason, plan.counters),
    summary: plan.counters,
    issueCounts: plan.issueCounts,
    changes: plan.changes,
    nextCursor: plan.hasMore ? String(plan.changes.at(-1)!.row) : undefined,
  };
}
