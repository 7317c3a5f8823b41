import type { Knex } from 'knex';
import { limits } from '../limits';

/** What the queue is asked to do. Large feeds are told apart, so that they cannot take every place. */
export type RunTask = 'run_feed' | 'run_large_feed';

/** What a task is told. */
export interface RunPayload {
  job_id: number;
}

/** By which a run is found in the queue: a job is there once. */
const keyOf = (jobId: number) => `run ${jobId}`;

/**
 * Puts a run into the queue, within the transaction; one that waits there already keeps its place. Those of one partner
 * come one after the other, in the order in which they were put there.
 */
export async function addToQueue(trx: Knex.Transaction, jobId: number): Promise<void> {
  await trx.raw(
    `select graphile_worker.add_job(
       identifier => case when size_bytes < :largeBytes then 'run_feed' else 'run_large_feed' end,
       payload => json_build_object('job_id', job_id),
       queue_name => 'partner ' || partner_id,
       max_attempts => :attempts,
       job_key => :key,
       job_key_mode => 'preserve_run_at'
     )
     from validation_jobs join feeds using (feed_id) where job_id = :jobId`,
    { jobId, key: keyOf(jobId), largeBytes: limits.largeFeedBytes, attempts: limits.queuedRunAttempts },
  );
}

/** A run in the queue, as far as we want to know. */
interface QueuedRun {
  locked_by: string | null;
  /** A worker that works on it would have begun by now. */
  is_overdue: boolean;
  may_be_tried: boolean;
}

async function find(trx: Knex.Transaction, jobId: number): Promise<QueuedRun | undefined> {
  const { rows } = await trx.raw<{ rows: QueuedRun[] }>(
    `select locked_by, locked_at < now() - :overdue * interval '1 millisecond' as is_overdue,
       attempts < max_attempts as may_be_tried
     from graphile_worker.jobs where key = :key`,
    { key: keyOf(jobId), overdue: limits.queuedRunOverdueMilliseconds },
  );
  return rows[0];
}

async function free(trx: Knex.Transaction, { locked_by }: QueuedRun): Promise<void> {
  if (locked_by) await trx.raw('select graphile_worker.force_unlock_workers(array[?])', [locked_by]);
}

/**
 * Has a run that was interrupted tried again: frees it from the worker that has died. To be called by who holds the job's
 * claim.
 * @returns false when it did not come from the queue, or was tried as often as it may be
 */
export async function returnToQueue(trx: Knex.Transaction, jobId: number): Promise<boolean> {
  const run = await find(trx, jobId);
  if (!run?.may_be_tried) return false;
  await free(trx, run);
  return true;
}

/**
 * Whether a run that waits will have its turn; it is freed from a worker that has died before it could begin. To be called
 * by who holds the job's claim.
 */
export async function willBeRun(trx: Knex.Transaction, jobId: number): Promise<boolean> {
  const run = await find(trx, jobId);
  if (!run) return false;
  if (run.locked_by !== null && !run.is_overdue) return true;
  if (!run.may_be_tried) return false;
  await free(trx, run);
  return true;
}
