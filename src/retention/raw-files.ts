import type { Knex } from 'knex';
import { isDistributed } from '../db/layout';
import type { RawFile } from '../etl/raw-file';

/** Feeds per batch: all order items are read once for each. */
const batchFeeds = 100;

/**
 * Feeds whose raw file has expired: uploaded long ago, and run, the last time long ago. Not those that the catalog needs: of
 * each collection, the newest feed that was loaded and the feed that was loaded last; and failed ones that were loaded before.
 * Binding: `days`.
 * @param isUnused - a condition on `feeds`: no product comes from it
 */
const expiredFiles = (isUnused: string) => `
  feeds join validation_jobs as job using (feed_id)
  where raw_file_removed_at is null and uploaded_at < now() - :days * interval '1 day'
    and finished_at < now() - :days * interval '1 day'
    and case job.status
      when 'completed' then
        exists (
          select from feeds as newer join validation_jobs as newer_job using (feed_id)
          where newer.partner_id = feeds.partner_id and newer.collection = feeds.collection and newer_job.status = 'completed'
            and (newer.uploaded_at, newer.feed_id) > (feeds.uploaded_at, feeds.feed_id)
        ) and exists (
          select from feeds as later join validation_jobs as later_job using (feed_id)
          where later.partner_id = feeds.partner_id and later.collection = feeds.collection and later_job.status = 'completed'
            and later_job.finished_at > job.finished_at
        )
      else ${isUnused}
    end`;

const noProducts = `not exists (
  select from products where products.partner_id = feeds.partner_id and products.feed_id = feeds.feed_id
)`;

/** Returns `expiredFiles`; where `products` is distributed, with the numbers of the failed feeds that have products. */
async function expiredFilesSql(trx: Knex.Transaction, days: number): Promise<string> {
  if (!(await isDistributed(trx))) return expiredFiles(noProducts);
  const { rows } = await trx.raw<{ rows: { feedId: number; partnerId: number }[] }>(
    `select feed_id as "feedId", partner_id as "partnerId" from ${expiredFiles("job.status <> 'completed'")}
       and job.status <> 'completed'`,
    { days },
  );
  const used: number[] = [];
  for (const { feedId, partnerId } of rows) {
    const at = { partner_id: partnerId, feed_id: feedId };
    if (await trx('products').where(at).first('feed_id')) used.push(feedId);
  }
  return expiredFiles(`feeds.feed_id <> all (cast('{${used.join(',')}}' as bigint[]))`);
}

/** Numbers of removed raw files. */
export interface RemovedFiles {
  files: number;
  bytes: number;
}

/** Counts the raw files that `removeExpiredFiles` would remove. */
export async function countExpiredFiles(trx: Knex.Transaction, days: number): Promise<RemovedFiles> {
  const expired = await expiredFilesSql(trx, days);
  const { rows } = await trx.raw<{ rows: [RemovedFiles] }>(
    `select count(*) as files, cast(coalesce(sum(size_bytes), 0) as bigint) as bytes from ${expired}`,
    { days },
  );
  return rows[0];
}

/** A raw file that has expired. */
export interface ExpiredFile extends RawFile {
  feedId: number;
  partnerId: number;
  /** In full precision, as text. */
  uploadedAt: string;
}

/**
 * Lists some expired raw files, oldest first.
 * @param after - the last one of the batch before: files that are kept are not looked at again
 */
export async function listExpiredFiles(
  trx: Knex.Transaction,
  days: number,
  after?: ExpiredFile,
): Promise<ExpiredFile[]> {
  const expired = await expiredFilesSql(trx, days);
  const { rows } = await trx.raw<{ rows: ExpiredFile[] }>(
    `select feeds.feed_id as "feedId", partner_id as "partnerId", cast(uploaded_at as text) as "uploadedAt",
       raw_file_object_key as "objectKey", size_bytes as "sizeBytes", sha256, mode, format_definition as format
     from ${expired}
       and (uploaded_at, feeds.feed_id) > (cast(:uploadedAt as timestamptz), :feedId)
     order by uploaded_at, feeds.feed_id limit :batchFeeds`,
    { days, batchFeeds, uploadedAt: after?.uploadedAt ?? '-infinity', feedId: after?.feedId ?? 0 },
  );
  return rows;
}

/**
 * Marks a raw file as removed if it still is expired, and enqueues its object for deletion. Skips a job that is about to run.
 * @returns whether it was marked
 */
export async function removeExpiredFile(
  trx: Knex.Transaction,
  days: number,
  { feedId }: ExpiredFile,
): Promise<boolean> {
  const expired = await expiredFilesSql(trx, days);
  const { rows } = await trx.raw<{ rows: unknown[] }>(
    `select from ${expired} and feeds.feed_id = :feedId for no key update of job skip locked`,
    { days, feedId },
  );
  if (rows.length === 0) return false;
  await trx.raw(
    `with removed as (
       update feeds set raw_file_removed_at = clock_timestamp() where feed_id = ?
       returning raw_file_bucket, raw_file_object_key
     )
     insert into removed_objects (bucket, object_key) select raw_file_bucket, raw_file_object_key from removed`,
    [feedId],
  );
  return true;
}
