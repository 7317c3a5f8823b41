import type { Knex } from 'knex';
import { withLockTimeout } from '../db/transaction';
import { productColumns, type ProductColumn } from '../feed-format/columns';
import type { RunCounters } from './run-result';
import type { RunStats } from './run-stats';
import type { StagedFeed } from './staging';

/**
 * Maximum number of staged rows whose products are looked up one by one, 7 µs each. For more, all products of the partner are
 * read, 1 µs each: a million of them takes as long as 70,000 to 100,000 look-ups.
 */
const lookUpsMax = 50_000;

/**
 * Merges the staged rows, whose skus must be unique, into the partner's products:
 *
 * - `compare` stores which staged rows are new (without product id) or differ. Its rows are narrow: an unchanged feed costs
 *   this one join.
 * - `update` and `insert` apply these changes; new products get their ids in the order of the file.
 * - `list` shows them instead.
 *
 * No plan depends on statistics of the partner, which may be absent after a large load, and would then let PostgreSQL
 * read all products of the partner for each row. Therefore:
 *
 * - `compare` is told its plan. Look-ups: only the index by partner and sku has the order that a row of the subquery needs, as
 *   sorting is off. An equality could use any index of the partner. Otherwise: a hash join, or a merge join.
 * - The other statements take the partner from the stored change, not from a constant. What they read without a change is
 *   then the whole table, and its size is always known. By partner, sku and number, each index finds one product. PostgreSQL
 *   expects far too few rows of this join: it must be the last one, by `from_collapse_limit`.
 *
 * The update skips a product that a manual change has moved to another partner or sku.
 *
 * A column that is not in the feed keeps the stored value; a currency given with the price is used nevertheless.
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
    compare: (stagedRows: number) => `
      ${stagedRows <= lookUpsMax ? 'set local enable_sort = off' : 'set local enable_nestloop = off'};
      create temporary table feed_changes on commit drop as
      select feed_rows.line, feed_rows.sku, cast(:partnerId as bigint) as partner_id, products.product_id
      from feed_rows
      left join ${
        stagedRows <= lookUpsMax
          ? `lateral (
              select * from products
              where products.partner_id = :partnerId and products.sku between feed_rows.sku and feed_rows.sku
              order by products.sku limit 1
            ) as products on true`
          : 'products on products.partner_id = :partnerId and products.sku = feed_rows.sku'
      }
      where products.product_id is null
        or (${list((field) => `products.${field}`)}) is distinct from (${list(incoming)});
      set local enable_sort to default;
      set local enable_nestloop to default;
      analyze feed_changes
    `,
    count: `
      select (select count(*) from feed_rows) as staged, count(*) as changed, count(product_id) as updated
      from feed_changes
    `,
    update: `
      update products
      set feed_id = :feedId, ${list((field) => `${field} = ${incoming(field)}`)}
      from feed_changes join feed_rows using (line)
      where (products.partner_id, products.sku, products.product_id)
        = (feed_changes.partner_id, feed_changes.sku, feed_changes.product_id)
    `,
    insert: `
      insert into products (feed_id, partner_id, sku, ${fields.join(', ')})
      select :feedId, :partnerId, sku, ${fields.join(', ')}
      from feed_rows
      where line in (select line from feed_changes where product_id is null)
      order by line
    `,
    list: `
      with changed as materialized (
        select feed_rows.*, feed_changes.partner_id, feed_changes.product_id
        from feed_changes join feed_rows using (line)
        where row_number > :afterRow
        order by row_number
        limit :limit + 1
      ), page as (
        select row_number as row, line, feed_rows.sku, feed_rows.product_id is null as is_new,
          ${list((field) => `${shown(field, `products.${field}`)} as before_${field}, ${shown(field, incoming(field))} as after_${field}`)}
        from changed as feed_rows left join products
          on (products.partner_id, products.sku, products.product_id) = (feed_rows.partner_id, feed_rows.sku, feed_rows.product_id)
      ), measured as (
        select *, row_number() over (order by row) as place, count(*) over () as found,
          sum(octet_length(cast(page as text))) over (order by row) as bytes
        from page
      )
      select * from measured where place <= :limit and (place = 1 or bytes <= :bytesMax) order by row
    `,
  };
}

/**
 * Compares the staged rows with the products, and replaces the stored changes.
 * @returns the counters of the run
 */
