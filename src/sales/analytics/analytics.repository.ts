import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import { expectFewRows } from '../../base/db/transaction';
import { dayIn } from '../../base/db/day-range';
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
  salesDay,
  sumsOfChanges,
  type Watermark,
} from './sales-watermark';

export type Grain = 'daily' | 'monthly';

/** Amounts are decimal texts with two decimals. */
interface PartnerSalesRow {
  partner_name: string;
  units_sold: number;
  total_sales: string;
}

interface PeriodSalesRow {
  sales_period: string;
  units_sold: number;
  total_sales: string;
}

interface PartnerRevenueRow {
  partner_name: string;
  total_revenue: string;
  revenue_pct: string;
}

interface Source {
  sums: Sql;
  /** The condition on the sums. */
  isCounted: Sql;
  key: Sql;
  /** The expression of `key` for an order. */
  value: Sql;
}

/**
 * Sales by key: the sums, orders after the watermark, and corrections of changed days. Orders are summed per source:
 * PostgreSQL can parallelize that as long as there are no sums.
 */
function salesFrom({ sums, isCounted, key, value }: Source, watermark: Watermark, filter: SalesFilter): Sql {
  const linesFrom = (lines: Sql) => sql`
    select ${value} as ${key}, sum(quantity), sum(line_total) ${lines} and ${isCountedOrder(filter)} group by ${key}`;
  const corrections = sql`
    union all ${linesFrom(linesOfChanges(watermark))}
    union all
    select ${key}, -units_sold, -total_sales
    ${sumsOfChanges(watermark, raw('sales_by_partner_and_day'))} and ${isCountedDay(filter)}`;
  return sql`
    from (
      select ${key}, units_sold, total_sales from ${sums} where ${watermark.hasSums} and ${isCounted}
      union all ${linesFrom(linesAfterWatermark(watermark))}
      ${watermark.changedPartners.length > 0 ? corrections : raw('')}
    ) as sale
  `;
}

/** Corrections can cancel out. */
const isAny = raw('sum(units_sold) <> 0');

/** Only these sums are of partners and days. */
const bothSums = raw('sales_by_partner_and_day');

function salesOfPartners(filter: SalesFilter): Source {
  const partner = { key: raw('partner_name'), value: raw('partner_name') };
  if (isOfRange(filter)) return { sums: bothSums, isCounted: isCountedDay(filter), ...partner };
  const isCounted = allOf([isOfPartner(filter), isInCurrency(filter)]);
  return { sums: raw('sales_by_partner'), isCounted, ...partner };
}

function salesOfDays(filter: SalesFilter): Source {
  const day = { key: raw('sales_day'), value: salesDay };
  if (isOfOnePartner(filter)) return { sums: bothSums, isCounted: isCountedDay(filter), ...day };
  const isCounted = allOf([isInCurrency(filter), dayIn(filter, day.key)]);
  return { sums: raw('sales_by_day'), isCounted, ...day };
}

/** Rounds half away from zero. */
export const roundedAmount = (sum: string): Sql => raw(`cast(round(${sum}, 2) as text)`);

const unitsSold = raw('cast(sum(units_sold) as bigint) as units_sold');

/** Runs a statement over `salesFrom`. Reads the watermark first, as values that the planner can use. */
async function selectSales<Row>(
  trx: Knex.Transaction,
  source: Source,
  toSql: (sales: Sql) => Sql,
  filter: SalesFilter,
): Promise<Row[]> {
  const watermark = await getWatermark(trx);
  if (watermark.hasSums) await expectFewRows(trx);
  return queryRows<Row>(trx, toSql(salesFrom(source, watermark, filter)));
}

/** Units and sales per partner, by sales descending. @param trx - a snapshot, see `inSnapshot` */
export function salesByPartner(trx: Knex.Transaction, filter: SalesFilter): Promise<PartnerSalesRow[]> {
  return selectSales(
    trx,
    salesOfPartners(filter),
    (sales) => sql`
      select partner_name, ${unitsSold}, ${roundedAmount('sum(total_sales)')} as total_sales ${sales}
      group by partner_name having ${isAny}
      order by sum(total_sales) desc, partner_name`,
    filter,
  );
}

const formatOfGrain: Record<Grain, string> = { daily: 'YYYY-MM-DD', monthly: 'YYYY-MM' };

/**
 * Units and sales per UTC period, in chronological order; periods without sales are omitted.
 * @param trx - a snapshot, see `inSnapshot`
 */
export function salesOverTime(
  trx: Knex.Transaction,
  grain: Grain,
  filter: SalesFilter,
): Promise<PeriodSalesRow[]> {
  return selectSales(
    trx,
    salesOfDays(filter),
    (sales) => sql`
      select to_char(sales_day, ${formatOfGrain[grain]}) as sales_period, ${unitsSold}, ${roundedAmount('sum(total_sales)')} as total_sales
      ${sales}
      group by sales_period having ${isAny}
      order by sales_period`,
    filter,
  );
}

/**
 * Revenue per partner and its share; 0 if the total is 0.
 * @param trx - a snapshot, see `inSnapshot`
 */
export function revenueShare(trx: Knex.Transaction, filter: SalesFilter): Promise<PartnerRevenueRow[]> {
  return selectSales(
    trx,
    salesOfPartners(filter),
    (sales) => sql`
      select partner_name, ${roundedAmount('revenue')} as total_revenue,
        coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
      from (
        select partner_name, sum(total_sales) as revenue ${sales} group by partner_name having ${isAny}
      ) as partner
      order by revenue desc, partner_name`,
    filter,
  );
}
