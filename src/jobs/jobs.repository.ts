import type { Delimiter } from '../feed-format/delimiter';
import type { RowIssueCode, IssueSeverity } from '../feed-format/issue-codes';
import type { FeedToRun } from '../etl/raw-file';
import type { RowIssue, RowIssueCount } from '../etl/row-issues';
import type { RunCounters } from '../etl/run-result';
import type { Database } from '../db/database';
import { readBounded, type Found } from '../db/page';
import { raw } from '../db/sql';
import type { PartnerScope } from '../shared/caller';
import type { LoadFacts } from '../etl/load-facts';
import { publishEventsSql, type EventType } from '../events/outbox';
import type { Knex } from 'knex';
import { jobRevertedBySql } from '../partners/reverted-by';
import type { RunProgress } from './run-progress.repository';

export type JobStatus = 'queued' | 'running' | 'completed' | 'failed';

/** Row of `submission_jobs`. */
interface SubmissionJobRow {
  job_id: number;
  feed_id: number;
  created_at: Date;
}

/** Row of `validation_jobs`; the counters are null unless the last run has ended. */
export interface ValidationJobRow {
  job_id: number;
  feed_id: number;
  status: JobStatus;
  created_at: Date;
  /** When the queued or running run was requested; null when there is none. */
  run_requested_at: Date | null;
  /** Last report of the run in progress; null before the first one. */
  progress: RunProgress | null;
  /** Whether the cancellation of that run is requested. */
  cancel_requested: boolean;
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
  /** When the issues of the last finished run were removed by retention; null while they are there. */
  issues_removed_at: Date | null;
  /** The run that has undone the last one; absent in the row itself. */
  reverted_by?: number | null;
}

/** Columns of the counters of a run. */
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
  const jobs = db('submission_jobs').where('job_id', jobId).modify(within, scope);
  return ((await jobs.first()) as SubmissionJobRow | undefined) ?? null;
}

/** A validation job with a version that differs after each change. */
export type VersionedJobRow = ValidationJobRow & { version: string };

/** Finds a validation job; null when there is none in the scope. */
export async function findValidationJob(
  db: Database,
  jobId: number,
  scope: PartnerScope,
): Promise<VersionedJobRow | null> {
  const jobs = db('validation_jobs').where('job_id', jobId).modify(within, scope);
  return (await jobs.first<VersionedJobRow | undefined>(versionedColumns(db))) ?? null;
}

/** Lists validation jobs of any partner: the caller has checked the scope. */
export async function listValidationJobs(db: Database, jobIds: Iterable<number>): Promise<VersionedJobRow[]> {
  return db('validation_jobs')
    .whereIn('job_id', [...jobIds])
    .select<VersionedJobRow[]>(versionedColumns(db));
}

const versionedColumns = (db: Database) => ['*', db.raw('xmin::text as version'), db.raw(jobRevertedBySql)];

function within(jobs: Knex.QueryBuilder, scope: PartnerScope): void {
  if (scope === null) return;
  void jobs.whereRaw(
    'feed_id in (select feed_id from feeds join partners using (partner_id) where partner_name = ?)',
    [scope],
  );
}

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
  const query = db('row_issues')
    .where('job_id', jobId)
    .modify((query) => {
      if (filter.code !== undefined) void query.where('code', filter.code);
      if (filter.severity !== undefined) void query.where('severity', filter.severity);
    })
    .andWhere('issue_number', '>', page.afterNumber)
    .orderBy('issue_number')
    .limit(page.limit + 1)
    .select({
      issueNumber: 'issue_number',
      line: 'line',
      lastLine: 'last_line',
      row: 'row_number',
      sku: 'sku',
      field: 'field',
      columnNumber: 'column_number',
      code: 'code',
      severity: 'severity',
      message: 'message',
      value: 'value',
    });
  return readBounded<NumberedIssue>(db, query, page.limit);
}

/** Gets the feed of an existing validation job. What earlier requests allowed does not count. */
export async function getFeedToRun(db: Database, jobId: number): Promise<FeedToRun> {
  const [feed] = (await db('validation_jobs')
    .join('feeds', 'feeds.feed_id', 'validation_jobs.feed_id')
    .where('validation_jobs.job_id', jobId)
    .select({
      jobId: 'validation_jobs.job_id',
      feedId: 'feeds.feed_id',
      partnerId: 'feeds.partner_id',
      objectKey: 'feeds.raw_file_object_key',
      sizeBytes: 'feeds.size_bytes',
      sha256: 'feeds.sha256',
      mode: 'feeds.mode',
      collection: 'feeds.collection',
      isCollectionNamed: 'feeds.is_collection_named',
      maxSkippedPercent: db.raw('cast(feeds.max_skipped_percent as double precision)'),
      maxPriceJumpPercent: db.raw('cast(feeds.max_price_jump_percent as double precision)'),
      format: 'feeds.format_definition',
    })) as [Omit<FeedToRun, 'maxWithdrawn' | 'maxWithdrawnPercent' | 'allowOlder'>];
  return { ...feed, maxWithdrawn: null, maxWithdrawnPercent: null, allowOlder: false };
}

