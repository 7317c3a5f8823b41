import type { Database } from '../../base/db/database';
import { invalidCursor, jobNotFound } from '../../base/errors';
import type { RowIssueCount } from '../../feed-format/rows/row-issues';
import { summaryText, type RunCounters } from '../etl/run-result';
import { formatId, parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { toPage, type Page } from '../../base/pagination';
import {
  findSubmissionJob,
  findValidationJob,
  listRowIssues,
  type CounterColumns,
  type JobStatus,
  type RowIssueFilter,
  type NumberedIssue,
  type RunProgress,
  type ValidationJobRow,
} from './jobs.repository';

/** A job of either type, as shown to users. */
export interface Job {
  jobId: string;
  feedId: number;
  type: 'submission' | 'validation';
  status: JobStatus;
  message: string;
  result?: string;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  summary: RunCounters | null;
  issueCounts: RowIssueCount[];
  /** When retention removed the issues of the last finished run; null while they exist. */
  issuesRemovedAt: Date | null;
  /** The run that has undone the last one; absent if none has. */
  revertedBy?: number;
  /** When the queued run was requested; absent when none is queued. */
  queuedAt?: Date;
  /** Whether a run is queued or in progress. */
  hasRun: boolean;
  /** Absent until the run in progress has reported. */
  progress?: RunProgress;
  /** Differs after each change; null: the job never changes. */
  version: string | null;
}

/** @throws job_not_found */
export async function getJob(db: Database, id: string, scope: PartnerScope): Promise<Job> {
  const job = await findJob(db, id, scope);
  if (!job) throw jobNotFound(id);
  return job;
}

/** Finds a job; null when there is none in the scope. */
export async function findJob(db: Database, id: string, scope: PartnerScope): Promise<Job | null> {
  const submissionId = parseId('JS', id);
  if (submissionId !== undefined) {
    const row = await findSubmissionJob(db, submissionId, scope);
    return (
      row && {
        jobId: id,
        feedId: row.feed_id,
        type: 'submission',
        status: 'completed',
        message: 'Feed received and stored.',
        createdAt: row.created_at,
        startedAt: row.created_at,
        finishedAt: row.created_at,
        summary: null,
        issueCounts: [],
        issuesRemovedAt: null,
        hasRun: false,
        version: null,
      }
    );
  }
  const validationId = parseId('JV', id);
  const row = validationId === undefined ? null : await findValidationJob(db, validationId, scope);
  return row && describeValidationJob(row);
}

export function describeValidationJob(row: ValidationJobRow & { version: string | null }): Job {
  const { text, result, summary } = describeRun(row);
  return {
    jobId: formatId('JV', row.job_id),
    feedId: row.feed_id,
    type: 'validation',
    status: row.status,
    message: text,
    result,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    summary,
    issueCounts: row.issue_counts,
    issuesRemovedAt: row.issues_removed_at,
    revertedBy: row.reverted_by ?? undefined,
    queuedAt: isQueued(row) ? row.run_requested_at! : undefined,
    hasRun: row.status === 'running' || isQueued(row),
    progress: row.progress ?? undefined,
    version: row.version,
  };
}

/** Columns of a validation job that describe its last run. */
export type RunColumns = CounterColumns &
  Pick<ValidationJobRow, 'job_id' | 'status' | 'run_requested_at' | 'failure_reason'>;

const isQueued = ({ status, run_requested_at }: Pick<RunColumns, 'status' | 'run_requested_at'>) =>
  status === 'queued' && run_requested_at !== null;

/** Describes the last run: message, summary text and counters. */
function describeRun(row: RunColumns): { text: string; result?: string; summary: RunCounters | null } {
  if (row.status === 'queued') {
    if (isQueued(row)) return { text: 'Validation job queued. It starts automatically.', summary: null };
    const id = formatId('JV', row.job_id);
    return { text: `Validation job queued. Start it with POST /jobs/${id}/run.`, summary: null };
  }
  if (row.status === 'running') return { text: 'ETL is running.', summary: null };
  const summary = countersOf(row);
  return { text: endText(row.failure_reason, summary), result: summaryText(summary), summary };
}

/** Returns the counters of a finished run. A check constraint guarantees all of them. */
export function countersOf(row: CounterColumns): RunCounters {
  return {
    processed: row.processed!,
    inserted: row.inserted!,
    updated: row.updated!,
    unchanged: row.unchanged!,
    skipped: row.skipped!,
    withdrawn: row.withdrawn ?? 0,
    restored: row.restored ?? 0,
    ...(row.would_withdraw != null && { would_withdraw: row.would_withdraw }),
    ...(row.withdrawals_withheld && { is_withdrawal_withheld: true as const }),
  };
}

/** Formats the validation message of a feed (specification, section 2). */
export function validationMessage(row: RunColumns): string {
  const { text } = describeRun(row);
  return row.status === 'completed' ? `ETL processing completed. ${text}` : text;
}

/** Returns the counters of the last run; null until it has ended. */
export const lastRunSummary = (row: RunColumns): RunCounters | null => describeRun(row).summary;

/** Tells whether a run has ended; for a job, its last run. */
export const hasEnded = ({ status }: { status: JobStatus | 'cancelled' }) =>
  status !== 'queued' && status !== 'running';

/** Formats the message of a finished run. */
export function endText(failureReason: string | null, counters: RunCounters): string {
  const result = summaryText(counters);
  return failureReason === null ? result : `ETL processing failed: ${failureReason} ${result}`;
}

/** Page of a job's issues, with the exact counts of the whole run. */
interface RowIssuePage extends Page<NumberedIssue> {
  issueCounts: RowIssueCount[];
  issuesRemovedAt: Date | null;
}

/**
 * Lists row issues of the job's last finished run; none if retention has removed them.
 * @param page - `limit` entries after `cursor`, the `nextCursor` of the previous page
 * @throws job_not_found, invalid_cursor
 */
export async function listJobIssues(
  db: Database,
  id: string,
  scope: PartnerScope,
  filter: RowIssueFilter,
  page: { limit: number; cursor?: string },
): Promise<RowIssuePage> {
  const afterNumber = parsePosition(page.cursor);
  const validationId = parseId('JV', id);
  const rows =
    validationId === undefined
      ? []
      : await listRowIssues(db, validationId, filter, { afterNumber, limit: page.limit });
  // After the issues: if they have just been removed, the job says so.
  const { issueCounts, issuesRemovedAt } = await getJob(db, id, scope);
  const issues = toPage(issuesRemovedAt ? [] : rows, page.limit, ({ issueNumber }) => String(issueNumber));
  return { ...issues, issueCounts, issuesRemovedAt };
}

/** Parses a cursor to a position in the list; 0 is before the first. @throws invalid_cursor */
export function parsePosition(cursor: unknown): number {
  if (cursor === undefined) return 0;
  if (typeof cursor !== 'string' || !/^[1-9]\d{0,8}$/.test(cursor)) throw invalidCursor();
  return Number(cursor);
}
