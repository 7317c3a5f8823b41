import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../base/db/database';
import { inTransaction } from '../base/db/transaction';
import { jobWithoutRun, notAJobToCancel, unavailable } from '../base/errors';
import { parseId } from '../base/ids';
import type { PartnerScope } from '../base/caller';
import { requestCancel } from './queue/cancel.repository';
import { findPendingRun } from './queue/pending-runs.repository';
import { getJob, type Job } from './jobs/jobs.service';
import { jobPollMilliseconds } from './jobs/job-changes';

export const cancelLimits = {
  /** Maximum time that a cancellation waits for the end of the run. */
  waitMilliseconds: 10_000,
};

/**
 * Cancels the run of a validation job, and waits up to ten seconds for its end.
 * @param isAborted - whether the client has disconnected or the service shuts down
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
  const deadline = performance.now() + cancelLimits.waitMilliseconds;
  const isOver = () => performance.now() >= deadline || isAborted();
  const hasEnded = await endRun(db, parseId('JV', id)!, isOver);
  if (hasEnded === 'none') throw jobWithoutRun(id);
  return { job: await getJob(db, id, scope), hasEnded };
}

/** @returns whether the run ended in time; 'none' when there was none. @throws unavailable when the request failed */
async function endRun(db: Database, jobId: number, isOver: () => boolean): Promise<boolean | 'none'> {
  let cancelled: number | undefined;
  do {
    if (cancelled !== undefined) {
      // The cancelled run is no longer pending.
      if ((await findPendingRun(db, jobId))?.run !== cancelled) return true;
    } else {
      const result = await inTransaction(db, 'request', (trx) => requestCancel(trx, jobId));
      if (result === 'ended') return true;
      if (result === 'none') return result;
      if (result !== 'changing') cancelled = result.run;
    }
    await sleep(jobPollMilliseconds);
  } while (!isOver());
  if (cancelled === undefined) throw unavailable('failed to request the cancellation');
  return false;
}