/** Marks the feed as validated: its products are being loaded. */
export async function markLoading(db: Database, feedId: number): Promise<void> {
  await db('feeds').where('feed_id', feedId).update({ status: 'validated' });
}

/**
 * Completes a run, and publishes that. The caller keeps the attention of its partner, at its end.
 * @param delimiter - the one of the file
 * @returns false if its cancellation is requested; the caller must then roll back
 */
export async function completeRun(
  db: Database,
  run: { jobId: number; feedId: number },
  counters: RunCounters,
  issueCounts: RowIssueCount[],
  delimiter: Delimiter | null,
  { prices, priceJumps, isCorrection }: LoadFacts,
): Promise<boolean> {
  const completed = await db('validation_jobs')
    .where({ job_id: run.jobId, cancel_requested: false })
    .update({
      status: 'completed',
      run_requested_at: null,
      finished_at: db.raw('clock_timestamp()'),
      progress: null,
      issue_counts: JSON.stringify(issueCounts),
      issues_removed_at: null,
      ...counters,
    });
  await db('feeds')
    .where('feed_id', run.feedId)
    .update({ status: 'processed', last_completed_at: db.raw('clock_timestamp()'), delimiter });
  if (completed === 0) return false;
  await db.raw(setFactsSql, { jobId: run.jobId, prices, priceJumps, isCorrection } as never);
  await announceRunEnd(db, 'job.completed', run.jobId);
  return true;
}

/** The trigger of the job has written the rest. */
const setFactsSql = `
  update runs set prices = :prices, price_jumps = cast(:priceJumps as bigint), is_correction = :isCorrection
  from validation_jobs as job
  where job.job_id = :jobId and (runs.job_id, runs.run) = (job.job_id, job.run_count)`;

const thisRun = "job_id = :jobId and run_count = :run and status = 'running'";

/**
 * Fails a run, unless it was requeued or another one has started, and publishes that. The caller keeps the attention of its
 * partner, at its end.
 * @param priceJumps - products whose price would have jumped, if it failed because of them
 * @returns whether the run was failed
 */
export async function failRun(
  db: Database,
  at: { jobId: number; run: number },
  reason: string,
  { skipped, would_withdraw }: RunCounters,
  issueCounts: RowIssueCount[],
  priceJumps?: number,
): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(failSql(thisRun), {
    ...at,
    reason,
    skipped,
    wouldWithdraw: would_withdraw ?? null,
    issueCounts: JSON.stringify(issueCounts),
  });
  if (rowCount === 0) return false;
  if (priceJumps !== undefined) {
    const facts = { prices: null, priceJumps, isCorrection: false };
    await db.raw(setFactsSql, { jobId: at.jobId, ...facts } as never);
  }
  await announceRunEnd(db, 'job.failed', at.jobId);
  return true;
}

/** Builds the statement that fails a run and its feed. Bindings: `reason`, `skipped`, `wouldWithdraw`, `issueCounts`. */
export function failSql(which: string): string {
  return `
    with job as (
      update validation_jobs
      set status = 'failed', run_requested_at = null, queued_at = null, finished_at = clock_timestamp(), progress = null,
        cancel_requested = false, failure_reason = :reason,
        processed = :skipped, inserted = 0, updated = 0, unchanged = 0, skipped = :skipped, issue_counts = :issueCounts,
        issues_removed_at = null,
        withdrawn = 0, restored = 0, would_withdraw = cast(:wouldWithdraw as bigint), withdrawals_withheld = null
      where ${which} and (status = 'running' or run_requested_at is not null)
      returning feed_id
    )
    update feeds set status = 'failed' from job where feeds.feed_id = job.feed_id
  `;
}

/** Publishes the end of a run, with the job as it is now. The caller keeps the attention of its partner, at its end. */
export async function announceRunEnd(db: Database, type: EventType, jobId: number): Promise<void> {
  await db.raw(publishRunEventSql, { type, jobId });
}

const publishRunEventSql = publishEventsSql(
  raw(`
  select cast(:type as text) as event_type, partner_name, to_json(validation_jobs) as content
  from validation_jobs join feeds using (feed_id) join partners using (partner_id)
  where job_id = :jobId
`),
).sql;
