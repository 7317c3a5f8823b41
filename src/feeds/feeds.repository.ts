import type { Database } from '../db/database';
import type { RunColumns } from '../jobs/jobs.service';
import type { PartnerScope } from '../shared/caller';
import { publishEventsSql } from '../events/outbox';

type FeedStatus = 'uploaded' | 'processing' | 'validating' | 'validated' | 'processed' | 'failed';

/** A feed with its partner and the last run of its validation job. */
export interface FeedRow extends RunColumns {
  feed_id: number;
  partner_name: string;
  filename: string;
  content_type: string;
  feed_status: FeedStatus;
  uploaded_at: Date;
  raw_file_bucket: string;
  raw_file_object_key: string;
  sha256: Buffer;
  size_bytes: number;
  /** The first feed of the partner with the same bytes, if it has a smaller number. */
  duplicate_of: number | null;
}

/** Not stored: an upload with a smaller number may commit later. */
const duplicateOf = `
  (select min(earlier.feed_id) from feeds as earlier
   where earlier.partner_id = feeds.partner_id
     and earlier.sha256 = feeds.sha256
     and earlier.feed_id < feeds.feed_id) as duplicate_of`;

export async function findFeed(db: Database, feedId: number, scope: PartnerScope): Promise<FeedRow | null> {
  const row = await db('feeds')
    .join('partners', 'partners.partner_id', 'feeds.partner_id')
    .join('validation_jobs', 'validation_jobs.feed_id', 'feeds.feed_id')
    .where({ 'feeds.feed_id': feedId, ...(scope !== null && { 'partners.partner_name': scope }) })
    .first<FeedRow | undefined>(
      'feeds.feed_id',
      'partners.partner_name',
      'feeds.filename',
      'feeds.content_type',
      'feeds.status as feed_status',
      'feeds.uploaded_at',
      'feeds.raw_file_bucket',
      'feeds.raw_file_object_key',
      'feeds.sha256',
      'feeds.size_bytes',
      db.raw(duplicateOf),
      'validation_jobs.job_id',
      'validation_jobs.status',
      'validation_jobs.run_requested_at',
      'validation_jobs.failure_reason',
      'validation_jobs.processed',
      'validation_jobs.inserted',
      'validation_jobs.updated',
      'validation_jobs.unchanged',
      'validation_jobs.skipped',
    );
  return row ?? null;
}

export async function findDuplicate(db: Database, feedId: number): Promise<number | null> {
  const row = await db('feeds')
    .where('feed_id', feedId)
    .first<Pick<FeedRow, 'duplicate_of'> | undefined>(db.raw(duplicateOf));
  return row?.duplicate_of ?? null;
}

/** Finds the highest feed number drawn so far; 0 if none was. */
export async function lastFeedId(db: Database): Promise<number> {
  const { rows } = await db.raw<{ rows: [{ last: number }] }>(
    `select coalesce(pg_sequence_last_value(cast(pg_get_serial_sequence('feeds', 'feed_id') as regclass)), 0) as last`,
  );
  return rows[0].last;
}

/** Filters the keys that a feed row names. */
export async function findNamedKeys(db: Database, bucket: string, keys: string[]): Promise<Set<string>> {
  const named = await db('feeds')
    .where('raw_file_bucket', bucket)
    .andWhereRaw('raw_file_object_key = any (?)', [keys])
    .pluck<string[]>('raw_file_object_key');
  return new Set(named);
}

/** Draws the number of a feed. A rejected upload leaves a gap. */
export async function drawFeedId(db: Database): Promise<number> {
  const { rows } = await db.raw<{ rows: { feed_id: number }[] }>(
    "select nextval(pg_get_serial_sequence('feeds', 'feed_id')) as feed_id",
  );
  return rows[0]!.feed_id;
}

/** Finds or creates a partner, and locks its row against removal. Safe to call concurrently. */
export async function getOrInsertPartner(db: Database, partnerName: string): Promise<number> {
  const { rows } = await db.raw<{ rows: { partner_id: number }[] }>(
    `with created as (
       insert into partners (partner_name)
       select :partnerName where not exists (select from partners where partner_name = :partnerName)
       on conflict do nothing
       returning partner_id
     ), existing as (
       select partner_id from partners where partner_name = :partnerName for key share
     )
     select partner_id from created
     union all
     select partner_id from existing`,
    { partnerName },
  );
  // Another transaction created or merged the partner meanwhile: the next statement sees that.
  return rows[0]?.partner_id ?? getOrInsertPartner(db, partnerName);
}

export async function partnerExists(db: Database, partnerName: string): Promise<boolean> {
  return (await db('partners').where('partner_name', partnerName).first('partner_id')) !== undefined;
}

interface NewFeed {
  feed_id: number;
  partner_id: number;
  filename: string;
  content_type: string;
  raw_file_bucket: string;
  raw_file_object_key: string;
  sha256: Buffer;
  size_bytes: number;
}

export async function insertFeed(db: Database, feed: NewFeed): Promise<void> {
  await db('feeds').insert(feed);
}

/** Publishes feed.uploaded. The content is a row of `findFeed`, its digest in hexadecimal. */
export async function publishFeedEvent(db: Database, feedId: number): Promise<void> {
  await db.raw(publishFeedEventSql, [feedId]);
}

const publishFeedEventSql = publishEventsSql(`
  select 'feed.uploaded' as event_type, partner_name, to_json(feed) as content
  from (
    select feed_id, partner_name, filename, content_type, feeds.status as feed_status, uploaded_at, raw_file_bucket,
      raw_file_object_key, encode(sha256, 'hex') as sha256, size_bytes, ${duplicateOf}, job_id, job.status, run_requested_at,
      failure_reason, processed, inserted, updated, unchanged, skipped
    from feeds join partners using (partner_id) join validation_jobs as job using (feed_id)
    where feed_id = ?
  ) as feed
`);
