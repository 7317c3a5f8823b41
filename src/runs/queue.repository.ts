import type { Knex } from 'knex';
import type { Database } from '../db/database';
import type { FeedToRun } from '../etl/raw-file';
import type { PartnerScope } from '../shared/caller';

/*
 * The queue of runs is the table of jobs. A run is in the queue from its request to its end, at the position
 * `run_requested_at`; its `status` is `queued` or `running`.
 *
 * A claim is an advisory lock of the transaction that loads the products. The lock ends with the transaction, also when the
 * process or the connection dies: there is no lease to renew, and a running job without lock is orphaned. The low byte
 * of the key separates it from other locks; release 1.2.0 uses the same key.
 *
 * A second lock reserves a job for the process that repeats its run; all others need both locks, in this order.
 */
const runKey = '(job.job_id << 8) | 1';
const reservationKey = '(job.job_id << 8) | 2';
const reservedLockSql = `pg_try_advisory_xact_lock(${runKey})`;
const lockSql = `case when pg_try_advisory_xact_lock(${reservationKey}) then ${reservedLockSql} else false end`;

/** Minimum size of a large feed. */
export const largeFeedBytes = 16 * 1024 * 1024;

/** Maximum attempts of a run without a waiting client, if its process dies each time. */
export const queuedRunAttempts = 5;

/** Job to be run. */
export interface RunTarget {
  jobId: number;
  feedId: number;
  partnerId: number;
  isLarge: boolean;
}

/** Finds a validation job to run; null when there is none in the scope. */
export async function findRunTarget(
  db: Database,
  jobId: number,
  scope: PartnerScope,
): Promise<RunTarget | null> {
  const { rows } = await db.raw<{ rows: RunTarget[] }>(
    `select job_id as "jobId", feed_id as "feedId", partner_id as "partnerId", size_bytes >= :largeFeedBytes as "isLarge"
     from (select job_id, feed_id from validation_jobs where job_id = :jobId) as job
     join feeds using (feed_id) join partners using (partner_id)
     where cast(:scope as text) is null or partner_name = :scope`,
    { jobId, scope, largeFeedBytes },
  );
  return rows[0] ?? null;
}

/** Clears the results of the last run. */
const withoutResult = `
  progress = null, cancel_requested = false, finished_at = null, failure_reason = null, processed = null, inserted = null,
  updated = null, unchanged = null, skipped = null`;

const waits = "(status = 'queued' and coalesce(run_requested_at, queued_at) is not null)";

/**
 * Enqueues a run of the job. A queued run keeps its position; an orphaned run is replaced.
 * @param attempts - maximum number of attempts
 * @returns whether a run was queued already; undefined when the job is running
 */
export async function requestRun(
  db: Database,
  { jobId, partnerId }: RunTarget,
  attempts: number,
): Promise<{ waited: boolean } | undefined> {
  const { rows } = await db.raw<{ rows: { waited: boolean }[] }>(
    `with before as materialized (
       select job_id, status, ${waits} as waited from validation_jobs where job_id = :jobId for no key update
     ), job as (
       update validation_jobs as job
       set status = 'queued', started_at = null, ${withoutResult}, run_partner_id = :partnerId,
         run_requested_at = case when waited then coalesce(run_requested_at, queued_at) else statement_timestamp() end,
         attempts_left = case when waited then greatest(attempts_left, :attempts) else :attempts end
       from before
       where job.job_id = before.job_id and case when before.status = 'running' then ${lockSql} else true end
       returning feed_id, waited
     ), feed as (
       -- Only an orphaned run leaves such a state.
       update feeds set status = 'processing' from job
       where feeds.feed_id = job.feed_id and feeds.status in ('validating', 'validated')
     )
     select waited from job`,
    { jobId, partnerId, attempts },
  );
  return rows[0];
}

/** Dequeues a run that has not started, unless a request without a waiting client has joined it. */
export async function withdrawRun(db: Database, { jobId }: Pick<RunTarget, 'jobId'>): Promise<void> {
  await db.raw(
    `update validation_jobs set run_requested_at = null
     where job_id = ? and status = 'queued' and run_requested_at is not null and attempts_left = 1`,
    [jobId],
  );
}

