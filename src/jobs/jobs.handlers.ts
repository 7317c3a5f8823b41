import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import { defaulted, type Checks, type Handlers } from '../http/contract';
import { formatId } from '../ids';
import { getJob, listJobIssues, parseIssueCursor, runJob, type Job, type RunJob } from './jobs.service';

export function jobHandlers(
  db: Database,
  run: RunJob,
): Pick<Handlers, 'getJob' | 'runJob' | 'listJobIssues'> {
  return {
    async getJob({ path, reply }) {
      return reply(200, toBody(await getJob(db, path.job_id)));
    },

    async runJob({ path, reply }) {
      return reply(200, toBody(await runJob(db, run, path.job_id)));
    },

    async listJobIssues({ path, query, reply }) {
      const page = await listJobIssues(db, path.job_id, {
        limit: defaulted(query.limit),
        cursor: query.cursor,
      });
      return reply(200, {
        count: page.items.length,
        items: page.items.map(({ line, sku, field, code, message, value }) => ({
          line,
          sku,
          field,
          code,
          message,
          value,
        })),
        next_cursor: page.nextCursor,
        issue_counts: page.issueCounts,
      });
    },
  };
}

export const jobChecks = {
  listJobIssues({ query }) {
    if (query.cursor !== undefined) parseIssueCursor(query.cursor);
  },
} satisfies Checks;

function toBody(job: Job): components['schemas']['Job'] {
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
