import { queryRows, type Database } from '../../base/db/database';
import { boundedPageSql, type Found } from '../../base/db/page';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import type { RowIssue, RowIssueCount } from '../../feed-format/rows/row-issues';
import type { RunPhase } from '../etl/run-stats';
import type { RowIssueCode, IssueSeverity } from '../../feed-format/issue-codes';
import { jobRevertedBySql } from '../../catalog/changes/reverted-by';
import type { PartnerScope } from '../../base/caller';

/** Progress of a load: `JobProgress` of the contract. Rates cover the last five seconds. */
export interface RunProgress {
  phase: RunPhase;
  rows: number;
  bytes_read: number;
  bytes_total: number;
  rows_per_second: number;
  bytes_per_second: number;
}

export type JobStatus = 'queued' | 'running' | 'completed' | 'failed';

interface SubmissionJobRow {
  job_id: number;
  feed_id: number;
  created_at: Date;
}

/** A validation job, which shows its last load; the counters are null unless that has ended. */
export interface ValidationJobRow {
  job_id: number;
  feed_id: number;
  status: JobStatus;
  created_at: Date;
  /** When the load that is queued or in progress was requested; null when there is none. */
  run_requested_at: Date | null;
  /** Last report of the load in progress; null before the first one. */
  progress: RunProgress | null;
  started_at: Date | null;
  finished_at: Date | null;
  failure_reason: string | null;
  processed: number | null;
  inserted: number | null;
  updated: number | null;
  unchanged: number | null;
  skipped: number | null;
  /** Also null after a run of release 1.2.0. */
  withdrawn: number | null;
  restored: number | null;
  would_withdraw: number | null;
  withdrawals_withheld: boolean | null;
  issue_counts: RowIssueCount[];
  /** When retention removed the issues of the last finished run; null while they exist. */
  issues_removed_at: Date | null;
  /** The run that has undone the last one; absent in events. */
  reverted_by?: number | null;
}

export type CounterColumns = Pick<
  ValidationJobRow,
  | 'processed'
  | 'inserted'
  | 'updated'
  | 'unchanged'
  | 'skipped'
  | 'withdrawn'
  | 'restored'
  | 'would_withdraw'
  | 'withdrawals_withheld'
>;

/** Finds a submission job; null when there is none in the scope. */
export async function findSubmissionJob(
  db: Database,
  jobId: number,
  scope: PartnerScope,
): Promise<SubmissionJobRow | null> {
  const [job] = await queryRows<SubmissionJobRow>(
    db,
    sql`select * from submission_jobs where job_id = ${jobId} and ${isWithin(scope)}`,
  );
  return job ?? null;
}

const isWithin = (scope: PartnerScope): Sql =>
  scope === null
    ? raw('true')
    : sql`feed_id in (select feed_id from feeds join partners using (partner_id) where partner_name = ${scope})`;

/** A validation job with a version that differs after each change. */
export type VersionedJobRow = ValidationJobRow & { version: string };

/** Finds a validation job; null when there is none in the scope. */
export async function findValidationJob(
  db: Database,
  jobId: number,
  scope: PartnerScope,
): Promise<VersionedJobRow | null> {
  const [job] = await queryRows<VersionedJobRow>(
    db,
    sql`${jobsSql} where validation_jobs.job_id = ${jobId} and ${isWithin(scope)}`,
  );
  return job ?? null;
}

/** Lists validation jobs of any partner: the caller has checked the scope. */
export async function listValidationJobs(db: Database, jobIds: Iterable<number>): Promise<VersionedJobRow[]> {
  return queryRows(db, sql`${jobsSql} where validation_jobs.job_id = any (${[...jobIds]})`);
}

/** Gets the versions of validation jobs by number, without missing ones. */
export async function listJobVersions(
  db: Database,
  jobIds: Iterable<number>,
): Promise<ReadonlyMap<number, string>> {
  const rows = await queryRows<{ job_id: number; version: string }>(
    db,
    sql`select job_id, ${versionSql} as version from validation_jobs where job_id = any (${[...jobIds]})`,
  );
  return new Map(rows.map(({ job_id, version }) => [job_id, version]));
}

/** Differs after each change of a job, or of its last run. */
const versionSql = sql`concat_ws('/', validation_jobs.xmin, (
  select runs.xmin from runs where runs.job_id = validation_jobs.job_id order by run desc limit 1
))`;

/** Request time of the load that is queued or in progress, as a scalar. */
export const requestedAtSql: Sql = sql`(
  select max(requested_at) from runs
  where runs.job_id = validation_jobs.job_id and kind = 'load' and runs.status in ('queued', 'running')
)`;

const jobsSql = sql`
  select job_id, feed_id, status, created_at, ${requestedAtSql} as run_requested_at, coalesce((
      select progress from runs
      where runs.job_id = validation_jobs.job_id and kind = 'load' and runs.status = 'running'
      order by run desc limit 1
    ), validation_jobs.progress) as progress,
    started_at, finished_at, failure_reason, processed, inserted, updated, unchanged, skipped, withdrawn, restored,
    would_withdraw, withdrawals_withheld, issue_counts, issues_removed_at, ${versionSql} as version, ${jobRevertedBySql}
  from validation_jobs`;

/** Creates both jobs of a new feed. @returns their numbers */
export async function insertJobs(
  db: Database,
  feedId: number,
): Promise<{ submissionJobId: number; validationJobId: number }> {
  const [submission] = await db<SubmissionJobRow>('submission_jobs').insert({ feed_id: feedId }, 'job_id');
  const [validation] = await db<ValidationJobRow>('validation_jobs').insert({ feed_id: feedId }, 'job_id');
  return { submissionJobId: submission!.job_id, validationJobId: validation!.job_id };
}

/** A stored issue, numbered from 1 per job. */
export type NumberedIssue = RowIssue & { issueNumber: number };

/** Filter of issues; an absent field matches all. */
export interface RowIssueFilter {
  code?: RowIssueCode;
  severity?: IssueSeverity;
}

/** Lists stored issues of the job's last finished run after `afterNumber`, in the order of the file. */
export function listRowIssues(
  db: Database,
  jobId: number,
  filter: RowIssueFilter,
  page: { afterNumber: number; limit: number },
): Promise<Found<NumberedIssue>[]> {
  const conditions = [sql`job_id = ${jobId}`, sql`issue_number > ${page.afterNumber}`];
  if (filter.code !== undefined) conditions.push(sql`code = ${filter.code}`);
  if (filter.severity !== undefined) conditions.push(sql`severity = ${filter.severity}`);
  const rows = sql`
    select issue_number as "issueNumber", line, last_line as "lastLine", row_number as "row", sku, field,
      column_number as "columnNumber", code, severity, message, value
    from row_issues where ${allOf(conditions)} order by issue_number limit ${page.limit + 1}`;
  return queryRows(db, boundedPageSql(rows, page.limit));
}