/** First queued run of each partner without a run in progress, by position. */
const queuedSql = `
  select job_id, feed_id, run_requested_at, attempts_left
  from validation_jobs as job
  where run_requested_at is not null and status = 'queued' and not exists (
    select from validation_jobs as earlier
    where earlier.run_partner_id = job.run_partner_id
      and earlier.run_requested_at is not null and earlier.status in ('queued', 'running')
      and (earlier.run_requested_at, earlier.job_id) < (job.run_requested_at, job.job_id)
  )
  order by run_requested_at, job_id`;

/**
 * Whether any process may claim a run. One attempt means that a client is waiting for it: the process of that client has two
 * seconds to claim it, because another process may have another object store.
 */
const isForAnyProcessSql = "(attempts_left > 1 or run_requested_at < now() - interval '2 s')";

/**
 * Run to be claimed: that of a job, regardless of its position, or the next one. `isReserved`: this process has reserved the
 * job, and claims an orphaned run too.
 */
export type Claim = { jobId: number; isReserved?: boolean } | { next: NextRun };

/** Feeds whose run may be next. */
type NextRun = 'of any size' | 'of a small feed';

const isAnySize = (next: NextRun) => next === 'of any size';

/** Claimed run. `backend` is the server process, also behind a pooler. */
export type ClaimedRun = FeedToRun & { backend: number };

const claimedColumns = `
  job_id as "jobId", feed_id as "feedId", partner_id as "partnerId", raw_file_object_key as "objectKey",
  size_bytes as "sizeBytes", sha256, pg_backend_pid() as backend`;

/**
 * Claims the first suitable run whose locks are free: `limit 1` stops at the first success.
 *
 * Each part is materialized, so that the planner cannot lock rows that other conditions exclude.
 */
const claimNextSql = `
  with queued as materialized (${queuedSql}), suitable as materialized (
    select job_id, feed_id from queued
    where ${isForAnyProcessSql} and (cast(:isAny as boolean) or (select size_bytes < :largeFeedBytes from feeds where feeds.feed_id = queued.feed_id))
  ), job as materialized (
    select job_id, feed_id from suitable as job where ${lockSql} limit 1
  )
  select ${claimedColumns} from job join feeds using (feed_id)`;

const claimJobSql = (lock: string) => `
  with job as materialized (
    select job_id, feed_id from (select job_id, feed_id from validation_jobs where job_id = :jobId) as job where ${lock}
  )
  select ${claimedColumns} from job join feeds using (feed_id)`;

/**
 * Claims a run for the transaction. `markRunning` then checks that the job is still queued.
 * @returns undefined when there is none, or another transaction has claimed it
 */
export async function claimRun(trx: Knex.Transaction, claim: Claim): Promise<ClaimedRun | undefined> {
  const { rows } = await ('jobId' in claim
    ? trx.raw<{ rows: ClaimedRun[] }>(claimJobSql(claim.isReserved ? reservedLockSql : lockSql), {
        jobId: claim.jobId,
      })
    : trx.raw<{ rows: ClaimedRun[] }>(claimNextSql, { isAny: isAnySize(claim.next), largeFeedBytes }));
  return rows[0];
}

/** Locks a job for the transaction, so that it cannot be claimed. @returns false if it is claimed */
export async function lockJob(trx: Knex.Transaction, jobId: number): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { locked: boolean }[] }>(
    `select ${lockSql} as locked from (select cast(? as bigint) as job_id) as job`,
    [jobId],
  );
  return rows[0]!.locked;
}

/** Reserves a job for the transaction; waits until another reservation ends. */
export async function reserveJob(trx: Knex.Transaction, jobId: number): Promise<void> {
  await trx.raw(
    `select pg_advisory_xact_lock(${reservationKey}) from (select cast(? as bigint) as job_id) as job`,
    [jobId],
  );
}

