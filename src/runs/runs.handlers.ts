import type { components } from '../../generated/openapi';
import { defaulted, type OperationsOf } from '../http/contract/contract';
import { EncodedFile } from '../http/contract/encoded-file';
import { parsePrefer } from '../http/contract/prefer';
import { requesterName } from '../base/caller';
import { formatId } from '../base/ids';
import { cancelRun } from './cancel.service';
import { followRun } from './jobs/job-changes';
import { parseChangePosition, parseProductPosition } from './jobs/change-cursors';
import { boundedWait, changeQuery, deadline, sortOf } from './jobs/jobs.handlers';
import { jobBody, revertBody } from './jobs/jobs.body';
import { getJob, hasEnded } from './jobs/jobs.service';
import type { TransferLimit } from '../base/concurrency/transfer-limit';
import { openRejects } from './rejects.service';
import { planRevert, queueRevert, revertRun } from './revert.service';
import { revertPlanBody } from './reverts.body';
import {
  getPermittedTarget,
  hasRunEnded,
  planJob,
  queueRun,
  runHere,
  type JobPlan,
  type RunServices,
} from './runs.service';

/** Poll interval suggested to clients that do not wait for a run. */
const retryAfterSeconds = 1;

/** The operations on runs. @param downloads - concurrency limit of downloads of rejects */
export function runOperations(
  services: RunServices,
  downloads: TransferLimit,
): OperationsOf<'runJob' | 'cancelJob' | 'planJob' | 'revertRun' | 'downloadJobRejects'> {
  const { db, changes, worker } = services;
  return {
    runJob: {
      async handle({ path: { job_id: id }, query, headers, caller, key, requestId, isAborted, reply }) {
        const { respondAsync, wait } = parsePrefer(headers.Prefer);
        const { partnerName: scope } = caller;
        const target = await getPermittedTarget(db, id, scope, {
          maxWithdrawn: query.max_withdrawn,
          allowOlder: query.allow_older,
          requestedBy: requesterName(caller),
          requestId,
        });
        if (!respondAsync) {
          await runHere(services, target, { key, isAborted });
          return reply(200, jobBody(await getJob(db, id, scope)));
        }
        const requested = await queueRun(services, target);
        const seconds = wait === undefined || changes.isFull() ? undefined : boundedWait(wait);
        for await (const run of followRun(db, changes, requested, deadline(seconds ?? 0, isAborted))) {
          if (!run || !hasRunEnded(run)) continue;
          const job = await getJob(db, id, scope);
          // Otherwise, the next run is requested already.
          if (!job.hasRun) return reply(200, jobBody(job));
        }
        return reply(202, jobBody(await getJob(db, id, scope)), {
          Location: `/jobs/${id}`,
          'Retry-After': retryAfterSeconds,
          'Preference-Applied': appliedPreferences(seconds),
        });
      },
    },

    cancelJob: {
      async handle({ path, caller, isAborted, reply }) {
        const cancelled = await cancelRun(db, path.job_id, caller.partnerName, isAborted);
        const { job } = cancelled;
        if (cancelled.hasEnded) return reply(200, jobBody(job));
        return reply(202, jobBody(job), {
          Location: `/jobs/${job.jobId}`,
          'Retry-After': retryAfterSeconds,
        });
      },
    },

    planJob: {
      check({ query }) {
        parseChangePosition(query.cursor, sortOf(query));
      },
      async handle({ path, query, caller, reply }) {
        const request = { maxWithdrawn: query.max_withdrawn, allowOlder: query.allow_older };
        const plan = await planJob(services, path.job_id, caller.partnerName, changeQuery(query), request);
        return reply(200, planBody(plan));
      },
    },

    revertRun: {
      check({ query }) {
        parseProductPosition(query.cursor);
      },
      async handle({ path: { job_id: id }, query, headers, caller, key, requestId, isAborted, reply }) {
        const asked = {
          id,
          run: query.run,
          scope: caller.partnerName,
          skipsConflicts: query.on_conflict === 'skip',
          requestedBy: requesterName(caller),
          requestId,
        };
        if (query.dry_run) {
          const page = { limit: defaulted(query.limit), cursor: query.cursor };
          return reply(200, revertPlanBody(await planRevert(db, asked, page)));
        }
        const { respondAsync, wait } = parsePrefer(headers.Prefer);
        if (!respondAsync) {
          return reply(200, revertBody(await revertRun(services, asked, { key, isAborted })));
        }
        const seconds = wait === undefined ? undefined : boundedWait(wait);
        const revert = await queueRevert(services, asked, deadline(seconds ?? 0, isAborted));
        if (hasEnded(revert)) return reply(200, revertBody(revert));
        return reply(202, revertBody(revert), {
          Location: `/jobs/${id}/runs`,
          'Retry-After': retryAfterSeconds,
          'Preference-Applied': appliedPreferences(seconds),
        });
      },
    },

    downloadJobRejects: {
      async handle({ path, caller, client, refusal, reply }) {
        const context = { db, worker, downloads };
        const { content, charset } = await openRejects(context, path.job_id, { caller, client, refusal });
        return reply(200, new EncodedFile(content, charset), {
          'Content-Disposition': `attachment; filename="${path.job_id}-rejects.csv"`,
        });
      },
    },
  };
}

const appliedPreferences = (seconds: number | undefined) =>
  seconds === undefined ? 'respond-async' : `respond-async, wait=${seconds}`;

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
    withheld_lines: plan.withheldLines,
    newer_feed_id: plan.newerFeedId,
    next_cursor: plan.nextCursor,
  };
}
