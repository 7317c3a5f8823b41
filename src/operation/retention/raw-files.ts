import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { isUnused } from '../../base/db/layout/product-layout';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { RawFile } from '../../runs/etl/raw-file';

/** Feeds per batch: all order items are read once for each. */
const batchFeeds = 100;

/**
 * Feeds whose raw file has expired: uploaded long ago, and last run long ago. Excludes feeds that the catalog needs: for
 * each collection, the newest loaded feed and the last loaded feed; and failed ones that were loaded before.
 * @param isFailedExpired - a condition on `feeds` whose run has not completed
 */
const expiredFiles = (days: number, isFailedExpired: Sql) => sql`
  feeds join validation_jobs as job using (feed_id)
  where raw_file_removed_at is null and uploaded_at < now() - ${days} * interval '1 day'
    and finished_at < now() - ${days} * interval '1 day'
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
      else ${isFailedExpired}
    end`;

/** Returns `expiredFiles` of `days`: a failed feed is unused unless products come from it. */
async function expiredFilesSql(trx: Knex.Transaction, days: number): Promise<Sql> {
  const failed = sql`
    select feed_id, partner_id from ${expiredFiles(days, raw('true'))} and job.status <> 'completed'`;
  return expiredFiles(days, await isUnused(trx, failed));
}

/** Numbers of removed raw files. */
export interface RemovedFiles {
  files: number;
  bytes: number;
}

/** Counts the raw files that `removeExpiredFiles` would remove. */
export async function countExpiredFiles(trx: Knex.Transaction, days: number): Promise<RemovedFiles> {
  const expired = await expiredFilesSql(trx, days);
  const [removed] = await queryRows<RemovedFiles>(
    trx,
    sql`select count(*) as files, cast(coalesce(sum(size_bytes), 0) as bigint) as bytes from ${expired}`,
  );
  return removed!;
}

export interface ExpiredFile extends RawFile {
  feedId: number;
  partnerId: number;
  /** In full precision, as text. */
  uploadedAt: string;
}

/**
 * Lists some expired raw files, oldest first.
 * @param after - the last one of the previous batch: kept files are not read again
 */
export async function listExpiredFiles(
  trx: Knex.Transaction,
  days: number,
  after?: ExpiredFile,
): Promise<ExpiredFile[]> {
  const expired = await expiredFilesSql(trx, days);
  return queryRows<ExpiredFile>(
    trx,
    sql`select feeds.feed_id as "feedId", partner_id as "partnerId", cast(uploaded_at as text) as "uploadedAt",
       raw_file_object_key as "objectKey", size_bytes as "sizeBytes", sha256, mode, format_definition as format
     from ${expired}
       and (uploaded_at, feeds.feed_id) > (cast(${after?.uploadedAt ?? '-infinity'} as timestamptz), ${after?.feedId ?? 0})
     order by uploaded_at, feeds.feed_id limit ${raw(batchFeeds)}`,
  );
}

/**
 * Marks a raw file as removed if it is still expired, and enqueues its object for deletion. Skips a job that is about to run.
 * @returns whether it was marked
 */
export async function removeExpiredFile(
  trx: Knex.Transaction,
  days: number,
  { feedId }: ExpiredFile,
): Promise<boolean> {
  const expired = await expiredFilesSql(trx, days);
  const rows = await queryRows(
    trx,
    sql`select from ${expired} and feeds.feed_id = ${feedId} for no key update of job skip locked`,
  );
  if (rows.length === 0) return false;
  await queryRows(
    trx,
    sql`with removed as (
       update feeds set raw_file_removed_at = clock_timestamp() where feed_id = ${feedId}
       returning raw_file_bucket, raw_file_object_key
     )
     insert into removed_objects (bucket, object_key) select raw_file_bucket, raw_file_object_key from removed`,
  );
  return true;
}
