import type { Knex } from 'knex';
import { isDistributed } from '../db/layout';
import { copyByKey, copyWhere, takeWorkingCopy, writeBack } from '../db/working-copy';
import { allPartners, keepAttention } from './keep-attention';
import { waitForPartner } from './partner-lock';

export interface PartnerMerge {
  feeds: number;
  /** Products that only the merged partner had. */
  products: number;
  /** Products that both had; one of them is removed. */
  duplicates: number;
  /** Duplicates that get the values of the merged partner's product. */
  replaced: number;
  orders: number;
  keys: number;
  webhooks: number;
}

/** Lock timeout: runs of both partners may be in progress. */
const lockSeconds = 30;

/** All columns that a feed changes: number and `created_at` of a product never change. */
const values = [
  'feed_id',
  'product_name',
  'description',
  'brand',
  'category',
  'price',
  'currency',
  'availability',
  'withdrawn_at',
  'collection',
  'record_offset',
];

const duplicates = `
  products as kept join products as removed using (sku) where kept.partner_id = :intoId and removed.partner_id = :fromId
`;

/** Steps that change products, or read them. */
const productSteps: Record<string, string> = {
  replaced: `
    update products as kept set ${values.map((column) => `${column} = removed.${column}`).join(', ')}
    from products as removed
    where kept.partner_id = :intoId and removed.partner_id = :fromId and kept.sku = removed.sku
      and removed.feed_id > kept.feed_id`,
  orderedDuplicates: `
    update order_items set product_id = duplicate.kept_id
    from (select kept.product_id as kept_id, removed.product_id as removed_id from ${duplicates}) as duplicate
    where product_id = removed_id`,
  // What follows is no change of a catalog.
  withoutVersions: "set local partner_catalog.change = 'none'",
  duplicateVersions: `
    delete from product_versions
    where partner_id = :fromId and product_id in (select removed.product_id from ${duplicates})`,
  duplicates: `
    delete from products
    where partner_id = :fromId and product_id in (select removed.product_id from ${duplicates})`,
  products: 'update products set partner_id = :intoId where partner_id = :fromId',
  withVersions: 'set local partner_catalog.change to default',
};

/** The numbers of the products stay theirs. */
const blocksSql = 'update product_blocks set partner_id = :intoId where partner_id = :fromId';

const steps: Record<string, string> = {
  productVersions: 'update product_versions set partner_id = :intoId where partner_id = :fromId',
  catalogVersions: 'update catalog_versions set partner_id = :intoId where partner_id = :fromId',
  feeds: 'update feeds set partner_id = :intoId where partner_id = :fromId',
  // Keeps the order of one partner's runs.
  queuedRuns: `
    update validation_jobs set run_partner_id = :intoId
    where run_partner_id = :fromId and run_requested_at is not null and status in ('queued', 'running')`,
  digests: 'delete from digest_blocks where partner_id in (:fromId, :intoId)',
  earlierDigests: 'delete from record_digests where partner_id in (:fromId, :intoId)',
  manualChanges: 'delete from manual_changes where partner_id = :fromId',
  // The other partner is judged by the latest run of both.
  staleness: 'delete from stale_partners where partner_id = :fromId',
  // Of two formats with one name, the other partner's stays.
  formats: `
    update partner_formats as moved set partner_id = :intoId
    where partner_id = :fromId and not exists (
      select from partner_formats as kept where kept.partner_id = :intoId and kept.format_name = moved.format_name
    )`,
  // The same.
  sources: `
    update sources as moved set partner_id = :intoId
    where partner_id = :fromId and not exists (
      select from sources as kept where kept.partner_id = :intoId and kept.source_name = moved.source_name
    )`,
  counts: 'update partner_counts set partner_id = :intoId where partner_id = :fromId',
  partner: 'delete from partners where partner_id = :fromId',
};

const renames: Record<'orders' | 'keys' | 'webhooks', string> = {
  orders: 'update orders set partner_name = :into where partner_name = :from',
  keys: 'update api_keys set partner_name = :into where partner_name = :from',
  webhooks: 'update webhook_endpoints set partner_name = :into where partner_name = :from',
};

/** Merges what belongs to a partner by its number. @returns the number of rows of each step */
async function mergeData(
  trx: Knex.Transaction,
  fromId: number,
  intoId: number,
): Promise<Record<string, number>> {
  const ids = { fromId, intoId };
  const counts: Record<string, number> = {};
  const runSteps = async (some: Record<string, string>) => {
    for (const [step, sql] of Object.entries(some)) {
      counts[step] = (await trx.raw<{ rowCount: number }>(sql, ids)).rowCount;
    }
  };
  await takeWorkingCopy(trx, [
    copyWhere(fromId, 'true'),
    copyByKey(intoId, 'sku', `select sku from pg_temp.products where partner_id = ${fromId}`),
  ]);
  await runSteps(productSteps);
  if (await isDistributed(trx)) await trx.raw(blocksSql, ids);
  await writeBack(trx, [fromId, intoId]);
  await runSteps(steps);
  return counts;
}

/**
 * Merges a partner into another: feeds, products, orders, formats, sources, keys and webhooks. Renames it if there is no other.
 *
 * Of two products with one sku, the other partner's stays, with its number. It gets the values that the later feed
 * wrote, as a manual change; order items refer to it. History moves with the products. Holds both partner locks: runs wait, and a run of the merged partner that is in
 * progress fails. Triggers of orders update the sales sums.
 * @throws Error for an unknown partner; errors of the database, also after waiting 30 s for runs. The transaction
 *   must then end.
 */
export async function mergePartners(
  trx: Knex.Transaction,
  from: string,
  into: string,
): Promise<PartnerMerge> {
  const run = async (sql: string, bindings: object) =>
    (await trx.raw<{ rowCount: number }>(sql, bindings as never)).rowCount;
  await trx.raw(`set local lock_timeout = '${lockSeconds}s'`);
  const known = await trx('partners').whereIn('partner_name', [from, into]).pluck<number[]>('partner_id');
  for (const partnerId of known.toSorted((a, b) => a - b)) await waitForPartner(trx, partnerId);
  // Uploads for these partners wait too; a partner may have another name since, or none.
  const { rows } = await trx.raw<{ rows: { partner_id: number; partner_name: string }[] }>(
    'select partner_id, partner_name from partners where partner_id = any (?) order by partner_id for update',
    [known],
  );
  const idOf = (name: string) => rows.find(({ partner_name }) => partner_name === name)?.partner_id;
  const [fromId, intoId] = [idOf(from), idOf(into)];
  const merge = { feeds: 0, products: 0, duplicates: 0, replaced: 0, orders: 0, keys: 0, webhooks: 0 };
  if (fromId !== undefined && intoId === undefined) {
    await run('update partners set partner_name = :into where partner_id = :fromId', { into, fromId });
  } else if (fromId !== undefined && intoId !== undefined) {
    const counts = await mergeData(trx, fromId, intoId);
    const { feeds = 0, products = 0, duplicates = 0, replaced = 0 } = counts;
    Object.assign(merge, { feeds, products, duplicates, replaced });
  }
  for (const what of ['orders', 'keys', 'webhooks'] as const)
    merge[what] = await run(renames[what], { from, into });
  const isKnown = fromId !== undefined || merge.orders + merge.keys + merge.webhooks > 0;
  if (!isKnown) throw new Error(`Unknown partner: ${from}.`);
  // Of both: the reasons of a partner that is gone go with it.
  await keepAttention(trx, allPartners(rows.map(({ partner_id }) => partner_id)));
  return merge;
}
