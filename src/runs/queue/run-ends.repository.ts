import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { LoadFacts } from '../etl/load-facts';
import type { RowIssueCount } from '../../feed-format/rows/row-issues';
import type { RunCounters } from '../etl/run-result';
import { publishEventsSql } from '../../base/db/outbox';
import type { Delimiter } from '../../feed-format/delimiter';
import type { RunNumber } from '../jobs/job-runs.repository';
import { repeatedReason } from '../../base/errors';
import { findPendingRun, lockedJobSql, lockJobRow, type RunOfKind } from './pending-runs.repository';

/** Marks the feed of a load as validated when its products start to load. */
export async function markLoading(db: Database, feedId: number): Promise<void> {
  await db('feeds').where('feed_id', feedId).update({ status: 'validated' });
}

/** Values that the end of a load stores in its job and feed. */
interface LoadEnd {
  issueCounts: RowIssueCount[];
  facts: LoadFacts;
  delimiter: Delimiter | null;
}

/**
 * Completes a run, and publishes the event. The caller updates the attention of its partner as the last step.
 * @param load - for a load only
 * @returns false if its cancellation is requested; the caller must then roll back
 */
export async function completeRun(
  trx: Knex.Transaction,
  run: RunOfKind,
  counters: RunCounters,
  load?: LoadEnd,
): Promise<boolean> {
  const { prices = null, priceJumps = null, isCorrection = false } = load?.facts ?? {};
  const completed = await changeRows(
    trx,
    sql`with ${lockedJobSql(run.jobId)}
    update runs
    set status = 'completed', ${endSql(counters)}, prices = ${prices}, price_jumps = cast(${priceJumps} as bigint),
      is_correction = ${isCorrection}
    from job
    where runs.job_id = job.job_id and run = ${run.run} and not cancel_requested`,
  );
  if (completed === 0) return false;
  if (load) {
    await keepIssueCounts(trx, run, load.issueCounts);
    await changeRows(
      trx,
      sql`update feeds set status = 'processed', last_completed_at = clock_timestamp(), delimiter = ${load.delimiter}
      where feed_id = (select feed_id from validation_jobs where job_id = ${run.jobId})`,
    );
  }
  await publishEnd(trx, run, load ? 'job.completed' : 'job.reverted');
  return true;
}

/** Why and how a run has failed. `priceJumps`: number of prices that would have jumped, if it failed because of them. */
interface RunFailure {
  reason: string;
  counters: RunCounters;
  issueCounts: RowIssueCount[];
  priceJumps?: number;
}

/**
 * Fails a run, unless it has ended or was requeued, and publishes the failure of a load. The caller updates the attention of its
 * partner as the last step.
 * @returns whether the run was failed
 */
export async function failRun(
  trx: Knex.Transaction,
  run: RunOfKind,
  { reason, counters, issueCounts, priceJumps }: RunFailure,
): Promise<boolean> {
  const failed = await changeRows(
    trx,
    sql`with ${lockedJobSql(run.jobId)}
    update runs
    set status = 'failed', failure_reason = ${reason}, cancel_requested = false, ${endSql(counters)},
      price_jumps = cast(${priceJumps ?? null} as bigint)
    from job
    where runs.job_id = job.job_id and run = ${run.run} and status = 'running'`,
  );
  if (failed === 0) return false;
  if (run.kind === 'revert') return true;
  await keepIssueCounts(trx, run, issueCounts);
  await settleFeed(trx, run.jobId);
  await publishEnd(trx, run, 'job.failed');
  return true;
}

const endSql = (counters: RunCounters): Sql => sql`
  finished_at = clock_timestamp(), progress = null, processed = ${counters.processed}, inserted = ${counters.inserted},
  updated = ${counters.updated}, unchanged = ${counters.unchanged}, skipped = ${counters.skipped},
  withdrawn = ${counters.withdrawn}, restored = ${counters.restored},
  would_withdraw = cast(${counters.would_withdraw ?? null} as bigint),
  withdrawals_withheld = cast(${counters.is_withdrawal_withheld ?? null} as boolean)`;

