import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { allOf, listOf, raw, sql, type Sql } from '../../base/db/sql';
import { dateOf } from '../day-range';
import { roundedAmount, expectFewRows } from './analytics.repository';
import {
  isCountedDay,
  isCountedOrder,
  isInCurrency,
  isOfOnePartner,
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
  if (!watermark.hasProductSums) return queryRows(trx, highestOfOrders(filter, limit));
  await expectFewRows(trx);
  return queryRows(trx, highestSql(watermark, filter, limit, await boundsOf(trx, filter)));
}

const key = raw('partner_name, product_id, currency');
const isSameProduct = sql`(${key}) = (product.partner_name, product.product_id, product.currency)`;

const linesFrom = (lines: Sql, filter: SalesFilter): Sql => sql`
  select ${key}, sum(quantity) as units_sold, sum(line_total) as total_sales
  ${lines} and ${isCountedOrder(filter)} group by ${key}`;

const highestOf = (figures: Sql, limit: number): Sql => sql`
  select ${key}, cast(units_sold as bigint) as units_sold, ${roundedAmount('total_sales')} as total_sales
  from ${figures}
  order by figure.total_sales desc, product_id, partner_name, currency
  limit ${limit}`;

/** Reads all orders: the sums are missing or behind. */
const highestOfOrders = (filter: SalesFilter, limit: number): Sql =>
  highestOf(
    sql`(${linesFrom(raw('from orders join order_items using (order_id) where true'), filter)}) as figure`,
    limit,
  );

/** Sales that the sums lack: orders after the watermark, and corrections of changed days. */
function missingSql(watermark: Watermark, filter: SalesFilter): Sql {
  const corrections = sql`
    union all ${linesFrom(linesOfChanges(watermark), filter)}
    union all
    select ${key}, -units_sold, -total_sales
    ${sumsOfChanges(watermark, raw('sales_by_product_and_day'))} and ${isCountedDay(filter)}`;
  return sql`
    ${linesFrom(linesAfterWatermark(watermark), filter)}
    ${watermark.changedPartners.length > 0 ? corrections : raw('')}`;
}

/** Sums, of which no product has more in the range than `parts` times the highest of its own. */
interface Bounds {
  parts: number;
  /** Selects products by a condition on `total_sales` and an order, of each part. */
  productsWith: (end: Sql) => Sql;
}

/** Above this number of months, the sums of all time are the better bound. */
const boundMonthsMax = 12;

/**
 * Chooses the bounds: sums of the months that the range touches, or of all time. A partner's products are few, and the sums by month are
 * not indexed for them.
 */
async function boundsOf(trx: Knex.Transaction, filter: SalesFilter): Promise<Bounds> {
  const isCounted = allOf([isOfPartner(filter), isInCurrency(filter)]);
  if (isOfRange(filter) && !isOfOnePartner(filter)) {
    const months = await monthsOf(trx, filter);
    if (months.length <= boundMonthsMax) {
      return {
        parts: Math.max(1, months.length),
        productsWith: (end) => sql`
          select bound.*
          from unnest(cast(${months} as date[])) as month (sales_month) cross join lateral (
            select ${key} from sales_by_product_and_month as part
            where part.sales_month = month.sales_month and ${isCounted} ${end}
          ) as bound`,
      };
    }
  }
  return {
    parts: 1,
    productsWith: (end) => sql`(select ${key} from sales_by_product where ${isCounted} ${end})`,
  };
}

/** Lists the months with sales that the range touches, one more than are used. */
async function monthsOf(trx: Knex.Transaction, { from, to }: SalesFilter): Promise<string[]> {
  const lowest = raw('(select min(sales_month) from sales_by_product_and_month)');
  const highest = raw('(select max(sales_month) from sales_by_product_and_month)');
  const start = from === undefined ? lowest : sql`greatest(${monthOf(dateOf(from))}, ${lowest})`;
  const end = to === undefined ? highest : sql`least(${dateOf(to)} - 1, ${highest})`;
  const rows = await queryRows<{ month: string }>(
    trx,
    sql`
      select cast(cast(month as date) as text) as month
      from generate_series(
        case when ${highest} is not null then cast(${start} as timestamp) end, cast(${end} as timestamp), interval '1 month'
      ) as month
      limit ${raw(boundMonthsMax + 1)}`,
  );
  return rows.map(({ month }) => month);
}

/** Selects the sums of the row `product` in the range: of whole months, and of the days before and after them. */
function sumsInRange(filter: SalesFilter): Sql {
  const sums = (table: string, isCounted: Sql) => sql`
    select units_sold, total_sales from ${raw(table)} where ${isSameProduct} and ${isCounted}`;
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

/**
 * Finds the highest figures without adding up all products: computes those of the products with the highest bounds, and then those
 * of all products whose bound reaches the lowest of these. Products with missing sales are always computed.
 */
function highestSql(
  watermark: Watermark,
  filter: SalesFilter,
  limit: number,
  { parts, productsWith }: Bounds,
): Sql {
  const sumsOf = (products: Sql) => sql`
    select product.*, units_sold, total_sales
    from ${products} as product cross join lateral (
      select sum(units_sold) as units_sold, sum(total_sales) as total_sales from (${sumsInRange(filter)}) as part
    ) as sums
    where units_sold is not null`;
  const steps = [
    sql`missing as materialized (${missingSql(watermark, filter)})`,
    sql`first as materialized (
      select ${key} from missing union ${productsWith(sql`order by total_sales desc limit ${limit}`)}
    )`,
    sql`first_figure as materialized (
      select ${key}, sum(units_sold) as units_sold, sum(total_sales) as total_sales
      from (${sumsOf(raw('first'))} union all select * from missing) as known
      group by ${key} having sum(units_sold) <> 0
    )`,
    // Rounded down, as the quotient may be rounded up. 0: there are fewer products than that.
    sql`threshold as materialized (
      select case when count(*) = ${limit} then trunc(min(total_sales) / ${raw(parts)}, 2) else 0 end as total_sales
      from (select total_sales from first_figure order by total_sales desc limit ${limit}) as best
    )`,
    // `offset 0`: the index of each month is read. PostgreSQL expects a third of all rows, and would read the table.
    sql`other as materialized (
      ${productsWith(raw('and total_sales >= (select total_sales from threshold) offset 0'))} except select * from first
    )`,
  ];
  return sql`
    with ${listOf(steps)}
    ${highestOf(sql`(select * from first_figure union all ${sumsOf(raw('other'))}) as figure`, limit)}`;
}
