import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { boundedPageSql } from '../../base/db/page';
import { listOf, raw, sql, type Sql } from '../../base/db/sql';
import { productColumns, type ProductColumn } from '../../feed-format/columns';
import type { CatalogChange } from '../../catalog/changes/catalog-changes';
import {
  followsSql,
  hasActionSql,
  priceChangeSql,
  sizeSql,
  type ChangeAction,
  type ChangeSize,
  type ChangeSort,
} from './change-order';
import { priceJumpSql } from './price-jumps';
import type { RunCounters } from './run-result';
import type { RunStats } from './run-stats';
import type { StagedFeed } from './staging';
import { rejectUnknownRows, rejectUnnamedRows } from './unknown-skus';
import { isProductOf } from './look-ups';
import { storeWithdrawals, withheldCounter } from './withdrawals';
import { keptValue } from '../../feed-format/rows/transform';
import { copyStagedProducts } from './working-products';

/**
 * Maximum number of staged rows whose products are looked up one by one, 7 µs each. For more, all products of the partner are
 * read, 1 µs each: reading a million takes as long as 70,000 to 100,000 look-ups.
 */
const lookUpsMax = 50_000;

/** Position in the list of changes: after a row of the file, or after a withdrawn product. */
export interface ChangePosition {
  /** Size of the change of price of that row. */
  size: ChangeSize;
  afterRow: number;
  /** Absent before the first withdrawal. */
  afterProduct?: number;
}

/** The changes of a list, and the beginning of a page. */
export interface ListedChanges extends ChangePosition {
  limit: number;
  sort: ChangeSort;
  /** Absent: all. */
  action?: ChangeAction;
}

const actionSql = raw(
  "case when product_id is null then 'insert' when is_restored then 'restore' else 'update' end",
);

const keptSql = (field: ProductColumn) => raw(`'${keptValue(field)}'`);

/**
 * Merges the staged rows, whose skus must be unique, into the partner's products:
 * - `compare` stores which staged rows are new (without product id), differ, or have a withdrawn product, which is restored. Its
 * rows are narrow: an unchanged feed costs only this join.
 * - `update` and `insert` apply these changes; new products get their ids in the order of the file.
 * - `list` lists them instead: compared for a plan, they have their changes of prices.
 * No plan depends on statistics of the partner, which may be absent after a large load: PostgreSQL would then
 * read all products of the partner for each row. Therefore:
 * - `compare` forces its plan. Look-ups: only the index by partner and sku has the order that a row of the subquery needs, as
 * sorting is off. An equality could use any index of the partner. Otherwise: a hash join, or a merge join.
 * - `list` takes the partner from the stored change, not from a constant. By partner, sku and number, each index finds one product.
 * - Locks and writes are in `lookUpProducts`; staged rows are found by their place.
 * The update skips a product that a manual change has moved to another partner or sku.
 * A column that is not in the feed keeps the stored value; a currency given with the price is used nevertheless. In a kept
 * column, `keptValue` and an empty name keep the stored one; a new product gets null.
 * Products move to the collection of a feed that names it. A moved product with the same values keeps its feed: `is_moved`.
 */