export async function compareProducts(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
): Promise<RunCounters> {
  const { staged, changed, updated } = await stats.timed('compare', () =>
    storeChanges(trx, feed, stats.copied),
  );
  const inserted = changed - updated;
  const unchanged = staged - changed + stats.unchanged;
  const skipped = stats.rejected + stats.superseded;
  return { processed: staged + stats.unchanged + skipped, inserted, updated, unchanged, skipped };
}

async function storeChanges(
  trx: Knex.Transaction,
  { partnerId, columns }: StagedFeed,
  stagedRows: number,
): Promise<{ staged: number; changed: number; updated: number }> {
  const sql = mergeSql(columns);
  await trx.raw('drop table if exists pg_temp.feed_changes; analyze feed_rows (line, sku)');
  // A utility statement takes no parameters.
  await trx.raw(sql.compare(stagedRows).replaceAll(':partnerId', String(partnerId)));
  const { rows } = await trx.raw<{ rows: { staged: number; changed: number; updated: number }[] }>(sql.count);
  return rows[0]!;
}

/** Excludes the transaction from the log of manual changes: the run updates its digests itself. */
export async function keepDigests(trx: Knex.Transaction): Promise<void> {
  await trx.raw("set local partner_catalog.keeps_digests = 'on'");
}

/**
 * Applies the changes that `compareProducts` stored. The caller holds the partner's lock.
 *
 * Inserts come first: they wait only for a manual transaction that has inserted the same sku. From the first update on,
 * manual transactions may wait for its products, so that its own waits must be short.
 * @param lockMilliseconds - lock timeout for a product that another transaction has changed or locked
 * @throws an error for which `isContention` is true; the caller must then roll back
 */
export async function applyChanges(
  trx: Knex.Transaction,
  { feedId, partnerId, columns }: StagedFeed,
  { inserted, updated }: Pick<RunCounters, 'inserted' | 'updated'>,
  lockMilliseconds: number,
): Promise<void> {
  const sql = mergeSql(columns);
  await keepDigests(trx);
  if (inserted > 0) await trx.raw(sql.insert, { feedId, partnerId });
  if (updated === 0) return;
  // A wait for the table, for example while an index is created, has no such timeout.
  await trx.raw('lock table products in row exclusive mode; set local from_collapse_limit = 1');
  const { rowCount } = await withLockTimeout(trx, lockMilliseconds, () =>
    trx.raw<{ rowCount: number }>(sql.update, { feedId }),
  );
  await trx.raw('set local from_collapse_limit to default');
  if (rowCount !== updated) throw new ProductsGone();
}

/** A manual change has deleted a product to be updated, or changed its partner or sku. */
class ProductsGone extends Error {}

/**
 * Tells a conflict with a manual transaction: same products, a deadlock, the same new sku, or a product that has moved to
 * another partition.
 */
export function isContention(error: unknown): boolean {
  if (error instanceof ProductsGone) return true;
  const lockNotAvailable = '55P03';
  const deadlockDetected = '40P01';
  const uniqueViolation = '23505';
  const serializationFailure = '40001';
  const { code = '' } = error as { code?: string };
  return [lockNotAvailable, deadlockDetected, uniqueViolation, serializationFailure].includes(code);
}

/** Value of a product's field; a price is a decimal text. */
type FieldValue = string | null;

/** A change that `compareProducts` stored. */
export interface ProductChange {
  row: number;
  line: number;
  sku: string;
  action: 'insert' | 'update';
  /** Fields with another value; of a new product, all fields with a value. */
  changes: { field: ProductColumn; before: FieldValue; after: FieldValue }[];
}

/** Maximum size of a page of changes: a thousand long descriptions would be 250 MB. */
const pageBytesMax = 1024 * 1024;

/**
 * Lists the changes after the row `afterRow`, in the order of the file.
 *
 * A page has at least one change, and at most `limit` changes or `pageBytesMax`.
 */
export async function listChanges(
  trx: Knex.Transaction,
  { columns }: StagedFeed,
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
