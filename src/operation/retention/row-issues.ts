import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { sql } from '../../base/db/sql';

/** Rows per transaction, a few milliseconds; the issues of one job are never split. */
const batchRows = 500;

/** Number of jobs per batch: most have few issues. */
const batchJobs = 200;

/** Jobs whose issues have expired. A run of release 1.2.0 does not reset the time of removal. */
const expiredJobs = (days: number) => sql`
  finished_at < now() - ${days} * interval '1 day' and cast(issue_counts as text) <> '[]'
  and (issues_removed_at is null or issues_removed_at < finished_at)`;

/** Numbers of removed row issues, and the bytes of their rows, without indexes. */
export interface RemovedIssues {
  jobs: number;
  rows: number;
  bytes: number;
}

/** Counts the row issues that `removeExpiredIssues` would remove. */
export async function countExpiredIssues(trx: Knex.Transaction, days: number): Promise<RemovedIssues> {
  const [removed] = await queryRows<RemovedIssues>(
    trx,
    sql`select (select count(*) from validation_jobs where ${expiredJobs(days)}) as jobs, count(*) as rows,
       cast(coalesce(sum(pg_column_size(row_issues)), 0) as bigint) as bytes
     from row_issues where job_id in (select job_id from validation_jobs where ${expiredJobs(days)})`,
  );
  return removed!;
}

/**
 * Removes a batch of row issues of runs that ended more than `days` ago, the oldest first. Records it in their jobs, and skips jobs
 * that are about to run.
 * @returns undefined when there are none
 */
export async function removeExpiredIssues(
  trx: Knex.Transaction,
  days: number,
): Promise<RemovedIssues | undefined> {
  const expired = await queryRows<{ job_id: number; issue_counts: { count: number }[] }>(
    trx,
    sql`select job_id, issue_counts from validation_jobs where ${expiredJobs(days)}
     order by finished_at limit ${batchJobs} for no key update skip locked`,
  );
  const jobIds: number[] = [];
  for (let at = 0, rows = 0; at < expired.length && rows < batchRows; at++) {
    jobIds.push(expired[at]!.job_id);
    for (const { count } of expired[at]!.issue_counts) rows += count;
  }
  if (jobIds.length === 0) return undefined;
  const [removed] = await queryRows<Omit<RemovedIssues, 'jobs'>>(
    trx,
    sql`with removed as (
       delete from row_issues where job_id = any (${jobIds}) returning pg_column_size(row_issues) as bytes
     )
     select count(*) as rows, cast(coalesce(sum(bytes), 0) as bigint) as bytes from removed`,
  );
  await changeRows(
    trx,
    sql`update validation_jobs set issues_removed_at = clock_timestamp() where job_id = any (${jobIds})`,
  );
  return { jobs: jobIds.length, ...removed! };
}
