import type { Knex } from 'knex';
import type { UploadedFeed } from './api-client';
import type { FeedRow } from './catalog';
import { changeProducts } from './distributed-writes';
import type { TestService } from './service';

/** A change of a catalog at any time. With `isSingle`, a withdrawal has no job and no run. */
export interface CatalogChange {
  /** Time at which it takes effect, to the microsecond. */
  at: string;
  /** New, changed or restored products. Omitted values are unchanged. */
  write?: readonly (Pick<FeedRow, 'sku'> & { [Field in keyof FeedRow]?: FeedRow[Field] | null })[];
  /** The skus of products to withdraw. */
  withdraw?: readonly string[];
  /** The skus of products to delete. */
  remove?: readonly string[];
  isSingle?: boolean;
}

/** Makes the history of all partners start at a time, for older products. */
export async function beginHistoryAt({ db }: Pick<TestService, 'db'>, at: string): Promise<void> {
  await db('catalog_versions').where('run_id', 0).update({ effective_at: at });
}

/** Changes rows of products without history. */
export function withoutHistory<T>(
  { db }: Pick<TestService, 'db'>,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return changeProducts(db, async (trx) => {
    await trx.raw("set local partner_catalog.change = 'none'");
    return work(trx);
  });
}

/** Removes the versions of a partner that ended at this time or earlier, as retention does. */
export async function removeVersionsUntil(
  { db }: Pick<TestService, 'db'>,
  partnerName: string,
  at: string,
): Promise<void> {
  await db.raw(
    `with pruned as (
       update catalog_versions set pruned_at = now()
       from partners
       where partners.partner_id = catalog_versions.partner_id and partner_name = ? and effective_at <= cast(? as timestamptz)
       returning run_id
     )
     delete from product_versions where until_run_id in (select run_id from pruned)`,
    [partnerName, at],
  );
}

/** Writes a history as runs of a feed do, the oldest change first. @returns the products' ids by sku */
export async function writeHistory(
  { db }: Pick<TestService, 'db'>,
  feed: UploadedFeed,
  changes: readonly CatalogChange[],
): Promise<Record<string, string>> {
  const feedId = Number(feed.feedId.slice(2));
  const { partner_id: partnerId } = (await db('feeds')
    .where('feed_id', feedId)
    .first<{ partner_id: number } | undefined>('partner_id'))!;
  const { rows: began } = await db.raw<{ rows: [{ runs: number }] }>(
    'select count(*) as runs from catalog_versions where partner_id = ?',
    [partnerId],
  );
  let run = began[0].runs;
  for (const change of changes) {
    run++;
    await changeProducts(db, (trx) => apply(trx, { feed, feedId, partnerId, run }, change));
  }
  const products = await db('products')
    .where('partner_id', partnerId)
    .select<{ sku: string; product_id: number }[]>('sku', 'product_id');
  return Object.fromEntries(
    products.map(({ sku, product_id }) => [sku, `PR${String(product_id).padStart(5, '0')}`]),
  );
}

async function apply(
  trx: Knex.Transaction,
  { feed, feedId, partnerId, run }: { feed: UploadedFeed; feedId: number; partnerId: number; run: number },
  { at, write = [], withdraw = [], remove = [], isSingle = false }: CatalogChange,
): Promise<void> {
  const { rows } = await trx.raw<{ rows: [{ run_id: number }] }>("select nextval('run_ids') as run_id");
  const [{ run_id: runId }] = rows;
  await trx('catalog_versions').insert({
    run_id: runId,
    partner_id: partnerId,
    effective_at: at,
    job_id: isSingle ? null : Number(feed.jobId.slice(2)),
    run: isSingle ? null : run,
  });
  await trx.raw(
    `set local partner_catalog.change = '${runId}'; set local partner_catalog.keeps_digests = 'on'`,
  );
  for (const { sku, ...values } of write) {
    const written = { ...values, feed_id: feedId, run_id: runId };
    const product = { partner_id: partnerId, sku };
    const changed = await trx('products')
      .where(product)
      .update({ ...written, withdrawn_at: null });
    if (changed > 0) continue;
    await trx('products').insert({ product_name: sku, created_at: at, ...product, ...written });
  }
  for (const sku of withdraw) {
    const withdrawn = { withdrawn_at: at, run_id: runId };
    await trx('products').where({ partner_id: partnerId, sku }).update(withdrawn);
  }
  if (remove.length === 0) return;
  // Only manual changes delete products; a run takes them into account.
  await trx.raw("set local partner_catalog.change = ''");
  for (const sku of remove) await trx('products').where({ partner_id: partnerId, sku }).delete();
  await trx('product_versions')
    .where({ partner_id: partnerId, until_run_id: '9223372036854775807' })
    .update({ until_run_id: runId });
}
