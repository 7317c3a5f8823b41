import type { Database } from '../db/database';
import type { RunColumns } from '../jobs/jobs.service';
import type { PartnerScope } from '../shared/caller';
import { publishEventsSql } from '../events/outbox';

type FeedStatus = 'uploaded' | 'processing' | 'validating' | 'validated' | 'processed' | 'failed';

/** A feed with its partner's name and what its validation job says. */
export interface FeedRow extends RunColumns {
  feed_id: number;
  partner_name: string;
  filename: string;
  content_type: string;
  feed_status: FeedStatus;
  uploaded_at: Date;
  raw_file_bucket: string;
  raw_file_object_key: string;
  /** 32 bytes. */
  sha256: Buffer;
  size_bytes: number;
  /** The first feed of the partner with the same bytes, if it has a smaller number. */
  duplicate_of: number | null;
}

/** Computed whenever it is read: an upload with a smaller number may have ended later. */
const duplicateOf = `
  (select min(earlier.feed_id) from feeds as earlier
   where earlier.partner_id = feeds.partner_id
     and earlier.sha256 = feeds.sha256
     and earlier.feed_id < feeds.feed_id) as duplicate_of`;

/** The feed with this number; null when there is none in the scope. */
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

/** The first feed of the same partner with the same bytes, if it has a smaller number. */
export async function findDuplicate(db: Database, feedId: number): Promise<number | null> {
  const row = await db('feeds')
    .where('feed_id', feedId)
    .first<Pick<FeedRow, 'duplicate_of'> | undefined>(db.raw(duplicateOf));
  return row?.duplicate_of ?? null;
}

/** The highest number that was drawn for a feed; 0 when there was none. */
export async function lastFeedId(db: Database): Promise<number> {
  const { rows } = await db.raw<{ rows: [{ last: number }] }>(
    `select coalesce(pg_sequence_last_value(cast(pg_get_serial_sequence('feeds', 'feed_id') as regclass)), 0) as last`,
  );
  return rows[0].last;
}

/** Those of the keys in the bucket that a feed's row names. */
export async function findNamedKeys(db: Database, bucket: string, keys: string[]): Promise<Set<string>> {
  const named = await db('feeds')
    .where('raw_file_bucket', bucket)
    .andWhereRaw('raw_file_object_key = any (?)', [keys])
    .pluck<string[]>('raw_file_object_key');
  return new Set(named);
}

/** Draws the number of a feed that is about to be stored. A refused upload leaves a gap. */
export async function drawFeedId(db: Database): Promise<number> {
  const { rows } = await db.raw<{ rows: { feed_id: number }[] }>(
    "select nextval(pg_get_serial_sequence('feeds', 'feed_id')) as feed_id",
  );
  return rows[0]!.feed_id;
}

/** The partner with this name, created if it is new, and locked against its removal. Safe at once from several processes. */
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
  // Created or merged into another partner by another transaction during the statement: the next one sees that.
  return rows[0]?.partner_id ?? getOrInsertPartner(db, partnerName);
}

/** Whether a feed of a partner with this name was ever accepted. */
export async function partnerExists(db: Database, partnerName: string): Promise<boolean> {
  return (await db('partners').where('partner_name', partnerName).first('partner_id')) !== undefined;
}

/** What an accepted upload stores of a feed. */
interface NewFeed {
  feed_id: number;
  partner_id: number;
  filename: string;
  content_type: string;
  raw_file_bucket: string;
  raw_file_object_key: string;
  /** 32 bytes. */
  sha256: Buffer;
  size_bytes: number;
}

/** Creates a feed's row; its number was drawn, its object is stored. */
export async function insertFeed(db: Database, feed: NewFeed): Promise<void> {
  await db('feeds').insert(feed);
}

/** Has the endpoints that want it told of a feed that has come: a row of `findFeed`, its digest in hexadecimal digits. */
export async function tellOfFeed(db: Database, feedId: number): Promise<void> {
  await db.raw(tellOfFeedSql, [feedId]);
}

const tellOfFeedSql = publishEventsSql(`
  select 'feed.uploaded' as event_type, partner_name, to_json(feed) as content
  from (
    select feed_id, partner_name, filename, content_type, feeds.status as feed_status, uploaded_at, raw_file_bucket,
      raw_file_object_key, encode(sha256, 'hex') as sha256, size_bytes, ${duplicateOf}, job_id, job.status, run_requested_at,
      failure_reason, processed, inserted, updated, unchanged, skipped
    from feeds join partners using (partner_id) join validation_jobs as job using (feed_id)
    where feed_id = ?
  ) as feed
`);
