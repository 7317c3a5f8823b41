import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { lockJob } from './claims.repository';
import { cancelQueuedRun } from './run-ends.repository';
import { failOrphan } from './recovery';
import { findPendingRun, lockJobRow } from './pending-runs.repository';

/** Result of a cancellation request; a number: the run in progress that was requested to stop. */
type Cancellation = 'ended' | 'none' | { run: number } | 'changing';

/** Dequeues a queued run, fails an orphaned run, or requests a run in progress to stop. Idempotent, and safe to call concurrently. */
export async function requestCancel(trx: Knex.Transaction, jobId: number): Promise<Cancellation> {
  if (!(await lockJob(trx, jobId))) {
    // Otherwise, the claim is not visible as `running` yet, or the run is just ending.
    return (await requestStop(trx, jobId)) ?? 'changing';
  }
  await lockJobRow(trx, jobId);
  const pending = await findPendingRun(trx, jobId);
  if (!pending) return 'none';
  if (pending.status === 'queued') await cancelQueuedRun(trx, pending);
  else await failOrphan(trx, { ...pending, isCancelled: true });
  return 'ended';
}

/** Requests the run in progress to stop. @returns undefined if there is none, or it is just ending */
async function requestStop(trx: Knex.Transaction, jobId: number): Promise<{ run: number } | undefined> {
  const [stopping] = await queryRows<{ run: number }>(
    trx,
    sql`with job as materialized (
      select job_id from validation_jobs where job_id = ${jobId} for no key update skip locked
    )
    update runs set cancel_requested = true
    where (job_id, run) in (
      select job_id, run from runs join job using (job_id) where status = 'running' for no key update of runs skip locked
    )
    returning run`,
  );
  return stopping;
}
