import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { allOf, listOf, raw, sql, type Sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import {
  changedSql,
  getWatermark,
  isOwnSql,
  linesAfterWatermark,
  linesOfChanges,
  salesDay,
  sumsOfChanges,
  type Watermark,
} from './sales-watermark';
import { monthOf, sumKeys } from './sales-sums';
import { findDifferences, verifyIfDue, type SalesDifference, type Verification } from './sales-verification';

interface RollUpOutcome {
  wrote: boolean;
  /** Present if the sums were verified; differences are corrected by then. */
  verification?: Verification;
}

/**
 * Adds new orders to the sums, and rebuilds wrong sums (of changed days, or all). Also rebuilds sums by product that are behind:
 * they are new, or a release without them has rolled up.
 * Safe to call concurrently: one process works, in one transaction. Must not be called in a transaction that has created
 * orders.
 * @param restMilliseconds - minimum time since the last roll-up
 */
export function rollUpSales(db: Database, restMilliseconds = 0): Promise<RollUpOutcome> {
  return inTransaction(db, 'bulk', async (trx) => {
    const rollup = await lockRollup(trx, restMilliseconds);
    if (!rollup) return { wrote: false };
    if (rollup.isOwn && rollup.hasForeign) await changeRows(trx, stampForeignSql);
    const watermark = await getWatermark(trx);
    const verification = watermark.hasProductSums ? await verifyIfDue(trx, watermark) : undefined;
    if (!watermark.hasProductSums || (verification && verification.differences.length > 0)) {
      await rebuildAll(trx, rollup.isOwn);
      return { wrote: true, verification };
    }
    return { wrote: await addSales(trx, watermark), verification };
  });
}

/**
 * Rebuilds all sums from the orders. Waits for a roll-up in progress; blocks neither orders nor readers.
 * @returns the sums that were wrong, at most 1,000
 */
export function rebuildSales(db: Database): Promise<SalesDifference[]> {
  return inTransaction(db, 'bulk', async (trx) => {
    await changeRows(trx, insertRollupSql);
    const [rollup] = await queryRows<{ isOwn: boolean }>(
      trx,
      sql`select ${isOwnSql} as "isOwn" from sales_rollup for update`,
    );
    const differences = await findDifferences(trx, await getWatermark(trx));
    await rebuildAll(trx, rollup!.isOwn);
    return differences;
  });
}

/** The row may have been removed. */
const insertRollupSql = sql`
  insert into sales_rollup (seen, transaction_id, rolled_up_at)
  select '1:1:', '1', '-infinity' where not exists (select from sales_rollup)
  on conflict do nothing
`;

/**
 * Skips the roll-up if another process has locked the row. An order with the id of a future transaction was copied from
 * another server, without the trigger.
 */
const lockRollupSql = (restMilliseconds: number): Sql => sql`
  select ${isOwnSql} as "isOwn",
    exists (select from orders where transaction_id >= pg_snapshot_xmax(pg_current_snapshot())) as "hasForeign"
  from sales_rollup
  where rolled_up_at not between now() - ${restMilliseconds} * interval '1 millisecond' and now()
  for update skip locked
`;

async function lockRollup(
  trx: Knex.Transaction,
  restMilliseconds: number,
): Promise<{ isOwn: boolean; hasForeign: boolean } | undefined> {
  await changeRows(trx, insertRollupSql);
  const [rollup] = await queryRows<{ isOwn: boolean; hasForeign: boolean }>(
    trx,
    lockRollupSql(restMilliseconds),
  );
  return rollup;
}

/** 1 precedes all transactions. Marks the days of these orders as changed. */
const stampForeignSql = sql`
  with stamped as (
    update orders set transaction_id = '1' where transaction_id >= pg_snapshot_xmax(pg_current_snapshot())
    returning partner_name, ${salesDay} as sales_day
  )
  insert into sales_changes select distinct partner_name, sales_day from stamped
`;

const lineKey = raw('partner_name, currency, sales_day, product_id');

const line = (source: Sql): Sql => sql`
  select partner_name, currency, ${salesDay} as sales_day, product_id, quantity as units_sold, line_total as total_sales
  ${source}
`;

/** Sums of lines, of which all tables of sums are made. */
const saleOf = (lines: Sql): Sql => sql`
  sale as materialized (
    select ${lineKey}, ${monthOf(raw('sales_day'))} as sales_month,
      sum(units_sold) as units_sold, sum(total_sales) as total_sales
    from (${lines}) as line
    group by ${lineKey}
  )`;

/**
 * The stored snapshot must see all added orders. It does not see a copied order (without the trigger) with the id of a
 * transaction in progress: that order stays after the watermark.
 */
const isSeen = raw('pg_visible_in_snapshot(orders.transaction_id, (select pg_current_snapshot()))');

const corrections = (watermark: Watermark): Sql => sql`
  union all ${line(linesOfChanges(watermark))}
  union all select ${lineKey}, -units_sold, -total_sales
  ${sumsOfChanges(watermark, raw('sales_by_product_and_day'))}
`;

const addTo = (table: string, key: string): Sql =>
  raw(`
    insert into ${table} as known (${key}, units_sold, total_sales)
    select ${key}, sum(units_sold), sum(total_sales) from sale group by ${key} order by ${key}
    on conflict (${key}) do update
    set units_sold = known.units_sold + excluded.units_sold, total_sales = known.total_sales + excluded.total_sales
`);

const tables = Object.entries(sumKeys).map(([table, key]) => [table, key.join(', ')] as const);

const keepSnapshot = sql`
  update sales_rollup
  set seen = pg_current_snapshot(), transaction_id = pg_current_xact_id(), product_transaction_id = pg_current_xact_id(),
    rolled_up_at = now()
`;

/** One statement: the stored snapshot sees exactly the orders that it adds. */
function addSalesSql(watermark: Watermark, hasChanges: boolean): Sql {
  const added = tables.map(([table, key]) => sql`${raw(table)}_added as (${addTo(table, key)})`);
  const corrected = sql`, corrected as (
    delete from sales_changes where (partner_name, sales_day) in (select * from ${changedSql(watermark)})
  )`;
  return sql`
    with ${saleOf(sql`
      ${line(sql`${linesAfterWatermark(watermark)} and ${isSeen}`)} ${hasChanges ? corrections(watermark) : raw('')}
    `)}, ${listOf(added)}
    ${hasChanges ? corrected : raw('')}
    ${keepSnapshot}
    ${raw(hasChanges ? '' : 'where exists (select from sale)')}`;
}

/** Sums that orders of the changed days are part of, and perhaps others: found by the key. */
const isOfChanges = ({ changedPartners, changedDays }: Watermark, key: string): Sql => {
  const conditions: Record<string, Sql> = {
    partner_name: sql`partner_name = any (cast(${changedPartners} as text[]))`,
    sales_day: sql`sales_day = any (cast(${changedDays} as date[]))`,
    sales_month: sql`sales_month = any (array (
      select ${monthOf(raw('changed_day'))} from unnest(cast(${changedDays} as date[])) as changed_day
    ))`,
  };
  return allOf(key.split(', ').flatMap((column) => conditions[column] ?? []));
};

/** @returns whether anything was added */
async function addSales(trx: Knex.Transaction, watermark: Watermark): Promise<boolean> {
  const hasChanges = watermark.changedPartners.length > 0;
  const written = await changeRows(trx, addSalesSql(watermark, hasChanges));
  // Every item has a quantity above zero.
  if (hasChanges) {
    for (const [table, key] of tables) {
      await changeRows(
        trx,
        sql`delete from ${raw(table)} where units_sold = 0 and ${isOfChanges(watermark, key)}`,
      );
    }
  }
  return written > 0;
}

const prefixed = (alias: string, key: string) =>
  key
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ');

const rebuildTable = (table: string, key: string): Sql =>
  raw(`
  ${table}_put as (
    insert into ${table} as known (${key}, units_sold, total_sales)
    select ${key}, sum(units_sold), sum(total_sales) from sale group by ${key} order by ${key}
    on conflict (${key}) do update
    set units_sold = excluded.units_sold, total_sales = excluded.total_sales
    where (known.units_sold, known.total_sales) is distinct from (excluded.units_sold, excluded.total_sales)
  ), ${table}_gone as (
    delete from ${table} as known
    where not exists (select from sale where (${prefixed('sale', key)}) = (${prefixed('known', key)}))
  )
`);

const rebuildAllSql = sql`
  with ${saleOf(line(sql`from orders join order_items using (order_id) where ${isSeen}`))}, ${listOf(tables.map(([table, key]) => rebuildTable(table, key)))}, corrected as (delete from sales_changes)
  ${keepSnapshot}
`;

async function rebuildAll(trx: Knex.Transaction, isOwn: boolean): Promise<void> {
  // Transaction ids of another server have no meaning here.
  await changeRows(
    trx,
    isOwn ? stampForeignSql : sql`update orders set transaction_id = '1' where transaction_id <> '1'`,
  );
  await changeRows(trx, rebuildAllSql);
}
