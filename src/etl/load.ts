import type { Knex } from 'knex';
import { withLockTimeout } from '../db/transaction';
import { FeedFailure } from './run-result';
import { productColumns, type ProductColumn } from '../feed-format/columns';

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
 * A manual change may give a product another partner or sku before it is updated: it is then left alone. The condition is
 * written so that the planner does not join by it.
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
        and (products.partner_id, products.sku) is not distinct from (:partnerId, feed_rows.sku)
    `,
    insert: `
      insert into products (feed_id, partner_id, sku, ${fields.join(', ')})
      select :feedId, :partnerId, sku, ${fields.join(', ')}
      from feed_rows
      where line in (select line from feed_changes where product_id is null)
      order by line
    `,
    list: `
      with page as (
        select row_number as row, line, feed_rows.sku, product_id is null as is_new,
          ${list((field) => `${shown(field, `products.${field}`)} as before_${field}, ${shown(field, incoming(field))} as after_${field}`)}
        from feed_changes join feed_rows using (line) left join products using (product_id)
        where row_number > :afterRow
        order by row_number
        limit :limit + 1
      ), measured as (
        select *, row_number() over (order by row) as place, count(*) over () as found,
          sum(octet_length(cast(page as text))) over (order by row) as bytes
        from page
      )
      select * from measured where place <= :limit and (place = 1 or bytes <= :bytesMax) order by row
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
 * @throws FeedFailure when the partner no longer exists
 */
export async function lockPartner(trx: Knex.Transaction, partnerId: number): Promise<void> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(
    'select from partners where partner_id = ? for no key update',
    [partnerId],
  );
  if (rows.length === 0) {
    throw new FeedFailure('The partner was merged into another one during the run: run the job again.');
  }
}

/** Notes what the staged rows would change, in place of what was noted before. @returns what the changes come to */
export async function compareProducts(
  trx: Knex.Transaction,
  { partnerId, columns }: MergeTarget,
): Promise<ProductCounts> {
  const sql = mergeSql(columns);
  await trx.raw('drop table if exists pg_temp.feed_changes; analyze feed_rows (sku)');
  // A utility statement takes no parameters; the number comes from our own table.
  await trx.raw(sql.compare.replaceAll(':partnerId', String(partnerId)));
  await trx.raw('analyze feed_changes');
  const { rows } = await trx.raw<{ rows: { staged: number; changed: number; updated: number }[] }>(sql.count);
  const { staged, changed, updated } = rows[0]!;
  return { inserted: changed - updated, updated, unchanged: staged - changed };
}

/** Keeps the transaction's changes of products out of the log of manual changes; the run keeps its digests up to date. */
export async function keepDigests(trx: Knex.Transaction): Promise<void> {
  await trx.raw("set local partner_catalog.keeps_digests = 'on'");
}

/**
 * Makes the changes that `compareProducts` has noted. The partner must have been locked before that.
 *
 * It inserts first, which waits only where a manual transaction has inserted the same sku; from the first update on, it
 * holds products that a manual transaction may wait for, so that it must not wait for one long.
 * @param lockMilliseconds - how long an update waits for a product that another transaction has changed or locked
 * @throws an error for which `isContention` holds; then some changes are made, and have to be rolled back
 */
export async function applyChanges(
  trx: Knex.Transaction,
  { feedId, partnerId, columns }: MergeTarget,
  { inserted, updated }: ProductCounts,
  lockMilliseconds: number,
): Promise<void> {
  const sql = mergeSql(columns);
  await keepDigests(trx);
  if (inserted > 0) await trx.raw(sql.insert, { feedId, partnerId });
  if (updated === 0) return;
  // The wait for the table, for example while it gets an index, is none for a product.
  await trx.raw('lock table products in row exclusive mode');
  const { rowCount } = await withLockTimeout(trx, lockMilliseconds, () =>
    trx.raw<{ rowCount: number }>(sql.update, { feedId, partnerId }),
  );
  if (rowCount !== updated) throw new ProductsGone();
}

/** Products that were to be updated have been deleted since, or got another partner or sku. */
class ProductsGone extends Error {}

/** Whether a manual transaction was in the way: changes of the same products, a deadlock, or the same new sku. */
export function isContention(error: unknown): boolean {
  if (error instanceof ProductsGone) return true;
  const lockNotAvailable = '55P03';
  const deadlockDetected = '40P01';
  const uniqueViolation = '23505';
  const { code = '' } = error as { code?: string };
  return [lockNotAvailable, deadlockDetected, uniqueViolation].includes(code);
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

/** A page of changes ends when its values have so many bytes: a thousand long descriptions would be 250 MB. */
const pageBytesMax = 1024 * 1024;

/**
 * The changes of the rows after `afterRow`, in the order of the file: one at least, and as many as `limit` and
 * `pageBytesMax` allow.
 */
export async function listChanges(
  trx: Knex.Transaction,
  { columns }: MergeTarget,
  page: { afterRow: number; limit: number },
): Promise<{ changes: ProductChange[]; hasMore: boolean }> {
  type Row = { row: number; line: number; sku: string; is_new: boolean; found: number } & Record<
    string,
    FieldValue
  >;
  const { rows } = await trx.raw<{ rows: Row[] }>(mergeSql(columns).list, {
    ...page,
    bytesMax: pageBytesMax,
  });
  const changes = rows.map((row): ProductChange => ({
    row: row.row,
    line: row.line,
    sku: row.sku,
    action: row.is_new ? 'insert' : 'update',
    changes: productColumns
      .filter((field) => field !== 'sku')
      .map((field) => ({ field, before: row[`before_${field}`]!, after: row[`after_${field}`]! }))
      .filter(({ before, after }) => before !== after),
  }));
  return { changes, hasMore: rows.length > 0 && rows[0]!.found > rows.length };
}
