import type { Database } from '../db/database';
import {
  invalidCursor,
  jobAlreadyRunning,
  jobNotFound,
  jobToRunNotFound,
  notAValidationJob,
  unavailable,
} from '../errors';
import type { RunOutcome } from '../etl/run-feed';
import { summaryText, type RunCounters } from '../etl/summary';
import { formatId, parseId } from '../ids';
import {
  findSubmissionJob,
  findValidationJob,
  listRowIssues,
  type JobStatus,
  type RowIssueCount,
  type RowIssueRow,
  type ValidationJobRow,
} from './jobs.repository';

/** Runs a validation job to its end, here or elsewhere, and says how it went. */
export type RunJob = (jobId: number) => Promise<RunOutcome>;

/** A job as its users see it. */
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
}

/** @throws job_not_found */
export async function getJob(db: Database, id: string): Promise<Job> {
  const job = await findJob(db, id);
  if (!job) throw jobNotFound(id);
  return job;
}

async function findJob(db: Database, id: string): Promise<Job | null> {
  const submissionId = parseId('JS', id);
  if (submissionId !== undefined) {
    const row = await findSubmissionJob(db, submissionId);
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
      }
    );
  }
  const validationId = parseId('JV', id);
  const row = validationId === undefined ? null : await findValidationJob(db, validationId);
  return row && describeValidationJob(row);
}

function describeValidationJob(row: ValidationJobRow): Job {
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
  };
}

/** The columns of a validation job that tell its last run. */
export type RunColumns = Pick<
  ValidationJobRow,
  'job_id' | 'status' | 'failure_reason' | 'processed' | 'inserted' | 'updated' | 'unchanged' | 'skipped'
>;

/** What a validation job says of its last run: the text for people, the summary text and its counters. */
function describeRun(row: RunColumns): { text: string; result?: string; summary: RunCounters | null } {
  if (row.status === 'queued') {
    const id = formatId('JV', row.job_id);
    return { text: `Validation job queued. Start it with POST /jobs/${id}/run.`, summary: null };
  }
  if (row.status === 'running') return { text: 'ETL is running.', summary: null };
  // A check of the table: every counter of a job that has ended is there.
  const summary: RunCounters = {
    processed: row.processed!,
    inserted: row.inserted!,
    updated: row.updated!,
    unchanged: row.unchanged!,
    skipped: row.skipped!,
  };
  const result = summaryText(summary);
  const text = row.status === 'failed' ? `ETL processing failed: ${row.failure_reason} ${result}` : result;
  return { text, result, summary };
}

/** What a feed says of its validation job, for people (specification, section 2). */
export function validationMessage(row: RunColumns): string {
  const { text } = describeRun(row);
  return row.status === 'completed' ? `ETL processing completed. ${text}` : text;
}

/**
 * Runs a validation job and waits for its end.
 * @throws job_to_run_not_found, not_a_validation_job, job_already_running, unavailable
 */
export async function runJob(db: Database, run: RunJob, id: string): Promise<Job> {
  const job = await findJob(db, id);
  if (!job) throw jobToRunNotFound();
  if (job.type !== 'validation') throw notAValidationJob();
  const outcome = await run(parseId('JV', id)!);
  if (outcome === 'already_running') throw jobAlreadyRunning(id);
  if (outcome === 'unavailable') throw unavailable('the run could not be recorded');
  return getJob(db, id);
}

/** One page of a job's issues, with the exact counts of the whole run. */
export interface RowIssuePage {
  items: RowIssueRow[];
  nextCursor?: string;
  issueCounts: RowIssueCount[];
}

/**
 * The reasons why rows were skipped in the job's last run that ended.
 * @param page - `limit` entries after `cursor`, the `nextCursor` of the page before
 * @throws job_not_found, invalid_query
 */
export async function listJobIssues(
  db: Database,
  id: string,
  page: { limit: number; cursor?: string },
): Promise<RowIssuePage> {
  const afterNumber = parseIssueCursor(page.cursor);
  const job = await getJob(db, id);
  const validationId = parseId('JV', id);
  if (validationId === undefined) return { items: [], issueCounts: [] };
  const rows = await listRowIssues(db, validationId, { afterNumber, limit: page.limit + 1 });
  const items = rows.slice(0, page.limit);
  return {
    items,
    nextCursor: rows.length > items.length ? String(items.at(-1)!.issue_number) : undefined,
    issueCounts: job.issueCounts,
  };
}

/** The place in the list that a cursor stands for; 0 is before the first. @throws invalid_query */
export function parseIssueCursor(cursor: unknown): number {
  if (cursor === undefined) return 0;
  if (typeof cursor !== 'string' || !/^[1-9]\d{0,8}$/.test(cursor)) throw invalidCursor();
  return Number(cursor);
}
