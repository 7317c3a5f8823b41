import type { Knex } from 'knex';
import type { PartnerScope } from '../shared/caller';
import {
  getWatermark,
  linesAfterWatermark,
  linesOfChanges,
  salesDay,
  sumsOfChanges,
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

const inCurrency = 'and (cast(:currency as text) is null or currency = :currency)';
const ofPartner = 'and (cast(:scope as text) is null or partner_name = :scope)';

interface Source {
  sums: string;
  key: string;
  /** The expression of `key` for an order. */
  value: string;
}

/**
 * Sales by key: the sums, orders after the watermark, and corrections of changed days. Orders are summed per source:
 * PostgreSQL can run that in parallel as long as there are no sums.
 */
const salesFrom = ({ sums, key, value }: Source, hasChanges: boolean) => {
  const linesFrom = (lines: string) => `
    select ${value} as ${key}, sum(quantity), sum(line_total) ${lines} ${inCurrency} ${ofPartner} group by ${key}`;
  const corrections = `
    union all ${linesFrom(linesOfChanges)}
    union all select ${key}, -units_sold, -total_sales ${sumsOfChanges} ${inCurrency} ${ofPartner}`;
  return `
    from (
      select ${key}, units_sold, total_sales from ${sums} ${inCurrency}
      union all ${linesFrom(linesAfterWatermark)}
      ${hasChanges ? corrections : ''}
    ) as sale
  `;
};

/** Corrections can cancel out. */
const isAny = 'sum(units_sold) <> 0';

const partnerSales: Source = {
  sums: `sales_by_partner where :hasSums ${ofPartner}`,
  key: 'partner_name',
  value: 'partner_name',
};
const day = { key: 'sales_day', value: salesDay };
const daySales: Source = { sums: 'sales_by_day where :hasSums', ...day };
const daySalesOfPartner: Source = { sums: `sales_by_partner_and_day where :hasSums ${ofPartner}`, ...day };

/** Rounds half away from zero. */
const amount = (sum: string) => `cast(round(${sum}, 2) as text)`;

const unitsSold = 'cast(sum(units_sold) as bigint) as units_sold';

/** Runs a statement over `salesFrom`. Reads the watermark first, as values that the planner can use. */
async function selectSales<Row>(
  trx: Knex.Transaction,
  source: Source,
  toSql: (sales: string) => string,
  { scope, currency }: SalesFilter,
  more: Record<string, string> = {},
): Promise<Row[]> {
  const watermark = await getWatermark(trx);
  const hasChanges = watermark.changedPartners.length > 0;
  // Few rows: parallel workers and JIT cost more than they save.
  if (watermark.hasSums) await trx.raw('set local max_parallel_workers_per_gather = 0; set local jit = off');
  const { rows } = await trx.raw<{ rows: Row[] }>(toSql(salesFrom(source, hasChanges)), {
    ...watermark,
    scope,
    currency: currency ?? null,
    ...more,
  } as never);
  return rows;
}

/** Units and sales per partner, by sales descending. @param trx - a snapshot, see `inSnapshot` */
export function salesByPartner(trx: Knex.Transaction, filter: SalesFilter): Promise<PartnerSalesRow[]> {
  return selectSales(
    trx,
    partnerSales,
    (sales) => `
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
    (sales) => `
      select to_char(sales_day, :format) as sales_period, ${unitsSold}, ${amount('sum(total_sales)')} as total_sales
      ${sales}
      group by sales_period having ${isAny}
      order by sales_period`,
    filter,
    { format: formatOfGrain[grain] },
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
    (sales) => `
      select partner_name, ${amount('revenue')} as total_revenue,
        coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
      from (
        select partner_name, sum(total_sales) as revenue ${sales} group by partner_name having ${isAny}
      ) as partner
      order by revenue desc, partner_name`,
    filter,
  );
}
