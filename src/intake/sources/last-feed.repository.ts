import { queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { LoadMode } from '../../feed-format/load-options';
import type { FormatDefinition } from '../../feed-format/format-definition';

/** The last feed of a source, its job, and the last run that loaded it. */
const lastFeedSql = raw(`
  feeds as last join validation_jobs as job on job.feed_id = last.feed_id left join lateral (
    select finished_at from runs where runs.job_id = job.job_id and kind = 'load' and status = 'completed'
    order by run desc limit 1
  ) as load on true`);

/**
 * Whether the feed was loaded, and no other run or revert for its products followed, waits or is in progress: for
 * its collection, or for any if one of the feeds names none.
 * @param counts - condition on such an `other` feed
 */
const isInForceSql = (counts = raw('true')): Sql => sql`
  job.status = 'completed' and load.finished_at is not null and not exists (
    select from feeds as other
    join validation_jobs as other_job on other_job.feed_id = other.feed_id
    where ${counts} and other.partner_id = last.partner_id
      and (other.collection = last.collection or not (other.is_collection_named and last.is_collection_named)) and (
      (other.feed_id <> last.feed_id and other.last_completed_at >= load.finished_at)
      or exists (
        select from runs where runs.job_id = other_job.job_id and (
          status in ('queued', 'running') or (kind = 'revert' and status = 'completed' and finished_at >= load.finished_at)
        )
      )
    )
  )`;

/** Options to read and load the next feed of a source. */
export interface FeedReading {
  mode: LoadMode;
  collection: string;
  isCollectionNamed: boolean;
  format: FormatDefinition | null;
}

/**
 * Tells whether another feed with the content of the last one would change nothing: it was read and loaded in the same way, and
 * is in force. Without `runs`, a queued run is sufficient.
 */
export async function isLastFeedCurrent(
  db: Database,
  lastFeedId: number,
  { mode, collection, isCollectionNamed, format }: FeedReading,
  runs: boolean,
): Promise<boolean> {
  const rows = await queryRows(
    db,
    sql`select from ${lastFeedSql}
     where last.feed_id = ${lastFeedId} and (last.mode, last.collection, last.is_collection_named)
         = (${mode}, ${collection}, ${isCollectionNamed})
       and cast(last.format_definition as jsonb) is not distinct from cast(cast(${format && JSON.stringify(format)} as text) as jsonb)
       and ((${isInForceSql()}) or (not ${runs} and job.status = 'queued' and not exists (
         select from runs where runs.job_id = job.job_id and runs.status <> 'queued'
       )))`,
  );
  return rows.length > 0;
}

/** Tells whether a new feed repeats the last one: same bytes, format, mode and collection. The last one is in force. */
export async function repeatsLastFeed(db: Database, newFeedId: number, lastFeedId: number): Promise<boolean> {
  const rows = await queryRows(
    db,
    sql`select from ${lastFeedSql} join feeds as new on new.feed_id = ${newFeedId}
     where last.feed_id = ${lastFeedId} and (new.partner_id, new.sha256, new.mode, new.collection, new.is_collection_named)
         = (last.partner_id, last.sha256, last.mode, last.collection, last.is_collection_named)
       and cast(new.format_definition as jsonb) is not distinct from cast(last.format_definition as jsonb)
       and ${isInForceSql(sql`other.feed_id <> ${newFeedId}`)}`,
  );
  return rows.length > 0;
}