export function mergeSql({
  feedId,
  partnerId,
  columns,
  keptColumns,
  collection,
  isCollectionNamed,
}: StagedFeed) {
  const fields = productColumns.filter((column) => column !== 'sku');
  const stored = (field: ProductColumn) => raw(`products.${field}`);
  const incoming = (field: ProductColumn): Sql => {
    const staged = raw(`feed_rows.${field}`);
    if (keptColumns.has(field)) {
      const kept = keptSql(field);
      if (field === 'product_name') return sql`coalesce(nullif(${staged}, ${kept}), ${stored(field)})`;
      return sql`case when ${staged} = ${kept} then ${stored(field)} else ${staged} end`;
    }
    if (columns.has(field)) return staged;
    return field === 'currency' ? sql`coalesce(feed_rows.currency, products.currency)` : stored(field);
  };
  const inserted = (field: ProductColumn): Sql =>
    keptColumns.has(field) ? sql`nullif(${raw(field)}, ${keptSql(field)})` : raw(field);
  const shown = (field: ProductColumn, value: Sql) =>
    field === 'price' ? sql`trim_scale(${value})::text` : value;
  const pricesOf = (value: (field: ProductColumn) => Sql) => ({
    price: value('price'),
    currency: value('currency'),
  });
  const list = (map: (field: ProductColumn) => Sql) => listOf(fields.map(map));
  const names = raw(fields.join(', '));
  const differs = sql`(${list(stored)}) is distinct from (${list(incoming)})`;
  return {
    /** A utility statement takes no parameters. Collections contain letters, digits and hyphens only. */
    compare: (stagedRows: number, isWritten: boolean) => {
      const looksUp = stagedRows <= lookUpsMax;
      const partner = raw(partnerId);
      return sql`
      ${raw(looksUp ? 'set local enable_sort = off' : 'set local enable_nestloop = off')};
      create temporary table feed_changes on commit drop as
      select feed_rows.ctid as place, feed_rows.line, feed_rows.sku, cast(${partner} as bigint) as partner_id, products.product_id,
        products.withdrawn_at is not null as is_restored,
        products.product_id is not null and products.withdrawn_at is null and not ${differs} as is_moved,
        ${priceJumpSql(incoming('price'), incoming('currency'))} as is_price_jump
        ${isWritten ? raw('') : sql`, ${priceChangeSql(pricesOf(stored), pricesOf(incoming))} as price_change`}
      from feed_rows
      left join ${
        looksUp
          ? sql`lateral (
              select * from products
              where products.partner_id = ${partner} and products.sku between feed_rows.sku and feed_rows.sku
              order by products.sku limit 1
            ) as products on true`
          : sql`products on products.partner_id = ${partner} and products.sku = feed_rows.sku`
      }
      where products.product_id is null
        or products.withdrawn_at is not null
        ${raw(isCollectionNamed ? `or products.collection <> '${collection}'` : '')}
        or ${differs};
      set local enable_sort to default;
      set local enable_nestloop to default;
      analyze feed_changes
    `;
    },
    update: ({ runId }: CatalogChange) => sql`
      update products
      set feed_id = ${feedId}, run_id = ${runId}, record_offset = feed_rows.record_offset,
        ${isCollectionNamed ? sql`collection = ${collection},` : raw('')} withdrawn_at = null,
        ${list((field) => sql`${raw(field)} = ${incoming(field)}`)}
      from feed_changes join feed_rows on feed_rows.ctid = feed_changes.place
      where not is_moved and ${isProductOf(raw('feed_changes'))}
    `,
    move: ({ runId }: CatalogChange) => sql`
      update products set collection = ${collection}, run_id = ${runId}
      from feed_changes
      where is_moved and ${isProductOf(raw('feed_changes'))}
    `,
    insert: ({ runId }: CatalogChange) => sql`
      insert into products (feed_id, run_id, partner_id, collection, record_offset, sku, ${names})
      select ${feedId}, ${runId}, ${partnerId}, ${collection}, record_offset, sku, ${list(inserted)}
      from feed_rows
      where line in (select line from feed_changes where product_id is null)
      order by line
    `,
    list: ({ size, afterRow, limit, sort, action }: ListedChanges) =>
      boundedPageSql(
        sql`with changed as materialized (
          select feed_rows.*, changes.partner_id, changes.product_id, action, price_change, size
          from (
            select *, ${actionSql} as action, ${sizeSql(sort, raw('price_change'))} as size
            from feed_changes where not is_moved
          ) as changes join feed_rows using (line)
          where ${followsSql(raw('size'), raw('row_number'), { size, place: afterRow })}
            and ${hasActionSql(action)}
          order by size desc, row_number
          limit ${limit} + 1
        )
        select row_number as row, line, feed_rows.sku, action, price_change, cast(size as text) as size,
          ${list((field) => sql`${shown(field, stored(field))} as ${raw(`before_${field}`)}, ${shown(field, incoming(field))} as ${raw(`after_${field}`)}`)}
        from changed as feed_rows left join products
          on (products.partner_id, products.sku, products.product_id) = (feed_rows.partner_id, feed_rows.sku, feed_rows.product_id)
        order by feed_rows.size desc, row_number`,
        limit,
      ),
  };
}

const countSql = sql`
  select (select count(*) from feed_rows) as staged, count(*) filter (where not is_moved) as changed,
    count(product_id) filter (where not is_moved) as updated, count(*) filter (where is_moved) as moved,
    count(*) filter (where is_restored) as restored,
    count(is_price_jump) as price_changes, count(*) filter (where is_price_jump) as price_jumps
  from feed_changes
`;

/**
 * Compares the staged rows with the products, and replaces the stored changes.
 * @param isWritten - whether the changes may be applied; else they are compared to be listed
 * @returns the counters of the run
 */
export async function compareProducts(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
  isWritten = true,
): Promise<ComparedCounters> {
  const { staged, changed, updated, moved, restored, withdrawn } = await stats.timed('compare', () =>
    storeChanges(trx, feed, stats, isWritten),
  );
  const inserted = changed - updated;
  const unchanged = staged - changed + stats.unchanged;
  const { skipped } = stats;
  return {
    processed: staged + stats.unchanged + skipped,
    inserted,
    updated,
    unchanged,
    skipped,
    withdrawn,
    restored,
    moved,
    ...withheldCounter(feed, stats),
  };
}

/** Counters of a comparison: `moved` are unchanged products that come from another collection. */
export type ComparedCounters = RunCounters & { moved: number };

interface ChangeCounts {
  staged: number;
  changed: number;
  updated: number;
  moved: number;
  restored: number;
  withdrawn: number;
}

async function storeChanges(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
  isWritten: boolean,
): Promise<ChangeCounts> {
  const withdraws = feed.mode === 'replace' && stats.unreadable === 0;
  await copyStagedProducts(trx, feed, withdraws, isWritten);
  await queryRows(trx, sql`drop table if exists pg_temp.feed_changes; analyze feed_rows (line, sku)`);
  await queryRows(trx, mergeSql(feed).compare(stats.copied, isWritten));
  if (feed.mode === 'update') await rejectUnknownRows(trx, feed, stats);
  else if (feed.keptColumns.has('product_name')) await rejectUnnamedRows(trx, feed, stats);
  type Counts = Omit<ChangeCounts, 'withdrawn'> & { price_changes: number; price_jumps: number };
  const [counts] = (await queryRows<Counts>(trx, countSql)) as [Counts];
  stats.prices = { changed: counts.price_changes, jumped: counts.price_jumps };
  return { ...counts, withdrawn: withdraws ? await storeWithdrawals(trx, feed) : 0 };
}