/**
 * Marks the claimed run as running, on a second connection: the claim's own changes are invisible until it commits.
 * @param isRepeated - whether an orphaned run may restart; not if it is to be cancelled
 * @returns the number of the run, from 1; undefined when the job is no longer queued
 */
export async function markRunning(
  db: Database,
  jobId: number,
  isRepeated = false,
): Promise<number | undefined> {
  const { rows } = await db.raw<{ rows: { run_count: number }[] }>(
    `with job as (
       update validation_jobs
       set status = 'running', run_count = run_count + 1, attempts_left = attempts_left - 1, queued_at = null,
         started_at = now(), ${withoutResult}
       where job_id = :jobId and run_requested_at is not null
         and (status = 'queued' or (:isRepeated and status = 'running' and not cancel_requested))
       returning feed_id, run_count
     ), feed as (
       update feeds set status = 'validating' from job where feeds.feed_id = job.feed_id
     )
     select run_count from job`,
    { jobId, isRepeated },
  );
  return rows[0]?.run_count;
}

/** Lists at most `max` runs that can be claimed now, by position. */
export async function listClaimable(
  db: Database,
  next: NextRun,
  max: number,
): Promise<Pick<RunTarget, 'jobId' | 'isLarge'>[]> {
  const { rows } = await db.raw<{ rows: Pick<RunTarget, 'jobId' | 'isLarge'>[] }>(
    `select job_id as "jobId", size_bytes >= :largeFeedBytes as "isLarge"
     from (${queuedSql}) as job join feeds using (feed_id)
     where ${isForAnyProcessSql} and (cast(:isAny as boolean) or size_bytes < :largeFeedBytes)
     order by run_requested_at, job_id limit :max`,
    { isAny: isAnySize(next), max, largeFeedBytes },
  );
  return rows;
}

/** Measures the length of the queue, and the age of the oldest run; 0 when it is empty. */
export async function measureQueue(db: Database): Promise<{ runs: number; oldestSeconds: number }> {
  const { rows } = await db.raw<{ rows: [{ runs: number; oldestSeconds: number }] }>(
    `select cast(count(*) as integer) as runs,
       cast(greatest(extract(epoch from now() - min(run_requested_at)), 0) as double precision) as "oldestSeconds"
     from validation_jobs where run_requested_at is not null and status = 'queued'`,
  );
  return rows[0];
}

/** Running job without claim: its process died. */
export interface OrphanedRun {
  job_id: number;
  /** Number of the run, from 1. */
  run_count: number;
  attempts_left: number;
  cancel_requested: boolean;
}

/** Finds orphaned runs, and locks them for the transaction. */
export async function lockOrphanedRuns(trx: Knex.Transaction): Promise<OrphanedRun[]> {
  // The status is checked again before the lock: the row may have changed while `for no key update` waited.
  const { rows } = await trx.raw<{ rows: OrphanedRun[] }>(
    `select job_id, run_count, attempts_left, cancel_requested from validation_jobs as job
     where status = 'running' and case when status = 'running' then ${lockSql} end
     for no key update`,
  );
  return rows;
}

/** Locks a job that the transaction has reserved; waits for its claim to end. @returns its orphaned run, if any */
export async function lockReservedRun(
  trx: Knex.Transaction,
  jobId: number,
): Promise<OrphanedRun | undefined> {
  await trx.raw(`select pg_advisory_xact_lock(${runKey}) from (select cast(? as bigint) as job_id) as job`, [
    jobId,
  ]);
  return trx<OrphanedRun & { status: string }>('validation_jobs')
    .where({ job_id: jobId, status: 'running' })
    .forNoKeyUpdate()
    .first('job_id', 'run_count', 'attempts_left', 'cancel_requested');
}

/** Requeues an orphaned run at its position. The caller has locked the job. */
export async function requeueRun(trx: Knex.Transaction, jobId: number): Promise<void> {
  await trx.raw(
    `with job as (
       update validation_jobs set status = 'queued', started_at = null, progress = null where job_id = ? returning feed_id
     )
     update feeds set status = 'processing' from job where feeds.feed_id = job.feed_id`,
    [jobId],
  );
}
