import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import type { RowIssue } from '../etl/row-issues';
import { defaulted, type Checks, type Handlers, type RawRequest } from '../http/contract';
import { parsePrefer } from '../http/prefer';
import { formatId } from '../ids';
import { limits } from '../limits';
import {
  getJob,
  hasEnded,
  listJobIssues,
  parsePosition,
  planJob,
  queueJob,
  runJob,
  type FeedRunner,
  type Job,
  type JobPlan,
} from './jobs.service';
import { openRejects } from './rejects.service';

/** The operations of jobs; `runner` does the work. */
export function jobHandlers(
  db: Database,
  runner: FeedRunner,
): Pick<Handlers, 'getJob' | 'runJob' | 'planJob' | 'listJobIssues' | 'downloadJobRejects'> {
  return {
    async getJob({ path, caller, reply }) {
      return reply(200, jobBody(await getJob(db, path.job_id, caller.partnerName)));
    },

    async runJob({ path, headers, caller, isGivenUp, reply }) {
      const { respondAsync, wait } = parsePrefer(headers.Prefer);
      if (!respondAsync) {
        return reply(200, jobBody(await runJob(db, runner, path.job_id, caller.partnerName)));
      }
      const seconds = wait && Math.min(wait, limits.runWaitSecondsMax);
      const job = await queueJob(db, path.job_id, caller.partnerName, seconds ?? 0, isGivenUp);
      if (hasEnded(job)) return reply(200, jobBody(job));
      return reply(202, jobBody(job), {
        Location: `/jobs/${job.jobId}`,
        'Retry-After': limits.queuedRunRetrySeconds,
        'Preference-Applied': seconds === undefined ? 'respond-async' : `respond-async, wait=${seconds}`,
      });
    },

    async planJob({ path, query, caller, reply }) {
      const page = { limit: defaulted(query.limit), cursor: query.cursor };
      return reply(200, planBody(await planJob(db, runner, path.job_id, caller.partnerName, page)));
    },

    async listJobIssues({ path, query, caller, reply }) {
      const filter = { code: query.code, severity: query.severity };
      const page = await listJobIssues(db, path.job_id, caller.partnerName, filter, {
        limit: defaulted(query.limit),
        cursor: query.cursor,
      });
      return reply(200, {
        count: page.items.length,
        items: page.items.map(issueBody),
        next_cursor: page.nextCursor,
        issue_counts: page.issueCounts,
      });
    },

    async downloadJobRejects({ path, caller, reply }) {
      const rejects = await openRejects(db, runner, path.job_id, caller.partnerName);
      return reply(200, rejects, {
        'Content-Disposition': `attachment; filename="${path.job_id}-rejects.csv"`,
      });
    },
  };
}

const checkCursor = ({ query }: RawRequest) => {
  if (query.cursor !== undefined) parsePosition(query.cursor);
};

/** A cursor that cannot be one is 400. */
export const jobChecks = { listJobIssues: checkCursor, planJob: checkCursor } satisfies Checks;

function jobBody(job: Job): components['schemas']['Job'] {
  return {
    job_id: job.jobId,
    feed_id: formatId('FD', job.feedId),
    status: job.status,
    job_type: job.type,
    message: job.message,
    result: job.result,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    finished_at: job.finishedAt?.toISOString() ?? null,
    summary: job.summary,
    issue_counts: job.issueCounts,
  };
}

function planBody(plan: JobPlan): components['schemas']['JobPlan'] {
  return {
    job_id: plan.jobId,
    feed_id: formatId('FD', plan.feedId),
    status: plan.status,
    message: plan.message,
    summary: plan.summary,
    issue_counts: plan.issueCounts,
    count: plan.changes.length,
    items: plan.changes,
    next_cursor: plan.nextCursor,
  };
}

/** A row issue as the document has it. */
export function issueBody(issue: RowIssue): components['schemas']['RowIssue'] {
  return {
    line: issue.line,
    last_line: issue.lastLine,
    row: issue.row,
    sku: issue.sku,
    field: issue.field,
    column_number: issue.columnNumber,
    code: issue.code,
    severity: issue.severity,
    message: issue.message,
    value: issue.value,
  };
}
