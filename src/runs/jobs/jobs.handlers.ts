import { Readable } from 'node:stream';
import type { Database } from '../../base/db/database';
import { unavailable } from '../../base/errors';
import { issueBody } from '../../feed-format/rows/issue-body';
import { defaulted, type OperationsOf, type RawRequest } from '../../http/contract/contract';
import { entityTagOf, hasCopy } from '../../http/reply/caching';
import { parsePrefer } from '../../http/contract/prefer';
import type { Caller } from '../../base/caller';
import { toListBody } from '../../base/pagination';
import type { ChangeAction, ChangeSort } from '../etl/change-order';
import { followJob, jobWaitLimits, type JobChanges } from './job-changes';
import { jobEvents, type JobState } from './job-events';
import { listJobRuns } from './job-runs.service';
import { jobBody, runBody, runChangesBody } from './jobs.body';
import { getJob, hasEnded, listJobIssues, parsePosition, type Job } from './jobs.service';
import { parseEffectPosition } from './change-cursors';
import { listRunChanges, type ChangeQuery } from './run-changes.service';

export function jobOperations(
  db: Database,
  changes: JobChanges,
): OperationsOf<'getJob' | 'streamJobEvents' | 'listJobIssues' | 'listJobRuns' | 'listRunChanges'> {
  return {
    getJob: {
      async handle({ path, headers, caller, isAborted, reply }) {
        const { wait } = parsePrefer(headers.Prefer);
        const seconds = wait === undefined || changes.isFull() ? undefined : boundedWait(wait);
        let state: JobState | undefined;
        for await (const next of statesOf(path.job_id, caller, deadline(seconds ?? 0, isAborted))) {
          const isNew = state ? next.tag !== state.tag : hasEnded(next.job);
          state = next;
          if (headers['If-None-Match'] === undefined ? isNew : !hasCopy(headers, next.tag)) break;
        }
        const { job, tag } = state!;
        const stateHeaders = {
          ETag: tag,
          'Cache-Control': 'private, no-cache' as const,
          ...(seconds !== undefined && { 'Preference-Applied': `wait=${seconds}` }),
        };
        return reply(200, jobBody(job), stateHeaders);
      },
    },

    streamJobEvents: {
      async handle({ path, headers, caller, isAborted, reply }) {
        const lastTag = headers['Last-Event-ID'];
        const state = stateOf(await getJob(db, path.job_id, caller.partnerName));
        if (hasEnded(state.job) && state.tag === lastTag) return reply(204, undefined);
        if (changes.isFull()) throw unavailable('too many waiters for changes of jobs');
        const states = (isOver: () => boolean) => statesOf(path.job_id, caller, isOver);
        const events = jobEvents(states, lastTag, isAborted);
        return reply(200, Readable.from(events, { objectMode: false }), { 'X-Accel-Buffering': 'no' });
      },
    },

    listJobIssues: {
      check: checkCursor,
      async handle({ path, query, caller, reply }) {
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
          issues_removed_at: page.issuesRemovedAt?.toISOString(),
        });
      },
    },

    listJobRuns: {
      check: checkCursor,
      async handle({ path, query, caller, reply }) {
        const page = await listJobRuns(db, path.job_id, caller.partnerName, {
          limit: defaulted(query.limit),
          cursor: query.cursor,
        });
        return reply(200, toListBody(page, runBody));
      },
    },

    listRunChanges: {
      check({ query }) {
        parseEffectPosition(query.cursor, sortOf(query));
      },
      async handle({ path, query, caller, reply }) {
        const asked = { id: path.job_id, run: query.run, scope: caller.partnerName };
        const { run, effects, nextCursor } = await listRunChanges(db, asked, changeQuery(query));
        return reply(200, runChangesBody(run, effects, nextCursor));
      },
    },
  };

  async function* statesOf(
    id: string,
    { partnerName }: Caller,
    isOver: () => boolean,
  ): AsyncGenerator<JobState> {
    for await (const job of followJob(db, changes, id, partnerName, isOver)) yield stateOf(job);
  }
}

function stateOf(job: Job): JobState {
  const text = JSON.stringify(jobBody(job));
  return { job, text, tag: entityTagOf(text) };
}

/** Limits the wait that a client prefers. */
export const boundedWait = (seconds: number) => Math.min(seconds, jobWaitLimits.secondsMax);

/** Returns whether a wait is over: after `seconds`, or when the request is aborted. */
export function deadline(seconds: number, isAborted: () => boolean): () => boolean {
  const until = performance.now() + seconds * 1000;
  return () => performance.now() >= until || isAborted();
}

/** Rejects a malformed cursor with 400. */
const checkCursor = ({ query }: RawRequest) => {
  if (query.cursor !== undefined) parsePosition(query.cursor);
};

/** Returns the order of changes that a request names. */
export const sortOf = (query: { sort_by?: unknown }): ChangeSort =>
  query.sort_by === 'price_change' ? 'price_change' : 'usual';

/** Returns which changes a request lists. */
export const changeQuery = (query: {
  limit?: number;
  sort_by?: unknown;
  action?: ChangeAction;
  cursor?: string;
}): ChangeQuery => ({
  limit: defaulted(query.limit),
  sort: sortOf(query),
  action: query.action,
  cursor: query.cursor,
});
