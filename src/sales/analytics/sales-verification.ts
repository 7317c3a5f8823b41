import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import { beginTransaction } from '../../base/db/transaction';
import { fromSalesTriggers, listDisabledTriggers, salesTriggers, type SalesTrigger } from './sales-triggers';
import {
  getWatermark,
  linesAfterWatermark,
  linesOfChanges,
  salesDay,
  sumsOfChanges,
  type Watermark,
} from './sales-watermark';
import { isByProduct, monthOf, sumKeys, type SumsTable } from './sales-sums';

/** A sum that differs from its orders. Null: the sum is over all. */
export interface SalesDifference {
  partner_name: string | null;
  product_id: number | null;
  /** The day, YYYY-MM-DD, or the month, YYYY-MM. */
  sales_period: string | null;
  currency: string;
  /** The sum that readers get; null: none. Amounts are decimal texts. */
  counted_units: number | null;
  counted_sales: string | null;
  /** The sum of the orders; null: no orders. */
  actual_units: number | null;
  actual_sales: string | null;
}

const differencesMax = 1_000;

/** The period of a difference. */
function periodOf(key: readonly string[]): Sql {
  if (key.includes('sales_day')) return raw('cast(sales_day as text)');
  return raw(key.includes('sales_month') ? `to_char(sales_month, 'YYYY-MM')` : 'null');
}

function differencesOf(table: SumsTable, hasSums: boolean): Sql {
  const key: readonly string[] = sumKeys[table];
  const keys = raw(key.join(', '));
  const shown = (name: string) => raw(key.includes(name) ? name : 'null');
  return sql`
    select cast(${shown('partner_name')} as text) as partner_name, cast(${shown('product_id')} as bigint) as product_id,
      cast(${periodOf(key)} as text) as sales_period, currency,
      counted.units_sold as counted_units, cast(counted.total_sales as text) as counted_sales,
      actual.units_sold as actual_units, cast(actual.total_sales as text) as actual_sales
    from (
      select ${keys}, cast(sum(units_sold) as bigint) as units_sold, sum(total_sales) as total_sales
      from (
        select ${keys}, units_sold, total_sales from ${raw(table)} where ${hasSums}
        union all select ${keys}, units_sold, total_sales from missing
      ) as counted
      group by ${keys} having sum(units_sold) <> 0 or sum(total_sales) <> 0
    ) as counted
    full join (
      select ${keys}, cast(sum(units_sold) as bigint) as units_sold, sum(total_sales) as total_sales
      from actual group by ${keys}
    ) as actual using (${keys})
    where (counted.units_sold, counted.total_sales) is distinct from (actual.units_sold, actual.total_sales)
  `;
}

/** Sums of the lines in `source`; without products, null stands for all of them. */
const salesBy = (isOfProducts: boolean, source: Sql): Sql => sql`
  select *, ${monthOf(raw('sales_day'))} as sales_month
  from (
    select partner_name, ${raw(isOfProducts ? 'product_id' : 'cast(null as bigint)')} as product_id, currency, ${salesDay} as sales_day,
      sum(quantity) as units_sold, sum(line_total) as total_sales
    ${source}
    group by 1, 2, 3, 4
  ) as sale`;

/** Readers do not use sums by product that are behind. */
function findDifferencesSql(watermark: Watermark, isOfProducts: boolean): Sql {
  const compared = (Object.keys(sumKeys) as SumsTable[]).filter(
    (table) => isByProduct(table) === isOfProducts,
  );
  const [first, ...others] = compared.map((table) => differencesOf(table, watermark.hasSums));
  const changed = raw(isOfProducts ? 'sales_by_product_and_day' : 'sales_by_partner_and_day');
  const productId = raw(isOfProducts ? 'product_id' : 'null');
  return sql`
    with actual as materialized (${salesBy(isOfProducts, raw('from orders join order_items using (order_id)'))}),
    missing as materialized (
      ${salesBy(isOfProducts, linesAfterWatermark(watermark))}
      union all
      ${salesBy(isOfProducts, linesOfChanges(watermark))}
      union all
      select partner_name, ${productId}, currency, sales_day, -units_sold, -total_sales,
        ${monthOf(raw('sales_day'))}
      ${sumsOfChanges(watermark, changed)}
    )
    select * from (${others.reduce((union, next) => sql`${union} union all ${next}`, first!)}) as difference
    order by partner_name, product_id, sales_period, currency
    limit ${raw(differencesMax)}`;
}

