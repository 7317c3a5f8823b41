import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { readBounded } from '../db/page';
import type { RunColumns } from '../jobs/jobs.service';
import type { Encoding, FeedFormat } from '../feed-format/format-definition';
import type { LoadMode } from '../feed-format/load-options';
import type { PartnerScope } from '../shared/caller';
import { formatId } from '../shared/ids';
import { toPage, type Page } from '../shared/pagination';
import { publishEventsSql } from '../events/outbox';
import { jobRevertedBySql } from '../partners/reverted-by';

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
  mode: LoadMode;
  collection: string;
  /** Whether products move to it. */
  is_collection_named: boolean;
  format_name: string | null;
  /** Encoding that its format says; null without a format. */
  format_encoding: Encoding | null;
  max_skipped_percent: number | null;
  max_price_jump_percent: number | null;
  /** When retention removed the raw file; null while it is there. */
  raw_file_removed_at: Date | null;
  /** The first feed of the partner with the same bytes, mode, collection and format, if it has a smaller number. */
  duplicate_of: number | null;
  /** The run that has undone the last one; null: none. */
  reverted_by: number | null;
}

/** Not stored: an upload with a smaller number may commit later. */
const duplicateOf = `
  (select min(earlier.feed_id) from feeds as earlier
   where earlier.partner_id = feeds.partner_id
     and earlier.sha256 = feeds.sha256
     and (earlier.mode, earlier.collection, earlier.is_collection_named)
       = (feeds.mode, feeds.collection, feeds.is_collection_named)
     and cast(earlier.format_definition as jsonb) is not distinct from cast(feeds.format_definition as jsonb)
     and earlier.feed_id < feeds.feed_id) as duplicate_of`;

export async function findFeed(db: Database, feedId: number, scope: PartnerScope): Promise<FeedRow | null> {
  const row = await selectFeeds(db)
    .where('feeds.feed_id', feedId)
    .modify(ofPartner, scope ?? undefined)
    .first<FeedRow | undefined>();
  return row ?? null;
}

/** Position of a feed in the list: the time in full precision, as text. */
export interface FeedPosition {
  uploadedAt: string;
  feedId: number;
}

/** Filter and page of feeds; an absent field matches all. */
interface FeedListing {
  scope: PartnerScope;
  partnerName?: string;
  status?: FeedStatus;
  /** Inclusive. */
  uploadedFrom?: Date;
  /** Exclusive. */
  uploadedTo?: Date;
  after?: FeedPosition;
  limit: number;
}

/** Lists feeds, newest first; ties by number, descending. */
export async function listFeeds(db: Database, listing: FeedListing): Promise<Page<FeedRow>> {
  const { status, uploadedFrom, uploadedTo, after, limit } = listing;
  const query = selectFeeds(db)
    .modify(ofPartner, listing.scope ?? undefined)
    .modify(ofPartner, listing.partnerName)
    .orderBy([
      { column: 'feeds.uploaded_at', order: 'desc' },
      { column: 'feeds.feed_id', order: 'desc' },
    ])
    // One more row shows whether there is a next page.
    .limit(limit + 1);
  if (status !== undefined) void query.where('feeds.status', status);
  if (uploadedFrom !== undefined) void query.where('feeds.uploaded_at', '>=', uploadedFrom);
  if (uploadedTo !== undefined) void query.where('feeds.uploaded_at', '<', uploadedTo);
  if (after) {
    const position = [after.uploadedAt, after.feedId];
    void query.whereRaw('(feeds.uploaded_at, feeds.feed_id) < (cast(? as timestamptz), ?)', position);
  }
  return toPage(await readBounded<FeedRow>(db, query, limit), limit, ({ feed_id }) =>
    formatId('FD', feed_id),
  );
}

export async function findFeedPosition(
  db: Database,
  feedId: number,
  scope: PartnerScope,
): Promise<FeedPosition | null> {
  const position = await db('feeds')
    .where('feeds.feed_id', feedId)
    .modify(ofPartner, scope ?? undefined)
    .first<FeedPosition | undefined>(
      'feed_id as feedId',
      db.raw('cast(uploaded_at as text) as "uploadedAt"'),
    );
  return position ?? null;
}

