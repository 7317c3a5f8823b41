import type { Readable } from 'node:stream';
import type { Database } from '../db/database';
import { jobWithoutFinishedRun, rawFileUnusable, unavailable } from '../shared/errors';
import { FeedFailure } from '../etl/run-result';
import { parseId } from '../shared/ids';
import { holderOf, type Caller, type PartnerScope } from '../shared/caller';
import type { RunWorker } from './worker';
import type { TransferLimit } from '../shared/transfer-limit';
import { findValidationJob, getFeedToRun, type ValidationJobRow } from '../jobs/jobs.repository';
import { getJob } from '../jobs/jobs.service';

/** How many downloads of rejects may wait: each is most likely a long one. */
export const waitingRejectsMax = 16;

/** What making rejects needs. */
export interface RejectsContext {
  db: Database;
  worker: Pick<RunWorker, 'rejects'>;
  /** Limits how many are in progress. */
  downloads: TransferLimit;
}

/**
 * The rows that the job's last run skipped, as a CSV file that is made while it is read. The caller reads the stream to
 * its end or destroys it.
 * @param bytes - how many the client has taken
 * @throws job_not_found, no_finished_run, raw_file_unusable, unavailable
 */
export async function openRejects(
  { db, worker, downloads }: RejectsContext,
  id: string,
  { caller, bytes }: { caller: Caller; bytes: () => number },
): Promise<Readable> {
  const job = await getFinishedJob(db, id, caller.partnerName);
  const request = {
    jobId: job.job_id,
    // A run that failed has not looked for them; most that have did not find any.
    hasRepeatedSkus:
      job.status === 'completed' && job.issue_counts.some(({ code }) => code === 'duplicate_sku'),
    hasFailed: job.status === 'failed',
  };
  const { partnerId } = await getFeedToRun(db, job.job_id);
  try {
    return await downloads.open({ ...holderOf(caller, partnerId), bytes }, () => worker.rejects(request));
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
