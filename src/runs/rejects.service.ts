import type { Readable } from 'node:stream';
import type { Database } from '../base/db/database';
import { jobWithoutFinishedRun, rawFileRemoved, rawFileUnusable, unavailable } from '../base/errors';
import { FeedFailure } from './etl/run-result';
import type { Encoding } from '../feed-format/format-definition';
import { charsetOf } from '../feed-format/read/file-charset';
import { formatId, parseId } from '../base/ids';
import { holderOf, type Caller, type PartnerScope } from '../base/caller';
import { findRunTarget } from './queue/run-target.repository';
import type { RunWorker } from './execution/worker';
import type { TransferLimit, TransferRequest } from '../base/concurrency/transfer-limit';
import { findValidationJob, type ValidationJobRow } from './jobs/jobs.repository';
import { getJob } from './jobs/jobs.service';

/** Dependencies of a download of rejects. */
interface RejectsContext {
  db: Database;
  worker: Pick<RunWorker, 'rejects'>;
  /** Concurrency limit. */
  downloads: TransferLimit;
}

/** Rejects of a run. */
interface RejectsFile {
  content: Readable;
  charset: Encoding;
}

/**
 * Opens the rejects of the job's last run as a CSV stream. The caller reads it completely or destroys it.
 * @throws job_not_found, no_finished_run, raw_file_removed, raw_file_unusable, unavailable
 */
export async function openRejects(
  { db, worker, downloads }: RejectsContext,
  id: string,
  { caller, ...transfer }: { caller: Caller } & Pick<TransferRequest, 'client' | 'refusal'>,
): Promise<RejectsFile> {
  const job = await getFinishedJob(db, id, caller.partnerName);
  const found = new Set(job.issue_counts.map(({ code }) => code));
  const request = {
    jobId: job.job_id,
    hasRepeatedSkus: found.has('duplicate_sku'),
    hasUnknownSkus: found.has('unknown_sku'),
    hasMissingValues: found.has('missing_required'),
    hasFailed: job.status === 'failed',
  };
  const target = (await findRunTarget(db, job.job_id, caller.partnerName))!;
  const { feedId, partnerId, rawFileRemovedAt, encoding } = target;
  if (rawFileRemovedAt) throw rawFileRemoved(formatId('FD', feedId), rawFileRemovedAt);
  try {
    const holder = { ...holderOf(caller, partnerId), ...transfer };
    const content = await downloads.open(holder, () => worker.rejects(request));
    return { content, charset: await charsetOf(content, encoding) };
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    throw error.unavailable ? unavailable(error) : rawFileUnusable(error.message, error);
  }
}

async function getFinishedJob(db: Database, id: string, scope: PartnerScope): Promise<ValidationJobRow> {
  const validationId = parseId('JV', id);
  const job = validationId === undefined ? null : await findValidationJob(db, validationId, scope);
  // Throws unless it is a submission job.
  if (!job) await getJob(db, id, scope);
  if (job?.status !== 'completed' && job?.status !== 'failed') throw jobWithoutFinishedRun(id);
  return job;
}
