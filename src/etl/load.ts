import type { Knex } from 'knex';
import { productColumns, type ProductColumn } from './feed-format';

/** What the staged rows mean for the partner's products. */
export interface ProductCounts {
  inserted: number;
  updated: number;
  unchanged: number;
}

/**
 * The merge of the staged rows, whose skus must be unique by then, into the partner's products:
 *
 * - `compare` reads the partner's products once and notes which staged rows are new (no product id) or differ. Only
 *   narrow rows are written: an unchanged feed costs this one join.
 * - `update` and `insert` touch just those; new products get their ids in the order of the file.
 * - `list` shows them instead.
 *
 * A column that the feed does not have keeps the stored value, in the comparison as in the update; a currency that came
 * with the price counts all the same.
 */
function mergeSql(columns: ReadonlySet<ProductColumn>) {
  const fields = productColumns.filter((column) => column !== 'sku');
  const incoming = (field: ProductColumn) => {
    if (columns.has(field)) return `feed_rows.${field}`;
    return field === 'currency' ? 'coalesce(feed_rows.currency, products.currency)' : `products.${field}`;
  };
  const shown = (field: ProductColumn, value: string) =>
    field === 'price' ? `trim_scale(${value})::text` : value;
  const list = (map: (field: ProductColumn) => string) => fields.map(map).join(', ');
  return {
    compare: `
      create temporary table feed_changes on commit drop as
      select feed_rows.line, products.product_id
      from feed_rows
      left join products on products.partner_id = :partnerId and products.sku = feed_rows.sku
      where products.product_id is null
        or (${list((field) => `products.${field}`)}) is distinct from (${list(incoming)})
    `,
    count: `
      select (select count(*) from feed_rows) as staged, count(*) as changed, count(product_id) as updated
      from feed_changes
    `,
    update: `
      update products
      set feed_id = :feedId, ${list((field) => `${field} = ${incoming(field)}`)}
      from feed_changes join feed_rows using (line)
      where products.product_id = feed_changes.product_id
    `,
    insert: `
      insert into products (feed_id, partner_id, sku, ${fields.join(', ')})
      select :feedId, :partnerId, sku, ${fields.join(', ')}
      from feed_rows
      where line in (select line from feed_changes where product_id is null)
      order by line
    `,
    list: `
      select row_number as row, line, feed_rows.sku, product_id is null as is_new,
        ${list((field) => `${shown(field, `products.${field}`)} as before_${field}, ${shown(field, incoming(field))} as after_${field}`)}
      from feed_changes join feed_rows using (line) left join products using (product_id)
      where row_number > :afterRow
      order by row_number
      limit :limit
    `,
  };
}

/** What the merge works on. */
export interface MergeTarget {
  feedId: number;
  partnerId: number;
  /** The columns that the feed has. */
  columns: ReadonlySet<ProductColumn>;
}

/**
 * Lets one run at a time touch the partner's products, until the transaction ends. Nobody else inserts or updates them,
 * so an anti-join is enough to find what is new, and no product id is drawn for a row that exists.
 */
export async function lockPartner(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await trx.raw('select from partners where partner_id = ? for no key update', [partnerId]);
}

/** Notes what the staged rows would change. @returns what the changes come to */
export async function compareProducts(
  trx: Knex.Transaction,
  { partnerId, columns }: MergeTarget,
): Promise<ProductCounts> {
  const sql = mergeSql(columns);
  await trx.raw('analyze feed_rows (sku)');
  // A utility statement takes no parameters; the number comes from our own table.
  await trx.raw(sql.compare.replaceAll(':partnerId', String(partnerId)));
  await trx.raw('analyze feed_changes');
  const { rows } = await trx.raw<{ rows: { staged: number; changed: number; updated: number }[] }>(sql.count);
  const { staged, changed, updated } = rows[0]!;
  return { inserted: changed - updated, updated, unchanged: staged - changed };
}

/** Whoever else changes products has all digests forgotten, by a trigger; a run keeps them up to date. */
export async function keepDigests(trx: Knex.Transaction): Promise<void> {
  await trx.raw("set local partner_catalog.run = 'on'");
}

/** Makes the changes that `compareProducts` has noted. The partner must have been locked before that. */
export async function applyChanges(
  trx: Knex.Transaction,
  { feedId, partnerId, columns }: MergeTarget,
  { inserted, updated }: ProductCounts,
): Promise<void> {
  const sql = mergeSql(columns);
  await keepDigests(trx);
  if (updated > 0) await trx.raw(sql.update, { feedId });
  if (inserted > 0) await trx.raw(sql.insert, { feedId, partnerId });
}

/** A value of a product's field: a price is a decimal text. */
export type FieldValue = string | null;

/** One change that `compareProducts` has noted. */
export interface ProductChange {
  row: number;
  line: number;
  sku: string;
  action: 'insert' | 'update';
  /** The fields that get another value; of a new product, those that get one. */
  changes: { field: ProductColumn; before: FieldValue; after: FieldValue }[];
}

/** The changes of the rows after `afterRow`, `limit` of them at most, in the order of the file. */
export async function listChanges(
  trx: Knex.Transaction,
  { columns }: MergeTarget,
  page: { afterRow: number; limit: number },
): Promise<ProductChange[]> {
  type Row = { row: number; line: number; sku: string; is_new: boolean } & Record<string, FieldValue>;
  const { rows } = await trx.raw<{ rows: Row[] }>(mergeSql(columns).list, page);
  return rows.map((row) => ({
    row: row.row,
    line: row.line,
    sku: row.sku,
    action: row.is_new ? 'insert' : 'update',
    changes: productColumns
      .filter((field) => field !== 'sku')
      .map((field) => ({ field, before: row[`before_${field}`]!, after: row[`after_${field}`]! }))
      .filter(({ before, after }) => before !== after),
  }));
}
