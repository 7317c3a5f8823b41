import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import { expectFewRows } from '../../base/db/transaction';
import { dateOf } from '../../base/db/day-range';
import { roundedAmount } from './analytics.repository';
import {
  isCountedDay,
  isCountedOrder,
  isInCurrency,
  isOfPartner,
  isOfRange,
  type SalesFilter,
} from './sales-filter';
import {
  getWatermark,
  linesAfterWatermark,
  linesOfChanges,
  sumsOfChanges,
  type Watermark,
} from './sales-watermark';
import { monthOf } from './sales-sums';

/** `total_sales` is a decimal text with two decimals. */
export interface ProductSalesRow {
  product_id: number;
  /** The partner of the orders. */
  partner_name: string;
  currency: string;
  units_sold: number;
  total_sales: string;
}

/**
 * Units and sales per partner, product and currency, by sales descending.
 * @param trx - a snapshot, see `inSnapshot`
 */
export async function salesByProduct(
  trx: Knex.Transaction,
  filter: SalesFilter,
  limit: number,
): Promise<ProductSalesRow[]> {
  const watermark = await getWatermark(trx);
  if (!watermark.hasProductSums) return queryRows(trx, highestOf(salesOfOrders(filter), limit));
  await expectFewRows(trx);
  // The figures of all products of a large catalog stay in memory.
  await queryRows(trx, raw(`set local work_mem = '32MB'`));
  return queryRows(trx, highestOf(salesOfSums(watermark, filter), limit));
}

const key = raw('partner_name, product_id, currency');

/** Adds up `sales`. Corrections can cancel out. */
const highestOf = (sales: Sql, limit: number): Sql => sql`
  select ${key}, cast(sum(units_sold) as bigint) as units_sold, ${roundedAmount('sum(total_sales)')} as total_sales
  from (${sales}) as sale
  group by ${key} having sum(units_sold) <> 0
  order by sum(sale.total_sales) desc, product_id, partner_name, currency
  limit ${limit}`;

const salesOf = (lines: Sql, filter: SalesFilter): Sql => sql`
  select ${key}, quantity as units_sold, line_total as total_sales ${lines} and ${isCountedOrder(filter)}`;

/** Reads all orders: the sums are missing or behind. */
const salesOfOrders = (filter: SalesFilter): Sql =>
  salesOf(raw('from orders join order_items using (order_id) where true'), filter);

/** Sums, orders after the watermark, and corrections of changed days. */
function salesOfSums(watermark: Watermark, filter: SalesFilter): Sql {
  const corrections = sql`
    union all ${salesOf(linesOfChanges(watermark), filter)}
    union all
    select ${key}, -units_sold, -total_sales
    ${sumsOfChanges(watermark, raw('sales_by_product_and_day'))} and ${isCountedDay(filter)}`;
  return sql`
    ${sumsInRange(filter)}
    union all ${salesOf(linesAfterWatermark(watermark), filter)}
    ${watermark.changedPartners.length > 0 ? corrections : raw('')}`;
}

/** Selects the sums of the range: of whole months, and of the days before and after them. */
function sumsInRange(filter: SalesFilter): Sql {
  const isCounted = allOf([isOfPartner(filter), isInCurrency(filter)]);
  const sums = (table: string, isInRange: Sql) => sql`
    select ${key}, units_sold, total_sales from ${raw(table)} where ${isCounted} and ${isInRange}`;
  if (!isOfRange(filter)) return sums('sales_by_product', raw('true'));
  const from = dateOf(filter.from ?? '-infinity');
  const to = dateOf(filter.to ?? 'infinity');
  const firstMonth = monthOf(sql`${from} + interval '1 month' - interval '1 day'`);
  const endMonth = monthOf(to);
  const days = (first: Sql, end: Sql) =>
    sums('sales_by_product_and_day', sql`sales_day >= ${first} and sales_day < ${end}`);
  return sql`
    ${sums('sales_by_product_and_month', sql`sales_month >= ${firstMonth} and sales_month < ${endMonth}`)}
    union all ${days(from, sql`least(${firstMonth}, ${to})`)}
    union all ${days(sql`greatest(${endMonth}, ${firstMonth})`, to)}`;
}
