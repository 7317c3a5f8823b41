import type { Readable } from 'node:stream';
import type { Database } from '../db/database';
import { jobWithoutFinishedRun, rawFileUnusable, unavailable } from '../errors';
import { FeedFailure } from '../etl/feed-failure';
import { parseId } from '../ids';
import type { PartnerScope } from '../keys/caller';
import { findValidationJob, type ValidationJobRow } from './jobs.repository';
import { getJob, type FeedRunner } from './jobs.service';

/**
 * The rows that the job's last run skipped, as a CSV file that is made while it is read. The caller reads the stream to
 * its end or destroys it.
 * @throws job_not_found, no_finished_run, raw_file_unusable, unavailable
 */
export async function openRejects(
  db: Database,
  runner: FeedRunner,
  id: string,
  scope: PartnerScope,
): Promise<Readable> {
  const job = await getFinishedJob(db, id, scope);
  try {
    return await runner.rejects({
      jobId: job.job_id,
      // A run that failed has not looked for them; most that have did not find any.
      hasRepeatedSkus:
        job.status === 'completed' && job.issue_counts.some(({ code }) => code === 'duplicate_sku'),
      hasFailed: job.status === 'failed',
    });
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    throw error.unavailable ? unavailable(error) : rawFileUnusable(error.message, error);
  }
}

async function getFinishedJob(db: Database, id: string, scope: PartnerScope): Promise<ValidationJobRow> {
  const validationId = parseId('JV', id);
  const job = validationId === undefined ? null : await findValidationJob(db, validationId, scope);
  // An unknown job, or a submission job.
  if (!job) await getJob(db, id, scope);
  if (job?.status !== 'completed' && job?.status !== 'failed') throw jobWithoutFinishedRun(id);
  return job;
}
