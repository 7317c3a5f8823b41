import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { copyFirst } from '../../base/db/layout/copy-products';
import { productLayout, takeWorkingCopy, writeBack } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { keepAttention, onePartner } from '../../catalog/partners/keep-attention';
import { tryLockPartner } from '../../catalog/changes/partner-lock';
import { inBatches } from '../../base/concurrency/batches';

/** Rows per transaction; products take some 100 ms, with their index entries. */
const batchRows = 1_000;

/** Feeds per transaction, each with up to 10,000 row issues. */
const batchFeeds = 5;

/** Data that the removal of a partner removes; the orders stay. */
export interface PartnerData {
  products: number;
  product_versions: number;
  feeds: number;
  row_issues: number;
  formats: number;
  sources: number;
  raw_files: number;
  raw_file_bytes: number;
  keys: number;
  webhooks: number;
  orders: number;
}

const dataSql = (name: string) => sql`
  with partner as (
    select partner_id from partners where partner_name = ${name}
  ), feed as (
    select * from feeds join partner using (partner_id)
  ), raw_file as (
    select size_bytes from feed where raw_file_removed_at is null
  )
  select
    (select count(*) from product_versions join partner using (partner_id)) as product_versions,
    (select count(*) from feed) as feeds,
    (select count(*) from row_issues join validation_jobs using (job_id) join feed using (feed_id)) as row_issues,
    (select count(*) from partner_formats join partner using (partner_id)) as formats,
    (select count(*) from sources join partner using (partner_id)) as sources,
    (select count(*) from raw_file) as raw_files,
    (select cast(coalesce(sum(size_bytes), 0) as bigint) from raw_file) as raw_file_bytes,
    (select count(*) from api_keys where partner_name = ${name}) as keys,
    (select count(*) from webhook_endpoints where partner_name = ${name}) as webhooks,
    (select count(*) from orders where partner_name = ${name}) as orders`;

/** Counts what `removePartner` removes. @throws Error for an unknown partner */
export async function countPartnerData(db: Database, name: string): Promise<PartnerData> {
  const partnerId = await findPartner(db, name);
  return inTransaction(db, 'bulk', async (trx) => {
    const [data] = await queryRows<Omit<PartnerData, 'products'>>(trx, dataSql(name));
    // By the number of the partner: distributed products are then counted in one shard.
    const [counted] = await queryRows<{ products: number }>(
      trx,
      sql`select count(*) as products from products where partner_id = ${partnerId ?? 0}`,
    );
    return { ...counted!, ...data! };
  });
}

/**
 * Removes a partner and all of its data except the orders, whose items have copies of the products. Works in small transactions;
 * after an interruption, it can be repeated.
 * The products come first, and the partner last: until then, a repetition finds the rest. `deleteRemovedObjects`, or else the next
 * prune, deletes the objects of the raw files.
 * @throws Error for an unknown partner, and while a run is queued or in progress
 */
export async function removePartner(db: Database, name: string): Promise<void> {
  const partnerId = await findPartner(db, name);
  // Otherwise the removal of the sources removes them in one statement.
  if (partnerId !== undefined) await removeInBatches(db, partnerId, removeFetches);
  await inTransaction(db, 'request', async (trx) => {
    if (partnerId !== undefined) await lockIdlePartner(trx, partnerId);
    // Before the data, so that the partner does not load them again.
    await trx('api_keys').where('partner_name', name).delete();
    await trx('webhook_endpoints').where('partner_name', name).delete();
    if (partnerId !== undefined) await trx('sources').where('partner_id', partnerId).delete();
  });
  if (partnerId === undefined) return;
  while (!(await inTransaction(db, 'request', (trx) => removeEmptyPartner(trx, partnerId)))) {
    for (const removeBatch of removals) await removeInBatches(db, partnerId, removeBatch);
  }
}

function removeInBatches(db: Database, partnerId: number, removeBatch: Removal): Promise<void> {
  return inBatches(undefined, () =>
    inTransaction(db, 'request', async (trx) => {
      await lockIdlePartner(trx, partnerId);
      return (await removeBatch(trx, partnerId)) > 0;
    }),
  );
}

/** Finds the number of a partner; undefined if only keys and webhooks have its name. @throws Error for an unknown partner */
async function findPartner(db: Database, name: string): Promise<number | undefined> {
  const [found] = await queryRows<{ partnerId: number | null; isNamed: boolean }>(
    db,
    sql`select (select partner_id from partners where partner_name = ${name}) as "partnerId",
       exists (select from api_keys where partner_name = ${name})
         or exists (select from webhook_endpoints where partner_name = ${name}) as "isNamed"`,
  );
  const { partnerId, isNamed } = found!;
  if (partnerId === null && !isNamed) throw new Error(`Unknown partner: ${name}.`);
  return partnerId ?? undefined;
}

