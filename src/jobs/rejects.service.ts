import { Readable } from 'node:stream';
import type { Database } from '../db/database';
import { jobWithoutFinishedRun, rawFileUnusable, unavailable } from '../errors';
import { FeedFailure } from '../etl/feed-failure';
import { openRawFile } from '../etl/raw-file';
import { findSupersededRows, readRejects, RowSet } from '../etl/rejects';
import { parseId } from '../ids';
import { StorageError, type ObjectStore } from '../storage/object-store';
import { findValidationJob, getFeedToRun, type ValidationJobRow } from './jobs.repository';
import { getJob } from './jobs.service';

/**
 * The rows that the job's last run skipped, as a CSV file that is made while it is read.
 * @throws job_not_found, no_finished_run, raw_file_unusable, unavailable
 */
export async function openRejects(db: Database, objectStore: ObjectStore, id: string): Promise<Readable> {
  const job = await getFinishedJob(db, id);
  const feed = await getFeedToRun(db, job.job_id);
  try {
    // A run that failed has not looked for repeated skus; most that have did not find any.
    const repeats =
      job.status === 'completed' && job.issue_counts.some(({ code }) => code === 'duplicate_sku');
    const superseded = repeats ? await findSupersededRows(db, objectStore, feed) : new RowSet();
    const rawFile = await openRawFile(objectStore, feed.objectKey);
    const rejects = readRejects(rawFile, superseded);
    const file = Readable.from(job.status === 'failed' ? untilBreak(rejects) : rejects, {
      objectMode: false,
    });
    // A generator that was never begun, as for a HEAD, cannot clean up behind itself.
    return file.once('close', () => void rawFile.close());
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    const { cause } = error;
    throw cause instanceof StorageError && !cause.missing
      ? unavailable(error)
      : rawFileUnusable(error.message, error);
  }
}

async function getFinishedJob(db: Database, id: string): Promise<ValidationJobRow> {
  await getJob(db, id);
  const validationId = parseId('JV', id);
  const job = validationId === undefined ? null : await findValidationJob(db, validationId);
  if (job?.status !== 'completed' && job?.status !== 'failed') throw jobWithoutFinishedRun(id);
  return job;
}

/** The rows up to where the file is broken: there the run has failed too. */
async function* untilBreak(rejects: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* rejects;
  } catch (error) {
    if (!(error instanceof FeedFailure) || error.cause instanceof StorageError) throw error;
  }
}