/** Compares the figures that readers get with all orders. @returns the differences, at most 1,000 */
export async function findDifferences(
  trx: Knex.Transaction,
  watermark: Watermark,
): Promise<SalesDifference[]> {
  const differences = await queryRows<SalesDifference>(trx, findDifferencesSql(watermark, false));
  if (!watermark.hasProductSums || differences.length === differencesMax) return differences;
  const ofProducts = await queryRows<SalesDifference>(trx, findDifferencesSql(watermark, true));
  return [...differences, ...ofProducts].slice(0, differencesMax);
}

/**
 * Compares the figures with all orders, in one snapshot. Reads only.
 * @returns the differences, at most 1,000; empty if all figures are right
 */
export async function verifySales(db: Database): Promise<SalesDifference[]> {
  const trx = await beginTransaction(db, 'bulk', 'repeatable read');
  try {
    return await findDifferences(trx, await getWatermark(trx));
  } finally {
    await trx.rollback();
  }
}

/**
 * Fingerprint that changes whenever a trigger may have missed a change: row counts of updates and deletes, files of the tables
 * (truncate), triggers (disabled and re-enabled), start of the server (a crash loses the counts), and each minute while a trigger
 * is not enabled `always`.
 */
const fingerprintSql = sql`
  select md5(concat_ws(' ',
    pg_postmaster_start_time(),
    (
      select string_agg(concat_ws(' ', relname, oid, pg_relation_filenode(oid), pg_stat_get_tuples_deleted(oid),
        case when relname in ('orders', 'order_items') then pg_stat_get_tuples_updated(oid) end), ' ' order by relname)
      from pg_class
      where oid = any (array[${raw(['orders', 'order_items', ...Object.keys(sumKeys)].map((table) => `'${table}'`).join(', '))}]::regclass[])
    ),
    (
      select concat_ws(' ', string_agg(concat_ws(' ', tgname, tgenabled, pg_trigger.xmin), ' ' order by tgname),
        case when count(*) filter (where tgenabled = 'A') < ${raw(salesTriggers)} then date_trunc('minute', now()) end)
      ${fromSalesTriggers}
    )
  )) as fingerprint
`;

/** Rest after a verification, as a multiple of its duration: at most 5 % of the time is spent. */
const restPerSecond = 20;
/** Interval of verifications without any known change. */
const verificationHours = 24;

const isDueSql = sql`
  select now_known.fingerprint, verified_at is null or verified_at < now() - ${raw(verificationHours)} * interval '1 hour'
    or (verified.fingerprint <> now_known.fingerprint and verified_at <= now() - ${raw(restPerSecond)} * seconds * interval '1 second')
    as "isDue"
  from (${fingerprintSql}) as now_known left join sales_verification as verified on true
`;

export interface Verification {
  differences: SalesDifference[];
  disabledTriggers: SalesTrigger[];
}

/**
 * Verifies the sums if a change may have been missed since the last verification, or after a day. The caller has locked
 * the roll-up row.
 * @returns undefined if not due
 */
export async function verifyIfDue(
  trx: Knex.Transaction,
  watermark: Watermark,
): Promise<Verification | undefined> {
  const [row] = await queryRows<{ fingerprint: string; isDue: boolean }>(trx, isDueSql);
  const { fingerprint, isDue } = row!;
  if (!isDue) return undefined;
  const startedAt = performance.now();
  const differences = await findDifferences(trx, watermark);
  const seconds = (performance.now() - startedAt) / 1000;
  await changeRows(
    trx,
    sql`insert into sales_verification (fingerprint, verified_at, seconds) values (${fingerprint}, clock_timestamp(), ${seconds})
     on conflict (is_the_only_row) do update
     set fingerprint = excluded.fingerprint, verified_at = excluded.verified_at, seconds = excluded.seconds`,
  );
  return { differences, disabledTriggers: await listDisabledTriggers(trx) };
}