/** Locks the partner against runs. @throws Error while one is queued or in progress */
async function lockIdlePartner(trx: Knex.Transaction, partnerId: number): Promise<void> {
  const isLocked = await tryLockPartner(trx, partnerId);
  const [found] = await queryRows<{ hasRun: boolean }>(
    trx,
    sql`select exists (
       select from runs where partner_id = ${partnerId} and status in ('queued', 'running')
     ) as "hasRun"`,
  );
  if (isLocked && !found!.hasRun) return;
  throw new Error(
    'A run of the partner is queued or in progress: wait for its end, or cancel it. Then repeat the command.',
  );
}

/** Removes a batch of a partner's data. @returns the number of rows; 0 when none are left */
type Removal = (trx: Knex.Transaction, partnerId: number) => Promise<number>;

/** Removes some products. Triggers keep digests, counts and the search index consistent. */
const removeProducts: Removal = async (trx, partnerId) => {
  await queryRows(trx, raw("set local partner_catalog.change = 'none'"));
  await takeWorkingCopy(trx, [copyFirst(partnerId, batchRows)]);
  const removed = await removeFrom('products')(trx, partnerId);
  await writeBack(trx, [partnerId]);
  return removed;
};

/** Removes rows about some products. */
const removeFrom =
  (table: 'products' | 'product_versions' | 'product_words'): Removal =>
  (trx, partnerId) =>
    changeRows(
      trx,
      sql`delete from ${raw(table)} where partner_id = ${partnerId} and product_id = any (array(
         select product_id from ${raw(table)} where partner_id = ${partnerId} order by product_id limit ${raw(batchRows)}
       ))`,
    );

/** Removes some ended fetches. */
const removeFetches: Removal = (trx, partnerId) =>
  changeRows(
    trx,
    sql`delete from source_fetches where (source_id, fetch_number) in (
       select source_id, fetch_number from sources join source_fetches using (source_id)
       where partner_id = ${partnerId} and finished_at is not null limit ${raw(batchRows)}
     )`,
  );

/** Removes some digests of records whose files were removed. */
const removeSourceDigests: Removal = (trx, partnerId) =>
  changeRows(
    trx,
    sql`delete from source_digests where (feed_id, record_offset) in (
       select feed_id, record_offset from feeds join source_digests using (feed_id)
       where partner_id = ${partnerId} limit ${raw(batchRows)}
     )`,
  );

/** Removes some feeds with their jobs and row issues, and enqueues their objects for deletion. */
const removeFeeds: Removal = async (trx, partnerId) => {
  const feedIds = await trx('feeds')
    .where('partner_id', partnerId)
    .limit(batchFeeds)
    .pluck<number[]>('feed_id');
  await queryRows(
    trx,
    sql`delete from row_issues
     where job_id = any (array(select job_id from validation_jobs where feed_id = any (${feedIds})))`,
  );
  for (const table of ['validation_jobs', 'submission_jobs']) {
    await trx(table).whereIn('feed_id', feedIds).delete();
  }
  await queryRows(
    trx,
    sql`with removed as (
       delete from feeds where feed_id = any (${feedIds}) returning raw_file_bucket, raw_file_object_key, raw_file_removed_at
     )
     insert into removed_objects (bucket, object_key)
     select raw_file_bucket, raw_file_object_key from removed where raw_file_removed_at is null`,
  );
  return feedIds.length;
};

/** In this order: versions of products may be created until these are gone. */
const removals = [
  removeProducts,
  removeFrom('product_versions'),
  removeFrom('product_words'),
  removeSourceDigests,
  removeFeeds,
];

/** Tables that can have rows of a partner without products and feeds. */
const otherTables = [
  'digest_blocks',
  'record_digests',
  'manual_changes',
  // Waits for the search indexer, which may have written words meanwhile.
  'search_backlog',
  'product_words',
  'product_versions',
  'partner_counts',
  'partner_formats',
  'sources',
  'stale_partners',
  'catalog_versions',
];

/** Removes the partner if it has neither products nor feeds. @returns whether it was removed */
async function removeEmptyPartner(trx: Knex.Transaction, partnerId: number): Promise<boolean> {
  await lockIdlePartner(trx, partnerId);
  // Uploads wait: they lock the row.
  await queryRows(trx, sql`select from partners where partner_id = ${partnerId} for update`);
  for (const table of ['feeds', 'products']) {
    if (await trx(table).where('partner_id', partnerId).first('partner_id')) return false;
  }
  const { partnerTables } = await productLayout(trx);
  // Webhooks that the partner created after the first step.
  await queryRows(
    trx,
    sql`delete from webhook_endpoints using partners
     where partner_id = ${partnerId} and webhook_endpoints.partner_name = partners.partner_name and webhook_name is not null`,
  );
  for (const table of [...otherTables, ...partnerTables, 'partners'])
    await trx(table).where('partner_id', partnerId).delete();
  // Its reasons end with it.
  await keepAttention(trx, onePartner(partnerId));
  return true;
}