function selectFeeds(db: Database): Knex.QueryBuilder {
  return db('feeds')
    .join('partners', 'partners.partner_id', 'feeds.partner_id')
    .join('validation_jobs', 'validation_jobs.feed_id', 'feeds.feed_id')
    .select(
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
      'feeds.mode',
      'feeds.collection',
      'feeds.is_collection_named',
      'feeds.format_name',
      db.raw(
        `case when feeds.format_definition is not null then coalesce(feeds.format_definition ->> 'encoding', 'utf-8') end
         as format_encoding`,
      ),
      db.raw(`cast(feeds.max_skipped_percent as double precision) as max_skipped_percent`),
      db.raw(`cast(feeds.max_price_jump_percent as double precision) as max_price_jump_percent`),
      'feeds.raw_file_removed_at',
      db.raw(duplicateOf),
      db.raw(jobRevertedBySql),
      'validation_jobs.job_id',
      'validation_jobs.status',
      'validation_jobs.run_requested_at',
      'validation_jobs.failure_reason',
      'validation_jobs.processed',
      'validation_jobs.inserted',
      'validation_jobs.updated',
      'validation_jobs.unchanged',
      'validation_jobs.skipped',
      'validation_jobs.withdrawn',
      'validation_jobs.restored',
      'validation_jobs.would_withdraw',
      'validation_jobs.withdrawals_withheld',
    );
}

/** Filters by partner without a join: the planner then reads the partner's feeds in the order of their index. */
function ofPartner(feeds: Knex.QueryBuilder, partnerName?: string): void {
  if (partnerName === undefined) return;
  void feeds.whereRaw('feeds.partner_id = (select partner_id from partners where partner_name = ?)', [
    partnerName,
  ]);
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

/** Filters the keys that a feed row names, and that are not to be removed. */
export async function findNamedKeys(db: Database, bucket: string, keys: string[]): Promise<Set<string>> {
  const named = await db('feeds')
    .where({ raw_file_bucket: bucket, raw_file_removed_at: null })
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

interface NewFeed {
  feed_id: number;
  partner_id: number;
  filename: string;
  content_type: string;
  raw_file_bucket: string;
  raw_file_object_key: string;
  sha256: Buffer;
  size_bytes: number;
  mode: LoadMode;
  collection: string;
  is_collection_named: boolean;
  max_skipped_percent: number | null;
  max_price_jump_percent: number | null;
  format: FeedFormat | null;
}

export async function insertFeed(db: Database, { format, ...feed }: NewFeed): Promise<void> {
  await db('feeds').insert({
    ...feed,
    ...(format && { format_name: format.name, format_definition: JSON.stringify(format.definition) }),
  });
}

/** Publishes feed.uploaded. The content is a row of `findFeed`, its digest in hexadecimal. */
export async function publishFeedEvent(db: Database, feedId: number): Promise<void> {
  await db.raw(publishFeedEventSql, [feedId]);
}

const publishFeedEventSql = publishEventsSql(`
  select 'feed.uploaded' as event_type, partner_name, to_json(feed) as content
  from (
    select feed_id, partner_name, filename, content_type, feeds.status as feed_status, uploaded_at, raw_file_bucket,
      raw_file_object_key, encode(sha256, 'hex') as sha256, size_bytes, mode, collection, is_collection_named, format_name,
      cast(max_skipped_percent as double precision) as max_skipped_percent,
      cast(max_price_jump_percent as double precision) as max_price_jump_percent, raw_file_removed_at, ${duplicateOf}, job_id, job.status, run_requested_at,
      failure_reason, processed, inserted, updated, unchanged, skipped, withdrawn, restored, would_withdraw,
      withdrawals_withheld
    from feeds join partners using (partner_id) join validation_jobs as job using (feed_id)
    where feed_id = ?
  ) as feed
`);
