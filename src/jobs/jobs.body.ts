import type { components } from '../../generated/openapi';
import { formatId } from '../shared/ids';
import type { Job } from './jobs.service';

/** Maps a job to its representation. */
export function jobBody(job: Job): components['schemas']['Job'] {
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
    progress: job.progress,
  };
}
