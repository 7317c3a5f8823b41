import type { Knex } from 'knex';
import { lockKey } from '../db/locks';
import type { Database } from '../db/database';
import type { Encoding } from '../feed-format/format-definition';
import type { LoadMode } from '../feed-format/load-options';
import type { PartnerScope } from '../shared/caller';
import { repeatedReason } from '../shared/errors';

/*
 * The queue of runs is the table of jobs. A run is in the queue from its request to its end, at the position
 * `run_requested_at`; its `status` is `queued` or `running`. Reverts, which are few, are in the queue as rows of `runs`.
 *
 * A claim is an advisory lock of the transaction that loads the products. The lock ends with the transaction, also when the
 * process or the connection dies: there is no lease to renew, and a running job without lock is orphaned. Release 1.2.0 uses
 * the same key.
 *
 * A second lock reserves a job for the process that repeats its run; all others need both locks, in this order.
 */
export const runKey = lockKey('run', 'job.job_id');
export const reservationKey = lockKey('reservation', 'job.job_id');
export const reservedLockSql = `pg_try_advisory_xact_lock(${runKey})`;
export const lockSql = `case when pg_try_advisory_xact_lock(${reservationKey}) then ${reservedLockSql} else false end`;

/** Minimum size of a large feed. */
export const largeFeedBytes = 16 * 1024 * 1024;

/** Maximum attempts of a run without a waiting client, if its process dies each time. */
export const queuedRunAttempts = 5;

/** What the request of a run allows. */
export interface RunPermissions {
  /** Maximum number of withdrawn products; absent: the usual limit. */
  maxWithdrawn?: number;
  /** Maximum percentage of withdrawn products; absent: the usual limit. */
  maxWithdrawnPercent?: number;
  allowOlder?: boolean;
}

/** The request of a run. */
export interface RunRequest extends RunPermissions {
  /** As `requesterName` returns it; absent: not known. */
  requestedBy?: string;
  /** The `x-request-id` of the response, for the log of the run; absent: not known. */
  requestId?: string;
}

/** Job to be run. */
export interface RunTarget extends RunRequest {
  jobId: number;
  feedId: number;
  partnerId: number;
  isLarge: boolean;
  mode: LoadMode;
}

interface FoundTarget extends RunTarget {
  rawFileRemovedAt: Date | null;
  /** Of the format of its feed; null without one. */
  encoding: Encoding | null;
}

/** Finds a validation job to run; null when there is none in the scope. */
export async function findRunTarget(
  db: Database,
  jobId: number,
  scope: PartnerScope,
): Promise<FoundTarget | null> {
  const { rows } = await db.raw<{ rows: FoundTarget[] }>(
    `select job_id as "jobId", feed_id as "feedId", partner_id as "partnerId", size_bytes >= :largeFeedBytes as "isLarge",
       mode, raw_file_removed_at as "rawFileRemovedAt",
       case when format_definition is not null then coalesce(format_definition ->> 'encoding', 'utf-8') end as encoding
     from (select job_id, feed_id from validation_jobs where job_id = :jobId) as job
     join feeds using (feed_id) join partners using (partner_id)
     where cast(:scope as text) is null or partner_name = :scope`,
    { jobId, scope, largeFeedBytes },
  );
  return rows[0] ?? null;
}

/** Clears the results of the last run. */
export const withoutResult = `
  progress = null, cancel_requested = false, finished_at = null, failure_reason = null, processed = null, inserted = null,
  updated = null, unchanged = null, skipped = null, withdrawn = null, restored = null, would_withdraw = null,
  withdrawals_withheld = null`;

const waits = "(status = 'queued' and coalesce(run_requested_at, queued_at) is not null)";

/** A requested run: whether one was queued already, and how many the job had had then. */
interface RequestedRun {
  waited: boolean;
  runs: number;
}

/**
 * Enqueues a run of the job. A queued run keeps its position, its requester, and what it may do unless the request says
 * otherwise; an orphaned run is replaced.
 * @param attempts - maximum number of attempts
 * @returns whether a run was queued already, and how many the job had before; undefined when the job is running or to be reverted, or its raw file has just
 *   been removed
 */
