import type { Knex } from 'knex';
import type { PartnerScope } from '../keys/caller';
import { getFrontier, linesBeyondFrontier, salesDay } from './sales-rollup';

export type Grain = 'daily' | 'monthly';

/** Units and sales of one partner; amounts are decimal texts with two decimals. */
export interface PartnerSalesRow {
  partner_name: string;
  units_sold: number;
  total_sales: string;
}

export interface PeriodSalesRow {
  sales_period: string;
  units_sold: number;
  total_sales: string;
}

export interface PartnerRevenueRow {
  partner_name: string;
  total_revenue: string;
  /** A decimal text. */
  revenue_pct: string;
}

/** Which orders count. */
export interface SalesFilter {
  scope: PartnerScope;
  /** Absent: every currency. */
  currency?: string;
}

const inCurrency = 'and (cast(:currency as text) is null or currency = :currency)';
const ofPartner = 'and (cast(:scope as text) is null or partner_name = :scope)';

/**
 * The sales that count: the sums by a key, and those of the orders that are not in them. The latter are added up by
 * themselves: PostgreSQL can do so in parallel while there are no sums yet.
 */
const salesFrom = (sums: string, { key, value = key }: { key: string; value?: string }) => `
  from (
    select ${key}, units_sold, total_sales from ${sums} ${inCurrency}
    union all
    select ${value} as ${key}, sum(quantity), sum(line_total) ${linesBeyondFrontier} ${inCurrency} ${ofPartner}
    group by ${key}
  ) as sale
`;

const partnerSales = salesFrom(`sales_by_partner where :hasSums ${ofPartner}`, { key: 'partner_name' });

const day = { key: 'sales_day', value: salesDay };
const daySales = salesFrom('sales_by_day where :hasSums', day);
const daySalesOfPartner = salesFrom(`sales_by_partner_and_day where :hasSums ${ofPartner}`, day);

/** Rounds half away from zero. */
const amount = (sum: string) => `cast(round(${sum}, 2) as text)`;

const unitsSold = 'cast(sum(units_sold) as bigint) as units_sold';

/** Runs a statement over `salesFrom`. Where sums end and orders begin is looked up before, as a value that can be planned with. */
async function selectSales<Row>(
  trx: Knex.Transaction,
  sql: string,
  { scope, currency }: SalesFilter,
  more: Record<string, string> = {},
): Promise<Row[]> {
  const frontier = await getFrontier(trx);
  // Few rows then: to start workers or to compile takes longer than to read them, and is planned by a guess.
  if (frontier.hasSums) await trx.raw('set local max_parallel_workers_per_gather = 0; set local jit = off');
  const { rows } = await trx.raw<{ rows: Row[] }>(sql, {
    ...frontier,
    scope,
    currency: currency ?? null,
    ...more,
  } as never);
  return rows;
}

/** Units and sales of each partner, by sales, highest first. @param trx - one that sees one moment, see `inSnapshot` */
export function salesByPartner(trx: Knex.Transaction, filter: SalesFilter): Promise<PartnerSalesRow[]> {
  return selectSales(
    trx,
    `select partner_name, ${unitsSold}, ${amount('sum(total_sales)')} as total_sales ${partnerSales}
     group by partner_name
     order by sum(total_sales) desc, partner_name`,
    filter,
  );
}

const formatOfGrain: Record<Grain, string> = { daily: 'YYYY-MM-DD', monthly: 'YYYY-MM' };

/**
 * Units and sales of each period that has any, earliest first. Periods are of UTC.
 * @param trx - one that sees one moment, see `inSnapshot`
 */
export function salesOverTime(
  trx: Knex.Transaction,
  grain: Grain,
  filter: SalesFilter,
): Promise<PeriodSalesRow[]> {
  return selectSales(
    trx,
    `select to_char(sales_day, :format) as sales_period, ${unitsSold}, ${amount('sum(total_sales)')} as total_sales
     ${filter.scope === null ? daySales : daySalesOfPartner}
     group by sales_period
     order by sales_period`,
    filter,
    { format: formatOfGrain[grain] },
  );
}

/**
 * The share of each partner in the revenue that counts. Where that is zero, every share is zero.
 * @param trx - one that sees one moment, see `inSnapshot`
 */
export function revenueShare(trx: Knex.Transaction, filter: SalesFilter): Promise<PartnerRevenueRow[]> {
  return selectSales(
    trx,
    `select partner_name, ${amount('revenue')} as total_revenue,
       coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
     from (select partner_name, sum(total_sales) as revenue ${partnerSales} group by partner_name) as partner
     order by revenue desc, partner_name`,
    filter,
  );
}
