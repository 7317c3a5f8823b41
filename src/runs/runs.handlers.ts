import type { components } from '../../generated/openapi';
import { defaulted, type Checks, type Handlers } from '../http/contract';
import { parsePrefer } from '../http/prefer';
import { formatId } from '../shared/ids';
import { cancelRun } from './cancel.service';
import { followJob } from '../jobs/job-changes';
import { boundedWait, checkCursor, deadline } from '../jobs/jobs.handlers';
import { jobBody } from '../jobs/jobs.body';
import { hasEnded, type Job } from '../jobs/jobs.service';
import type { TransferLimit } from '../shared/transfer-limit';
import { openRejects } from './rejects.service';
import { planJob, queueJob, runJob, type JobPlan, type RunServices } from './runs.service';

/** Poll interval suggested to clients that do not wait for a run. */
const retryAfterSeconds = 1;

/** Handlers of the operations on runs. @param downloads - concurrency limit of downloads of rejects */
export function runHandlers(
  services: RunServices,
  downloads: TransferLimit,
): Pick<Handlers, 'runJob' | 'cancelJob' | 'planJob' | 'downloadJobRejects'> {
  const { db, changes, worker } = services;
  return {
    async runJob({ path: { job_id: id }, headers, caller: { partnerName: scope }, isAborted, reply }) {
      const { respondAsync, wait } = parsePrefer(headers.Prefer);
      if (!respondAsync) return reply(200, jobBody(await runJob(services, id, scope, isAborted)));
      await queueJob(services, id, scope);
      const seconds = wait === undefined || changes.isFull() ? undefined : boundedWait(wait);
      let job: Job;
      for await (job of followJob(db, changes, id, scope, deadline(seconds ?? 0, isAborted))) {
        if (hasEnded(job)) return reply(200, jobBody(job));
      }
      return reply(202, jobBody(job!), {
        Location: `/jobs/${id}`,
        'Retry-After': retryAfterSeconds,
        'Preference-Applied': seconds === undefined ? 'respond-async' : `respond-async, wait=${seconds}`,
      });
    },

    async cancelJob({ path, caller, isAborted, reply }) {
      const cancelled = await cancelRun(db, path.job_id, caller.partnerName, isAborted);
      const { job } = cancelled;
      if (cancelled.hasEnded) return reply(200, jobBody(job));
      return reply(202, jobBody(job), {
        Location: `/jobs/${job.jobId}`,
        'Retry-After': retryAfterSeconds,
      });
    },

    async planJob({ path, query, caller, reply }) {
      const page = { limit: defaulted(query.limit), cursor: query.cursor };
      return reply(200, planBody(await planJob(services, path.job_id, caller.partnerName, page)));
    },

    async downloadJobRejects({ path, caller, bytesTaken: bytes, reply }) {
      const rejects = await openRejects({ db, worker, downloads }, path.job_id, { caller, bytes });
      return reply(200, rejects, {
        'Content-Disposition': `attachment; filename="${path.job_id}-rejects.csv"`,
      });
    },
  };
}

export const runChecks = { planJob: checkCursor } satisfies Checks;

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
