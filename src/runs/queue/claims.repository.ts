import type { Knex } from 'knex';
import { queryRows, type Database } from '../../base/db/database';
import { takeLock, tryLock, tryLockSql } from '../../base/db/locks';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { FeedToRun } from '../etl/raw-file';
import type { RunNumber } from '../jobs/job-runs.repository';
import {
  lockedJobSql,
  lockJobRow,
  pendingColumns,
  type PendingRun,
  type RunOfKind,
} from './pending-runs.repository';
import { largeFeedBytes, type RunTarget } from './run-target.repository';

/*
 * A claim is an advisory lock of the transaction that loads the products. The lock ends with the transaction, also when the
 * process or the connection dies: there is no lease to renew, and a run in progress without a lock is orphaned. Release 1.2.0 uses
 * the same key.
 * A second lock reserves a job for the process that repeats its run; all other processes need both locks, in this order.
 */
const jobNumber = raw('job_id');
const reservedLockSql = tryLockSql('run', jobNumber);
const claimLockSql = sql`case when ${tryLockSql('reservation', jobNumber)} then ${reservedLockSql} else false end`;

/** First queued run of each partner without a run in progress, by position. */
const queuedSql = sql`
  select job_id, run, requested_at, attempts_left from runs as queued
  where status = 'queued' and not exists (
    select from runs as earlier
    where earlier.partner_id = queued.partner_id and earlier.status in ('queued', 'running')
      and (earlier.requested_at, earlier.job_id, earlier.run) < (queued.requested_at, queued.job_id, queued.run)
  )
  order by requested_at, job_id, run`;

/**
 * Whether any process may claim a run. The run of a waiting client has one attempt: the process of that client has two
 * seconds to claim it, because another process may have another object store. The last attempt of any other run is older than that.
 */
const isForAnyProcessSql = sql`(attempts_left > 1 or requested_at < now() - interval '2 s')`;

/**
 * Run to be claimed: this one, regardless of its position, or the next one. `isReserved`: this process has reserved the job, and
 * claims an orphaned run too.
 */
export type Claim = (RunNumber & { isReserved?: boolean }) | { next: NextRun };

/** Feeds whose run may be next. */
type NextRun = 'of any size' | 'of a small feed';

const isSizeOf = (next: NextRun): Sql =>
  next === 'of any size' ? raw('true') : sql`size_bytes < ${raw(largeFeedBytes)}`;

/** Claimed run, which is started next. `backend` is the server process, also behind a pooler. */
export type ClaimedRun = Omit<FeedToRun, keyof StartedRun> &
  RunOfKind & {
    backend: number;
    partnerName: string;
    requestId: string | null;
  };

/** Columns of the feed of a run, from `feeds`. */
const feedColumns = raw(`
  feed_id as "feedId", feeds.partner_id as "partnerId", raw_file_object_key as "objectKey", size_bytes as "sizeBytes", sha256,
  feeds.mode, collection, is_collection_named as "isCollectionNamed",
  cast(max_skipped_percent as double precision) as "maxSkippedPercent",
  cast(max_price_jump_percent as double precision) as "maxPriceJumpPercent", format_definition as format`);

/**
 * Selects the first of some runs whose locks are free: `limit 1` stops at the first success.
 *
 * Each part is materialized, so that the planner cannot lock rows that other conditions exclude.
 * @param candidates - selects `job_id` and `run`
 */
const claimSql = (candidates: Sql, lock: Sql): Sql => sql`
  with candidate as materialized (${candidates}), claimed as materialized (
    select job_id, run from candidate where ${lock} limit 1
  )
  select job_id as "jobId", run, kind, request_id as "requestId", partner_name as "partnerName",
    pg_backend_pid() as backend, ${feedColumns}
  from claimed join runs using (job_id, run) join validation_jobs using (job_id) join feeds using (feed_id)
    join partners on partners.partner_id = feeds.partner_id`;

const nextCandidates = (next: NextRun): Sql => sql`
  select job_id, run from (${queuedSql}) as queued
  where ${isForAnyProcessSql} and (
    select ${isSizeOf(next)} from validation_jobs join feeds using (feed_id) where validation_jobs.job_id = queued.job_id
  )`;

/**
 * Claims a run for the transaction. `startRun` then checks that it is still queued.
 * @returns undefined when there is none, or another transaction has claimed it
 */
