import type { Knex } from 'knex';
import type { Database } from '../db/database';
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

/** How a run is found in the queue. */
interface TakenBack {
  /** `left`: somebody had it, and has not any more. `kept`: somebody still has it. */
  wasTaken: 'by nobody' | 'left' | 'kept';
  /** Not when it is not in the queue, or was tried as often as it may be. */
  mayBeTried: boolean;
}

/**
 * Takes a run back from whoever has it, and lets the next one of its partner begin: to be called by who holds the job's
 * claim, so that nobody who is alive has begun it. One who was about to looks whether it still waits.
 * @param from - `the dead`: only from somebody of whom nothing was heard for too long. Who has ended a run and is about to
 *   say so to the queue must keep it: two who say so of one run leave their partner's turn taken
 */
export async function takeBack(
  trx: Knex.Transaction,
  jobId: number,
  from: 'anybody' | 'the dead',
): Promise<TakenBack> {
  type Row = { locked_by: string | null; is_left: boolean | null; may_be_tried: boolean };
  const { rows } = await trx.raw<{ rows: Row[] }>(
    `select locked_by, locked_at < now() - :milliseconds * interval '1 millisecond' as is_left,
       attempts < max_attempts as may_be_tried
     from graphile_worker.jobs where key = :key`,
    { key: keyOf(jobId), milliseconds: limits.queuedRunOverdueMilliseconds },
  );
  const [run] = rows;
  const mayBeTried = run?.may_be_tried ?? false;
  if (!run?.locked_by) return { wasTaken: 'by nobody', mayBeTried };
  if (from === 'the dead' && !run.is_left) return { wasTaken: 'kept', mayBeTried };
  await trx.raw('select graphile_worker.force_unlock_workers(array[?])', [run.locked_by]);
  return { wasTaken: 'left', mayBeTried };
}

/** Takes a run out of the queue for good; nothing happens when it is not there. For who holds the job's claim. */
export async function removeFromQueue(trx: Knex.Transaction, jobId: number): Promise<void> {
  await trx.raw('select graphile_worker.remove_job(?)', [keyOf(jobId)]);
}

/**
 * Frees the turns that are taken and that nobody has: of two workers who took one run, because the first was cut off for too
 * long, the second finds nothing to give back. Safe at any time: a turn is taken and given back together with its run.
 */
export async function freeLeftTurns(db: Database): Promise<void> {
  await db.raw(
    `update graphile_worker._private_job_queues as turn
     set locked_by = null, locked_at = null
     where locked_at < now() - ? * interval '1 millisecond' and not exists (
       select from graphile_worker._private_jobs where job_queue_id = turn.id and locked_by is not null
     )`,
    [limits.queuedRunOverdueMilliseconds],
  );
}

/**
 * Says that a run which was taken from the queue, and its partner's turn, still have somebody. The queue knows that by when it was taken, and offers no
 * other way to say it.
 */
export async function keepTaken(
  db: Database,
  queueJob: { id: string; locked_by: string | null },
): Promise<void> {
  await db.raw(
    `with job as (
       update graphile_worker._private_jobs set locked_at = now() where id = :id and locked_by = :worker
       returning job_queue_id
     )
     update graphile_worker._private_job_queues as turn set locked_at = now() from job
     where turn.id = job.job_queue_id and turn.locked_by = :worker`,
    { id: queueJob.id, worker: queueJob.locked_by },
  );
}

/**
 * The jobs of runs that seem to have been left: taken from the queue by somebody of whom nothing was heard for so long, or
 * waiting where nobody will look for them. Whether it is so shows in the job's claim.
 */
export async function findLeftRuns(db: Database): Promise<number[]> {
  const { rows } = await db.raw<{ rows: { job_id: number }[] }>(
    `with overdue as (select now() - :milliseconds * interval '1 millisecond' as time)
     select cast(substring(key from 5) as bigint) as job_id
     from graphile_worker.jobs, overdue where key like 'run %' and locked_at < overdue.time
     union
     select job_id
     from overdue join validation_jobs on queued_at < overdue.time
     left join graphile_worker.jobs on key = 'run ' || job_id
     where key is null or (locked_at is null and attempts >= max_attempts)`,
    { milliseconds: limits.queuedRunOverdueMilliseconds },
  );
  return rows.map(({ job_id }) => job_id);
}
