import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { jobWithoutRun, notAJobToCancel, unavailable } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { isRunning, requestCancel } from './cancel.repository';
import { getJob, type Job } from '../jobs/jobs.service';
import type { RunNumber } from '../jobs/run-progress.repository';
import { jobWatchMilliseconds } from '../jobs/job-changes';

/** How long the answer to a cancellation waits for the run to end. */
export const cancelWaitMilliseconds = 10_000;

/**
 * Stops the run of a validation job, and waits for its end, for up to ten seconds and while somebody wants to know.
 * @returns the job as it is then, and whether the run has ended
 * @throws job_not_found, not_a_validation_job, no_run
 */
export async function cancelRun(
  db: Database,
  id: string,
  scope: PartnerScope,
  isAborted: () => boolean,
): Promise<{ job: Job; hasEnded: boolean }> {
  const { type } = await getJob(db, id, scope);
  if (type !== 'validation') throw notAJobToCancel();
  const deadline = performance.now() + cancelWaitMilliseconds;
  const hasEnded = await endRun(db, parseId('JV', id)!, () => performance.now() >= deadline || isAborted());
  if (hasEnded === 'none') throw jobWithoutRun(id);
  return { job: await getJob(db, id, scope), hasEnded };
}

/** @returns whether the run has ended before `isOver`; 'none' when there was none. @throws unavailable when none was told */
async function endRun(db: Database, jobId: number, isOver: () => boolean): Promise<boolean | 'none'> {
  let told: RunNumber | undefined;
  do {
    if (told) {
      // One that has begun since was asked for by somebody who knew that.
      if (!(await isRunning(db, told))) return true;
    } else {
      const met = await inTransaction(db, 'request', (trx) => requestCancel(trx, jobId));
      if (met === 'ended') return true;
      if (met === 'none') return met;
      if (met !== 'about to change') told = { jobId, ...met };
    }
    await sleep(jobWatchMilliseconds);
  } while (!isOver());
  if (told === undefined) throw unavailable('the run could not be told to stop');
  return false;
}