export async function requestRun(
  db: Database,
  { jobId, partnerId, maxWithdrawn, maxWithdrawnPercent, allowOlder, requestedBy, requestId }: RunTarget,
  attempts: number,
): Promise<RequestedRun | undefined> {
  const { rows } = await db.raw<{ rows: RequestedRun[] }>(
    `with before as materialized (
       select job_id, status, ${waits} as waited
       from validation_jobs join (select feed_id from feeds where raw_file_removed_at is null) as feed using (feed_id)
       where job_id = :jobId and not exists (
         select from runs where runs.job_id = :jobId and kind = 'revert' and runs.status in ('queued', 'running')
       )
       -- The request of a revert for which the statement has waited is not seen above: the job has another count since.
       and run_count = (select run_count from validation_jobs as seen where seen.job_id = :jobId)
       -- Waits for the removal of the raw file too.
       for no key update of validation_jobs for share of feed
     ), job as (
       update validation_jobs as job
       set status = 'queued', started_at = null, ${withoutResult}, run_partner_id = :partnerId,
         run_requested_at = case when waited then coalesce(run_requested_at, queued_at) else statement_timestamp() end,
         requested_by = case when waited then requested_by else :requestedBy end,
         request_id = case when waited then request_id else :requestId end,
         max_withdrawn = coalesce(cast(:maxWithdrawn as bigint), case when waited then max_withdrawn end),
         max_withdrawn_percent =
           coalesce(cast(:maxWithdrawnPercent as double precision), case when waited then max_withdrawn_percent end),
         allow_older = cast(:allowOlder as boolean) or (waited and allow_older),
         attempts_left = case when waited then greatest(attempts_left, :attempts) else :attempts end
       from before
       where job.job_id = before.job_id and case when before.status = 'running' then ${lockSql} else true end
       returning feed_id, waited, run_count as runs
     ), feed as (
       -- Only an orphaned run leaves such a state.
       update feeds set status = 'processing' from job
       where feeds.feed_id = job.feed_id and feeds.status in ('validating', 'validated')
     )
     select waited, runs from job`,
    {
      jobId,
      partnerId,
      attempts,
      maxWithdrawn: maxWithdrawn ?? null,
      maxWithdrawnPercent: maxWithdrawnPercent ?? null,
      allowOlder: allowOlder ?? false,
      requestedBy: requestedBy ?? null,
      requestId: requestId ?? null,
    },
  );
  return rows[0];
}

/** The result of a run, in `validation_jobs` and in `runs`. */
const resultColumns = [
  'started_at',
  'finished_at',
  'failure_reason',
  'processed',
  'inserted',
  'updated',
  'unchanged',
  'skipped',
  'withdrawn',
  'restored',
  'would_withdraw',
  'withdrawals_withheld',
];

/**
 * The runs of `:jobId` that have ended, without attempts that another one was to follow: the results and issues of a job are
 * never theirs (see the trigger of `validation_jobs`).
 */
const endedRunsSql = `
  select * from runs
  where job_id = :jobId and kind = 'load' and status in ('completed', 'failed', 'cancelled')
    and failure_reason is distinct from '${repeatedReason}'`;

/** Dequeues a run that has not started. The job is again as its last run left it. */
const dequeueSql = `
  with last as materialized (
    select * from (${endedRunsSql}) as ended where status <> 'cancelled' order by run desc limit 1
  ), job as (
    update validation_jobs as job
    set run_requested_at = null, queued_at = null, status = coalesce(last.status, job.status),
      ${resultColumns.map((column) => `${column} = last.${column}`).join(', ')}
    from (select cast(:jobId as bigint) as job_id) as dequeued left join last using (job_id)
    where job.job_id = dequeued.job_id and job.status = 'queued' and run_requested_at is not null
      and job.attempts_left <= :attemptsMax
    returning feed_id, job.status
  )
  update feeds set status = case job.status when 'completed' then 'processed' when 'failed' then 'failed' else feeds.status end
  from job where feeds.feed_id = job.feed_id`;

/** Dequeues a run that has not started, unless a request without a waiting client has joined it. */
export async function withdrawRun(db: Database, { jobId }: Pick<RunTarget, 'jobId'>): Promise<void> {
  await db.raw(dequeueSql, { jobId, attemptsMax: 1 });
}

/** Dequeues a run that has not started, and keeps it as cancelled. The caller has locked the job. */
export async function cancelQueuedRun(trx: Knex.Transaction, jobId: number): Promise<void> {
  await trx.raw(
    `with job as (
       update validation_jobs set run_count = run_count + 1 where job_id = :jobId returning *
     )
     insert into runs (job_id, run, status, mode, requested_by, request_id, requested_at, finished_at)
     select job_id, run_count, 'cancelled', mode, requested_by, job.request_id, run_requested_at, clock_timestamp()
     from job join feeds using (feed_id)`,
    { jobId },
  );
  await trx.raw(dequeueSql, { jobId, attemptsMax: queuedRunAttempts });
}

/** Finds how the run ended that was requested when the job had `runs` runs; undefined while it has not. */
export async function findEndOfRun(
  db: Database,
  { jobId, runs }: { jobId: number; runs: number },
): Promise<'completed' | 'failed' | 'cancelled' | undefined> {
  const { rows } = await db.raw<{ rows: { status: 'completed' | 'failed' | 'cancelled' }[] }>(
    `select status from (${endedRunsSql}) as ended where run > :runs order by run limit 1`,
    { jobId, runs },
  );
  return rows[0]?.status;
}
