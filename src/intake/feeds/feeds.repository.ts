import { queryRows, type Database } from '../../base/db/database';
import { boundedPageSql, type Found } from '../../base/db/page';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import { requestedAtSql } from '../../runs/jobs/jobs.repository';
import type { RunColumns } from '../../runs/jobs/jobs.service';
import type { Encoding, FeedFormat } from '../../feed-format/format-definition';
import type { LoadMode } from '../../feed-format/load-options';
import type { PartnerScope } from '../../base/caller';
import { formatId } from '../../base/ids';
import { toPage, type Page } from '../../base/pagination';
import { publishEventsSql } from '../../base/db/outbox';
import { jobRevertedBySql } from '../../catalog/changes/reverted-by';

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
  /** Encoding of its format; null without a format. */
  format_encoding: Encoding | null;
  max_skipped_percent: number | null;
  max_price_jump_percent: number | null;
  /** When retention removed the raw file; null while it exists. */
  raw_file_removed_at: Date | null;
  /** The first feed of the partner with the same bytes, mode, collection and format, if it has a smaller number. */
  duplicate_of: number | null;
  /** The run that has undone the last one; null: none. */
  reverted_by: number | null;
}

/** Not stored: an upload with a smaller number may commit later. */
const duplicateOf = raw(`
  (select min(earlier.feed_id) from feeds as earlier
   where earlier.partner_id = feeds.partner_id
     and earlier.sha256 = feeds.sha256
     and (earlier.mode, earlier.collection, earlier.is_collection_named)
       = (feeds.mode, feeds.collection, feeds.is_collection_named)
     and cast(earlier.format_definition as jsonb) is not distinct from cast(feeds.format_definition as jsonb)
     and earlier.feed_id < feeds.feed_id) as duplicate_of`);

export async function findFeed(db: Database, feedId: number, scope: PartnerScope): Promise<FeedRow | null> {
  const [feed] = await queryRows<FeedRow>(
    db,
    sql`${selectFeeds} where feeds.feed_id = ${feedId} and ${ofPartner(scope)}`,
  );
  return feed ?? null;
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
  const { scope, partnerName = null, status, uploadedFrom, uploadedTo, after, limit } = listing;
  const conditions = [ofPartner(scope), ofPartner(partnerName)];
  if (status !== undefined) conditions.push(sql`feeds.status = ${status}`);
  if (uploadedFrom !== undefined) conditions.push(sql`feeds.uploaded_at >= ${uploadedFrom}`);
  if (uploadedTo !== undefined) conditions.push(sql`feeds.uploaded_at < ${uploadedTo}`);
  if (after) {
    const { uploadedAt, feedId } = after;
    conditions.push(
      sql`(feeds.uploaded_at, feeds.feed_id) < (cast(${uploadedAt} as timestamptz), ${feedId})`,
    );
  }
  // One more row shows whether there is a next page.
  const rows = sql`
    ${selectFeeds} where ${allOf(conditions)}
    order by feeds.uploaded_at desc, feeds.feed_id desc limit ${limit + 1}`;
  const page = await queryRows<Found<FeedRow>>(db, boundedPageSql(rows, limit));
  return toPage(page, limit, ({ feed_id }) => formatId('FD', feed_id));
}

export async function findFeedPosition(
  db: Database,
  feedId: number,
  scope: PartnerScope,
): Promise<FeedPosition | null> {
  const [position] = await queryRows<FeedPosition>(
    db,
    sql`select feed_id as "feedId", cast(uploaded_at as text) as "uploadedAt" from feeds
     where feed_id = ${feedId} and ${ofPartner(scope)}`,
  );
  return position ?? null;
}

const formatColumns = raw(`
  format_name, cast(max_skipped_percent as double precision) as max_skipped_percent,
  cast(max_price_jump_percent as double precision) as max_price_jump_percent`);

const selectFeeds = sql`
  select feeds.feed_id, partner_name, filename, content_type, feeds.status as feed_status, uploaded_at, raw_file_bucket,
    raw_file_object_key, sha256, size_bytes, mode, collection, is_collection_named, ${formatColumns},
    case when format_definition is not null then coalesce(format_definition ->> 'encoding', 'utf-8') end as format_encoding,
    raw_file_removed_at, ${duplicateOf}, ${jobRevertedBySql}, job_id, validation_jobs.status, ${requestedAtSql} as run_requested_at,
    failure_reason, processed, inserted, updated, unchanged, skipped, withdrawn, restored, would_withdraw,
    withdrawals_withheld
  from feeds join partners using (partner_id) join validation_jobs using (feed_id)`;

/** Filters by partner without a join: the planner then reads the partner's feeds in the order of their index. */
const ofPartner = (partnerName: string | null): Sql =>
  partnerName === null
    ? raw('true')
    : sql`feeds.partner_id = (select partner_id from partners where partner_name = ${partnerName})`;

export async function findDuplicate(db: Database, feedId: number): Promise<number | null> {
  const statement = sql`select ${duplicateOf} from feeds where feed_id = ${feedId}`;
  const [feed] = await queryRows<Pick<FeedRow, 'duplicate_of'>>(db, statement);
  return feed?.duplicate_of ?? null;
}

/** Finds the highest feed number drawn so far; 0 if none was. */
export async function lastFeedId(db: Database): Promise<number> {
  const statement = sql`
    select coalesce(pg_sequence_last_value(cast(pg_get_serial_sequence('feeds', 'feed_id') as regclass)), 0) as last`;
  const [row] = await queryRows<{ last: number }>(db, statement);
  return row!.last;
}

/** Lists the ranges of feed numbers that a restore has left out: this database has never assigned them. */
export function listOmittedNumbers(db: Database): Promise<{ first: number; last: number }[]> {
  return queryRows(db, sql`select first_id as first, last_id as last from omitted_feed_numbers`);
}

/** Selects the keys that a feed row names, and whose objects are not to be deleted. */
export async function findNamedKeys(db: Database, bucket: string, keys: string[]): Promise<Set<string>> {
  const statement = sql`
    select raw_file_object_key as key from feeds
    where raw_file_bucket = ${bucket} and raw_file_removed_at is null and raw_file_object_key = any (${keys})`;
  return new Set((await queryRows<{ key: string }>(db, statement)).map(({ key }) => key));
}

/** Draws the number of a feed. A rejected upload leaves a gap. */
export async function drawFeedId(db: Database): Promise<number> {
  const statement = sql`select nextval(pg_get_serial_sequence('feeds', 'feed_id')) as feed_id`;
  const [row] = await queryRows<{ feed_id: number }>(db, statement);
  return row!.feed_id;
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
  const event = sql`
    select 'feed.uploaded' as event_type, partner_name, to_json(feed) as content
    from (
      select feed_id, partner_name, filename, content_type, feeds.status as feed_status, uploaded_at, raw_file_bucket,
        raw_file_object_key, encode(sha256, 'hex') as sha256, size_bytes, mode, collection, is_collection_named,
        ${formatColumns}, raw_file_removed_at, ${duplicateOf}, job_id, job.status,
        failure_reason, processed, inserted, updated, unchanged, skipped, withdrawn, restored, would_withdraw,
        withdrawals_withheld
      from feeds join partners using (partner_id) join validation_jobs as job using (feed_id)
      where feed_id = ${feedId}
    ) as feed`;
  await queryRows(db, publishEventsSql(event));
}
