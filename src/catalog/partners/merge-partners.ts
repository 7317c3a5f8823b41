import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { copyByKey, copyWhere } from '../../base/db/layout/copy-products';
import { moveNumbers, takeWorkingCopy, writeBack } from '../../base/db/layout/product-layout';
import { raw, sql, type Sql } from '../../base/db/sql';
import { allPartners, keepAttention } from './keep-attention';
import { waitForPartner } from '../changes/partner-lock';

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

/** The merged partner, and its target. */
interface Partners {
  fromId: number;
  intoId: number;
}

/** Statements by step. */
type Steps = Record<string, Sql>;

/** Steps that change or read products. */
function productSteps({ fromId, intoId }: Partners): Steps {
  const duplicates = sql`products as kept join products as removed using (sku)
    where kept.partner_id = ${intoId} and removed.partner_id = ${fromId}`;
  return {
    replaced: sql`
      update products as kept set ${raw(values.map((column) => `${column} = removed.${column}`).join(', '))}
      from products as removed
      where kept.partner_id = ${intoId} and removed.partner_id = ${fromId} and kept.sku = removed.sku
        and removed.feed_id > kept.feed_id`,
    orderedDuplicates: sql`
      update order_items set product_id = duplicate.kept_id
      from (select kept.product_id as kept_id, removed.product_id as removed_id from ${duplicates}) as duplicate
      where product_id = removed_id`,
    // The following changes are no change of a catalog.
    withoutVersions: sql`set local partner_catalog.change = 'none'`,
    duplicateVersions: sql`
      delete from product_versions
      where partner_id = ${fromId} and product_id in (select removed.product_id from ${duplicates})`,
    duplicates: sql`
      delete from products
      where partner_id = ${fromId} and product_id in (select removed.product_id from ${duplicates})`,
    products: moveRows('products', { fromId, intoId }),
    withVersions: sql`set local partner_catalog.change to default`,
  };
}

const moveRows = (table: string, { fromId, intoId }: Partners) =>
  sql`update ${raw(table)} set partner_id = ${intoId} where partner_id = ${fromId}`;

/** Moves rows whose name the other partner does not have: for a shared name, the other partner's row stays. */
const moveNamed = (table: string, name: string, { fromId, intoId }: Partners) => sql`
  update ${raw(table)} as moved set partner_id = ${intoId}
  where partner_id = ${fromId} and not exists (
    select from ${raw(table)} as kept where kept.partner_id = ${intoId} and kept.${raw(name)} = moved.${raw(name)}
  )`;

const otherSteps = (partners: Partners): Steps => ({
  productVersions: moveRows('product_versions', partners),
  catalogVersions: moveRows('catalog_versions', partners),
  feeds: moveRows('feeds', partners),
  // Keeps the order of one partner's runs.
  queuedRuns: sql`
    update runs set partner_id = ${partners.intoId}
    where partner_id = ${partners.fromId} and status in ('queued', 'running')`,
  digests: sql`delete from digest_blocks where partner_id in (${partners.fromId}, ${partners.intoId})`,
  earlierDigests: sql`delete from record_digests where partner_id in (${partners.fromId}, ${partners.intoId})`,
  manualChanges: sql`delete from manual_changes where partner_id = ${partners.fromId}`,
  // The latest run of both decides about the other partner.
  staleness: sql`delete from stale_partners where partner_id = ${partners.fromId}`,
  formats: moveNamed('partner_formats', 'format_name', partners),
  sources: moveNamed('sources', 'source_name', partners),
  counts: moveRows('partner_counts', partners),
  partner: sql`delete from partners where partner_id = ${partners.fromId}`,
});

/** Tables with the name of a partner, besides `partners`. */
const namedTables = { orders: 'orders', keys: 'api_keys', webhooks: 'webhook_endpoints' };

/** Removes webhooks whose name the other partner has too: that partner's stay. */
const sharedWebhooksSql = (from: string, into: string) => sql`
  delete from webhook_endpoints
  where partner_name = ${from} and webhook_name in (
    select webhook_name from webhook_endpoints where partner_name = ${into}
  )`;

/** Merges rows that belong to a partner by its number. @returns the number of rows of each step */
async function mergeData(trx: Knex.Transaction, partners: Partners): Promise<Record<string, number>> {
  const { fromId, intoId } = partners;
  const counts: Record<string, number> = {};
  const runSteps = async (steps: Steps) => {
    for (const [step, statement] of Object.entries(steps)) counts[step] = await changeRows(trx, statement);
  };
  await takeWorkingCopy(trx, [
    copyWhere(fromId, raw('true')),
    copyByKey(intoId, 'sku', sql`select sku from pg_temp.products where partner_id = ${raw(fromId)}`),
  ]);
  await runSteps(productSteps(partners));
  await moveNumbers(trx, partners);
  await writeBack(trx, [fromId, intoId]);
  await runSteps(otherSteps(partners));
  return counts;
}

/**
 * Merges a partner into another: feeds, products, orders, formats, sources, keys and webhooks. Renames it if there is no other.
 * Of two products with one sku, the other partner's stays, with its number. It gets the values that the later feed
 * wrote, as a manual change; order items refer to it. History moves with the products. Holds both partner locks: runs wait, and a
 * run of the merged partner that is in progress fails. Triggers of orders update the sales sums.
 * @throws Error for an unknown partner; errors of the database, also after waiting 30 s for runs. The transaction
 * must then end.
 */
export async function mergePartners(
  trx: Knex.Transaction,
  from: string,
  into: string,
): Promise<PartnerMerge> {
  await queryRows(trx, sql`set local lock_timeout = '${raw(lockSeconds)}s'`);
  const known = await trx('partners').whereIn('partner_name', [from, into]).pluck<number[]>('partner_id');
  for (const partnerId of known.toSorted((a, b) => a - b)) await waitForPartner(trx, partnerId);
  // Uploads for these partners wait too; a partner may have been renamed or removed since.
  const rows = await queryRows<{ partner_id: number; partner_name: string }>(
    trx,
    sql`select partner_id, partner_name from partners where partner_id = any (${known}) order by partner_id for update`,
  );
  const idOf = (name: string) => rows.find(({ partner_name }) => partner_name === name)?.partner_id;
  const [fromId, intoId] = [idOf(from), idOf(into)];
  const merge = { feeds: 0, products: 0, duplicates: 0, replaced: 0, orders: 0, keys: 0, webhooks: 0 };
  if (fromId !== undefined && intoId === undefined) {
    await queryRows(trx, sql`update partners set partner_name = ${into} where partner_id = ${fromId}`);
  } else if (fromId !== undefined && intoId !== undefined) {
    const counts = await mergeData(trx, { fromId, intoId });
    const { feeds = 0, products = 0, duplicates = 0, replaced = 0 } = counts;
    Object.assign(merge, { feeds, products, duplicates, replaced });
  }
  await queryRows(trx, sharedWebhooksSql(from, into));
  for (const what of ['orders', 'keys', 'webhooks'] as const)
    merge[what] = await changeRows(
      trx,
      sql`update ${raw(namedTables[what])} set partner_name = ${into} where partner_name = ${from}`,
    );
  const isKnown = fromId !== undefined || merge.orders + merge.keys + merge.webhooks > 0;
  if (!isKnown) throw new Error(`Unknown partner: ${from}.`);
  // For both: the merged partner's reasons end with it.
  await keepAttention(trx, allPartners(rows.map(({ partner_id }) => partner_id)));
  return merge;
}
