import type { Knex } from 'knex';
import type { Database } from '../db/database';
import type { FeedToRun } from '../etl/raw-file';
import {
  largeFeedBytes,
  lockSql,
  reservationKey,
  reservedLockSql,
  withoutResult,
  type RunTarget,
} from './queue.repository';

/** Reverts in the queue, with the columns of jobs in it. */
export const revertsSql = `
  select runs.job_id, feed_id, requested_at as run_requested_at, runs.attempts_left, runs.status, run as revert,
    partner_id as run_partner_id
  from runs join validation_jobs using (job_id) join feeds using (feed_id)
  where kind = 'revert' and runs.status in ('queued', 'running')`;

/** Whether an entry of the queue is the first one of its partner. */
const isFirstSql = `
  not exists (
    select from validation_jobs as earlier
    where earlier.run_partner_id = job.run_partner_id
      and earlier.run_requested_at is not null and earlier.status in ('queued', 'running')
      and (earlier.run_requested_at, earlier.job_id) < (job.run_requested_at, job.job_id)
  ) and not exists (
    select from reverts as earlier
    where earlier.run_partner_id = job.run_partner_id
      and (earlier.run_requested_at, earlier.job_id) < (job.run_requested_at, job.job_id)
  )`;

/** First queued run of each partner without a run in progress, by position; `revert` is null for a load. */
const queuedSql = `
  with reverts as materialized (${revertsSql})
  select job_id, feed_id, run_requested_at, attempts_left, cast(null as integer) as revert
  from validation_jobs as job
  where run_requested_at is not null and status = 'queued' and ${isFirstSql}
  union all
  select job_id, feed_id, run_requested_at, attempts_left, revert
  from reverts as job
  where status = 'queued' and ${isFirstSql}
  order by run_requested_at, job_id`;

/**
 * Whether any process may claim a run. One attempt means that a client is waiting for it: the process of that client has two
 * seconds to claim it, because another process may have another object store.
 */
const isForAnyProcessSql = "(attempts_left > 1 or run_requested_at < now() - interval '2 s')";

/**
 * Run to be claimed: that of a job, regardless of its position, or the next one. `revert`: the number of a revert; else a load.
 * `isReserved`: this process has reserved the job, and claims an orphaned run too.
 */
export type Claim = { jobId: number; revert?: number | null; isReserved?: boolean } | { next: NextRun };

/** Feeds whose run may be next. */
type NextRun = 'of any size' | 'of a small feed';

const isAnySize = (next: NextRun) => next === 'of any size';

/** Claimed run, which is started next. `backend` is the server process, also behind a pooler; `revert` the number of a revert, null for a load. */
export type ClaimedRun = Omit<FeedToRun, keyof StartedRun> & {
  backend: number;
  revert: number | null;
  /** For the log. */
  partnerName: string;
  requestId: string | null;
};

const claimedColumns = `
  job_id as "jobId", feed_id as "feedId", partner_id as "partnerId", raw_file_object_key as "objectKey",
  size_bytes as "sizeBytes", sha256, mode, collection, is_collection_named as "isCollectionNamed",
  cast(max_skipped_percent as double precision) as "maxSkippedPercent",
  cast(max_price_jump_percent as double precision) as "maxPriceJumpPercent", format_definition as format, job.revert,
  pg_backend_pid() as backend, partner_name as "partnerName",
  case when job.revert is null then validation_jobs.request_id
    else (select request_id from runs where (runs.job_id, runs.run) = (job.job_id, job.revert)) end as "requestId"`;

const claimedTables =
  'job join validation_jobs using (job_id, feed_id) join feeds using (feed_id) join partners using (partner_id)';

/**
 * Claims the first suitable run whose locks are free: `limit 1` stops at the first success.
 *
 * Each part is materialized, so that the planner cannot lock rows that other conditions exclude.
 */
const claimNextSql = `
  with queued as materialized (${queuedSql}), suitable as materialized (
    select job_id, feed_id, revert from queued
    where ${isForAnyProcessSql} and (cast(:isAny as boolean) or (select size_bytes < :largeFeedBytes from feeds where feeds.feed_id = queued.feed_id))
  ), job as materialized (
    select job_id, feed_id, revert from suitable as job where ${lockSql} limit 1
  )
  select ${claimedColumns} from ${claimedTables}`;

const claimJobSql = (lock: string) => `
  with job as materialized (
    select job_id, feed_id, cast(:revert as integer) as revert
    from (select job_id, feed_id from validation_jobs where job_id = :jobId) as job where ${lock}
  )
  select ${claimedColumns} from ${claimedTables}`;

/**
 * Claims a run for the transaction. `markRunning` then checks that the job is still queued.
 * @returns undefined when there is none, or another transaction has claimed it
 */
export async function claimRun(trx: Knex.Transaction, claim: Claim): Promise<ClaimedRun | undefined> {
  const { rows } = await ('jobId' in claim
    ? trx.raw<{ rows: ClaimedRun[] }>(claimJobSql(claim.isReserved ? reservedLockSql : lockSql), {
        jobId: claim.jobId,
        revert: claim.revert ?? null,
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

/** Run in progress, with what its requests allow: a request may have joined it since the claim. */
export interface StartedRun extends Pick<FeedToRun, 'maxWithdrawn' | 'maxWithdrawnPercent' | 'allowOlder'> {
  /** Number of the run, from 1. */
  run: number;
}

/**
 * Marks the claimed run as running, on a second connection: the claim's own changes are invisible until it commits.
 * @param isRepeated - whether an orphaned run may restart; not if it is to be cancelled
 * @returns undefined when the job is no longer queued
 */
export async function markRunning(
  db: Database,
  jobId: number,
  isRepeated = false,
): Promise<StartedRun | undefined> {
  const { rows } = await db.raw<{ rows: StartedRun[] }>(
    `with job as (
       update validation_jobs
       set status = 'running', run_count = run_count + 1, attempts_left = attempts_left - 1, queued_at = null,
         started_at = now(), ${withoutResult}
       where job_id = :jobId and run_requested_at is not null
         and (status = 'queued' or (:isRepeated and status = 'running' and not cancel_requested))
       returning feed_id, run_count, max_withdrawn, max_withdrawn_percent, allow_older
     ), feed as (
       update feeds set status = 'validating' from job where feeds.feed_id = job.feed_id
     )
     select run_count as run, max_withdrawn as "maxWithdrawn", max_withdrawn_percent as "maxWithdrawnPercent",
       allow_older as "allowOlder"
     from job`,
    { jobId, isRepeated },
  );
  return rows[0];
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
