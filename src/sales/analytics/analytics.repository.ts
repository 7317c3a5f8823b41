import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { PartnerScope } from '../../base/caller';
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

export interface SalesFilter {
  scope: PartnerScope;
  /** Absent: all currencies. */
  currency?: string;
}

interface Source {
  sums: Sql;
  /** Whether the sums are by partner. */
  hasPartners: boolean;
  key: Sql;
  /** The expression of `key` for an order. */
  value: Sql;
}

/**
 * Sales by key: the sums, orders after the watermark, and corrections of changed days. Orders are summed per source:
 * PostgreSQL can parallelize that as long as there are no sums.
 */
function salesFrom(
  { sums, hasPartners, key, value }: Source,
  watermark: Watermark,
  { scope, ...filter }: SalesFilter,
): Sql {
  const currency = filter.currency ?? null;
  const inCurrency = sql`and (cast(${currency} as text) is null or currency = ${currency})`;
  const ofPartner = sql`and (cast(${scope} as text) is null or partner_name = ${scope})`;
  const linesFrom = (lines: Sql) => sql`
    select ${value} as ${key}, sum(quantity), sum(line_total) ${lines} ${inCurrency} ${ofPartner} group by ${key}`;
  const corrections = sql`
    union all ${linesFrom(linesOfChanges(watermark))}
    union all select ${key}, -units_sold, -total_sales ${sumsOfChanges(watermark)} ${inCurrency} ${ofPartner}`;
  return sql`
    from (
      select ${key}, units_sold, total_sales
      from ${sums} where ${watermark.hasSums} ${hasPartners ? ofPartner : raw('')} ${inCurrency}
      union all ${linesFrom(linesAfterWatermark(watermark))}
      ${watermark.changedPartners.length > 0 ? corrections : raw('')}
    ) as sale
  `;
}

/** Corrections can cancel out. */
const isAny = raw('sum(units_sold) <> 0');

const partner = { hasPartners: true, key: raw('partner_name'), value: raw('partner_name') };
const partnerSales: Source = { sums: raw('sales_by_partner'), ...partner };
const day = { key: raw('sales_day'), value: salesDay };
const daySales: Source = { sums: raw('sales_by_day'), hasPartners: false, ...day };
const daySalesOfPartner: Source = { sums: raw('sales_by_partner_and_day'), hasPartners: true, ...day };

/** Rounds half away from zero. */
const amount = (sum: string): Sql => raw(`cast(round(${sum}, 2) as text)`);

const unitsSold = raw('cast(sum(units_sold) as bigint) as units_sold');

/** Runs a statement over `salesFrom`. Reads the watermark first, as values that the planner can use. */
async function selectSales<Row>(
  trx: Knex.Transaction,
  source: Source,
  toSql: (sales: Sql) => Sql,
  filter: SalesFilter,
): Promise<Row[]> {
  const watermark = await getWatermark(trx);
  // Few rows: parallel workers and JIT cost more than they save.
  if (watermark.hasSums) {
    await queryRows(trx, raw('set local max_parallel_workers_per_gather = 0; set local jit = off'));
  }
  return queryRows<Row>(trx, toSql(salesFrom(source, watermark, filter)));
}

/** Units and sales per partner, by sales descending. @param trx - a snapshot, see `inSnapshot` */
export function salesByPartner(trx: Knex.Transaction, filter: SalesFilter): Promise<PartnerSalesRow[]> {
  return selectSales(
    trx,
    partnerSales,
    (sales) => sql`
      select partner_name, ${unitsSold}, ${amount('sum(total_sales)')} as total_sales ${sales}
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
    filter.scope === null ? daySales : daySalesOfPartner,
    (sales) => sql`
      select to_char(sales_day, ${formatOfGrain[grain]}) as sales_period, ${unitsSold}, ${amount('sum(total_sales)')} as total_sales
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
    partnerSales,
    (sales) => sql`
      select partner_name, ${amount('revenue')} as total_revenue,
        coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
      from (
        select partner_name, sum(total_sales) as revenue ${sales} group by partner_name having ${isAny}
      ) as partner
      order by revenue desc, partner_name`,
    filter,
  );
}