export async function claimRun(trx: Knex.Transaction, claim: Claim): Promise<ClaimedRun | undefined> {
  const statement =
    'next' in claim
      ? claimSql(nextCandidates(claim.next), claimLockSql)
      : claimSql(
          sql`select job_id, run from runs where (job_id, run) = (${claim.jobId}, ${claim.run})`,
          claim.isReserved ? reservedLockSql : claimLockSql,
        );
  const [claimed] = await queryRows<ClaimedRun>(trx, statement);
  return claimed;
}

/** Gets the feed of an existing validation job. Permissions of earlier requests do not apply. */
export async function getFeedToRun(db: Database, jobId: number): Promise<FeedToRun> {
  const [feed] = await queryRows<Omit<FeedToRun, keyof StartedRun>>(
    db,
    sql`select job_id as "jobId", ${feedColumns} from validation_jobs join feeds using (feed_id) where job_id = ${jobId}`,
  );
  return { ...feed!, maxWithdrawn: null, maxWithdrawnPercent: null, allowOlder: false };
}

/** Locks a job for the transaction, so that its run cannot be claimed. @returns false if it is claimed */
export async function lockJob(trx: Knex.Transaction, jobId: number): Promise<boolean> {
  return (await tryLock(trx, 'reservation', jobId)) && (await tryLock(trx, 'run', jobId));
}

/** Reserves a job for the transaction; waits until another reservation ends. */
export const reserveJob = (trx: Knex.Transaction, jobId: number): Promise<void> =>
  takeLock(trx, 'reservation', jobId);

/** Permissions of a run's requests, as one may have joined it since the claim; and the run that a revert undoes. */
export interface StartedRun extends Pick<FeedToRun, 'maxWithdrawn' | 'maxWithdrawnPercent' | 'allowOlder'> {
  /** Null for a load. */
  revertsRun: number | null;
  skipsConflicts: boolean;
}

/**
 * Marks the claimed run as running, on a second connection: the claim's own changes are invisible until it commits.
 * @returns undefined when it is no longer queued
 */
export async function startRun(db: Database, { jobId, run }: RunNumber): Promise<StartedRun | undefined> {
  const [started] = await queryRows<StartedRun>(
    db,
    sql`with ${lockedJobSql(jobId)}, started as (
      update runs set status = 'running', attempts_left = attempts_left - 1, started_at = now()
      from job
      where runs.job_id = job.job_id and run = ${run} and status = 'queued'
      returning feed_id, kind, max_withdrawn, max_withdrawn_percent, allow_older, reverts_run, skips_conflicts
    ), feed as (
      update feeds set status = 'validating' from started where feeds.feed_id = started.feed_id and kind = 'load'
    )
    select max_withdrawn as "maxWithdrawn", max_withdrawn_percent as "maxWithdrawnPercent", allow_older as "allowOlder",
      reverts_run as "revertsRun", skips_conflicts as "skipsConflicts"
    from started`,
  );
  return started;
}

/** Lists at most `max` runs that can be claimed now, by position. */
export async function listClaimable(
  db: Database,
  next: NextRun,
  max: number,
): Promise<Pick<RunTarget, 'jobId' | 'isLarge'>[]> {
  return queryRows(
    db,
    sql`select job_id as "jobId", size_bytes >= ${largeFeedBytes} as "isLarge"
    from (${queuedSql}) as queued join validation_jobs using (job_id) join feeds using (feed_id)
    where ${isForAnyProcessSql} and ${isSizeOf(next)}
    order by requested_at, job_id, run limit ${max}`,
  );
}

/** Finds runs whose process died, and locks them for the transaction. Skips runs that another transaction has locked. */
export async function lockOrphanedRuns(trx: Knex.Transaction): Promise<PendingRun[]> {
  return queryRows(
    trx,
    sql`select ${pendingColumns} from validation_jobs join feeds using (feed_id) join runs using (job_id)
    where runs.status = 'running' and case when runs.status = 'running' then ${claimLockSql} end
    for no key update skip locked`,
  );
}

/** Locks a job that the transaction has reserved; waits for its claim to end. @returns its orphaned run, if any */
export async function lockReservedRun(trx: Knex.Transaction, jobId: number): Promise<PendingRun | undefined> {
  await takeLock(trx, 'run', jobId);
  await lockJobRow(trx, jobId);
  const [orphan] = await queryRows<PendingRun>(
    trx,
    sql`select ${pendingColumns} from runs where job_id = ${jobId} and status = 'running' for no key update`,
  );
  return orphan;
}
