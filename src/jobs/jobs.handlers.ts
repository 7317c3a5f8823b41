import { Readable } from 'node:stream';
import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import { unavailable } from '../errors';
import type { RowIssue } from '../etl/row-issues';
import { defaulted, type Checks, type Handlers, type RawRequest } from '../http/contract';
import { entityTagOf, hasCopy } from '../http/entity-tag';
import { parsePrefer } from '../http/prefer';
import { formatId } from '../ids';
import type { Caller } from '../keys/caller';
import { limits } from '../limits';
import type { TransferLimit } from '../shared/transfer-limit';
import { cancelRun } from './cancel.service';
import { followJob } from './follow.service';
import { jobEvents, type JobState } from './job-events';
import { JobWatch } from './job-watch';
import { jobBody } from './jobs.body';
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

/** The operations of jobs; `runner` does the work, `downloads` limits those of rejects. */
export function jobHandlers(
  db: Database,
  runner: FeedRunner,
  downloads: TransferLimit,
): Pick<
  Handlers,
  'getJob' | 'streamJobEvents' | 'runJob' | 'cancelJob' | 'planJob' | 'listJobIssues' | 'downloadJobRejects'
> {
  const watch = new JobWatch(db);

  return {
    async getJob({ path, headers, caller, isGivenUp, reply }) {
      const { wait } = parsePrefer(headers.Prefer);
      const seconds = wait === undefined || watch.isFull() ? undefined : boundedWait(wait);
      let state: JobState | undefined;
      for await (const next of statesOf(path.job_id, caller, overIn(seconds ?? 0, isGivenUp))) {
        const isNews = state ? next.tag !== state.tag : hasEnded(next.job);
        state = next;
        if (headers['If-None-Match'] === undefined ? isNews : !hasCopy(headers, next.tag)) break;
      }
      const { job, tag } = state!;
      const stateHeaders = {
        ETag: tag,
        'Cache-Control': 'private, no-cache' as const,
        ...(seconds !== undefined && { 'Preference-Applied': `wait=${seconds}` }),
      };
      if (hasCopy(headers, tag)) return reply(304, undefined, stateHeaders);
      return reply(200, jobBody(job), stateHeaders);
    },

    async streamJobEvents({ path, headers, caller, isGivenUp, reply }) {
      const lastTag = headers['Last-Event-ID'];
      const state = stateOf(await getJob(db, path.job_id, caller.partnerName));
      if (hasEnded(state.job) && state.tag === lastTag) return reply(204, undefined);
      if (watch.isFull()) throw unavailable('too many wait for a job to change');
      const states = (isOver: () => boolean) => statesOf(path.job_id, caller, isOver);
      const events = jobEvents(states, lastTag, isGivenUp);
      return reply(200, Readable.from(events, { objectMode: false }), { 'X-Accel-Buffering': 'no' });
    },

    async runJob({ path, headers, caller, isGivenUp, reply }) {
      const { respondAsync, wait } = parsePrefer(headers.Prefer);
      if (!respondAsync) {
        return reply(200, jobBody(await runJob(db, runner, path.job_id, caller.partnerName)));
      }
      await queueJob(db, path.job_id, caller.partnerName);
      const seconds = wait === undefined || watch.isFull() ? undefined : boundedWait(wait);
      let state: JobState;
      for await (state of statesOf(path.job_id, caller, overIn(seconds ?? 0, isGivenUp))) {
        if (hasEnded(state.job)) return reply(200, jobBody(state.job));
      }
      return reply(202, jobBody(state!.job), {
        Location: `/jobs/${path.job_id}`,
        'Retry-After': limits.queuedRunRetrySeconds,
        'Preference-Applied': seconds === undefined ? 'respond-async' : `respond-async, wait=${seconds}`,
      });
    },

    async cancelJob({ path, caller, isGivenUp, reply }) {
      const cancelled = await cancelRun(db, path.job_id, caller.partnerName, isGivenUp);
      const { job } = cancelled;
      if (cancelled.hasEnded) return reply(200, jobBody(job));
      return reply(202, jobBody(job), {
        Location: `/jobs/${job.jobId}`,
        'Retry-After': limits.queuedRunRetrySeconds,
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

    async downloadJobRejects({ path, caller, bytesTaken: bytes, reply }) {
      const rejects = await openRejects({ db, runner, downloads }, path.job_id, { caller, bytes });
      return reply(200, rejects, {
        'Content-Disposition': `attachment; filename="${path.job_id}-rejects.csv"`,
      });
    },
  };

  async function* statesOf(
    id: string,
    { partnerName }: Caller,
    isOver: () => boolean,
  ): AsyncGenerator<JobState> {
    for await (const job of followJob(db, watch, id, partnerName, isOver)) yield stateOf(job);
  }
}

function stateOf(job: Job): JobState {
  const text = JSON.stringify(jobBody(job));
  return { job, text, tag: entityTagOf(Buffer.from(text)) };
}

const boundedWait = (seconds: number) => Math.min(seconds, limits.jobWaitSecondsMax);

/** Says when the wait is over: after so many seconds, or when nobody waits any more. */
function overIn(seconds: number, isGivenUp: () => boolean): () => boolean {
  const until = performance.now() + seconds * 1000;
  return () => performance.now() >= until || isGivenUp();
}

const checkCursor = ({ query }: RawRequest) => {
  if (query.cursor !== undefined) parsePosition(query.cursor);
};

/** A cursor that cannot be one is 400. */
export const jobChecks = { listJobIssues: checkCursor, planJob: checkCursor } satisfies Checks;

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