/** Stores the counts by code of the job's stored issues. */
async function keepIssueCounts(
  trx: Knex.Transaction,
  { jobId }: RunNumber,
  issueCounts: RowIssueCount[],
): Promise<void> {
  await changeRows(
    trx,
    sql`update validation_jobs set issue_counts = ${JSON.stringify(issueCounts)}, issues_removed_at = null
    where job_id = ${jobId}`,
  );
}

/** Sets the feed of a job to the state of the last load, if that has ended. */
export async function settleFeed(trx: Knex.Transaction, jobId: number): Promise<void> {
  await changeRows(
    trx,
    sql`update feeds set status = case job.status when 'completed' then 'processed' else 'failed' end
    from validation_jobs as job
    where job.job_id = ${jobId} and feeds.feed_id = job.feed_id and job.status in ('completed', 'failed')`,
  );
}

/** Dequeues a run that has not started, and keeps it as cancelled. The caller has locked the job. */
export async function cancelQueuedRun(trx: Knex.Transaction, { jobId, run }: RunNumber): Promise<void> {
  await changeRows(
    trx,
    sql`with ${lockedJobSql(jobId)}
    update runs set status = 'cancelled', finished_at = clock_timestamp() from job
    where runs.job_id = job.job_id and run = ${run} and status = 'queued'`,
  );
  await settleFeed(trx, jobId);
}

/** Fails an attempt of a load that another one will follow. The caller has locked the job. */
export async function interruptLoad(trx: Knex.Transaction, { jobId, run }: RunNumber): Promise<void> {
  await changeRows(
    trx,
    sql`with ${lockedJobSql(jobId)}, attempt as (
      update runs
      set status = 'failed', failure_reason = ${repeatedReason}, finished_at = clock_timestamp(), progress = null,
        processed = 0, inserted = 0, updated = 0, unchanged = 0, skipped = 0, withdrawn = 0, restored = 0
      from job where runs.job_id = job.job_id and run = ${run} and status = 'running'
    )
    update feeds set status = 'processing' from job
    where feeds.feed_id = job.feed_id and feeds.status in ('validating', 'validated')`,
  );
}

/**
 * Requeues an orphaned run at its position. The next attempt of a load is a new run; a revert keeps its number, which
 * its client follows. The caller has locked the job.
 * @returns the run in the queue; the same one if it is not in progress, or its cancellation is requested
 */
export async function requeueRun(
  trx: Knex.Transaction,
  { jobId, run: claimed }: RunNumber,
): Promise<RunNumber> {
  await lockJobRow(trx, jobId);
  const pending = await findPendingRun(trx, jobId);
  // Another process may have requeued it.
  const { run = claimed, kind } = pending ?? {};
  if (pending?.status !== 'running' || pending.isCancelled) return { jobId, run };
  if (kind === 'revert') {
    await changeRows(
      trx,
      sql`update runs set status = 'queued', started_at = null where (job_id, run) = (${jobId}, ${run})`,
    );
    return { jobId, run };
  }
  await interruptLoad(trx, { jobId, run });
  const [next] = await queryRows<RunNumber>(
    trx,
    sql`insert into runs (job_id, run, status, ${requestColumns})
    select job_id, run_count + 1, 'queued', ${requestColumns}
    from runs join (select job_id, run_count from validation_jobs) as job using (job_id)
    where (job_id, run) = (${jobId}, ${run})
    returning job_id as "jobId", run`,
  );
  return next!;
}

/** Columns of its request that an attempt copies. */
const requestColumns = raw(
  'partner_id, mode, requested_by, request_id, requested_at, attempts_left, max_withdrawn, max_withdrawn_percent, allow_older',
);

/** Publishes the end of a run: the job in its new state, or the revert. */
async function publishEnd(
  trx: Knex.Transaction,
  { jobId, run }: RunNumber,
  type: 'job.completed' | 'job.failed' | 'job.reverted',
): Promise<void> {
  const content =
    type === 'job.reverted'
      ? sql`select runs.*, feed_id from runs join validation_jobs using (job_id) where (job_id, run) = (${jobId}, ${run})`
      : sql`select * from validation_jobs where job_id = ${jobId}`;
  await changeRows(
    trx,
    publishEventsSql(sql`
      select cast(${type} as text) as event_type, partner_name, to_json(ended) as content
      from (${content}) as ended join feeds using (feed_id)
        join partners on partners.partner_id = feeds.partner_id`),
  );
}
