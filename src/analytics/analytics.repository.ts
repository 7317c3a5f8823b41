import type { Database } from '../db/database';

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

/** The lines of all orders, or of those in one currency. `round` rounds numeric half away from zero. */
const sales = `
  from orders join order_items using (order_id)
  where cast(:currency as text) is null or orders.currency = :currency
`;

const formatOfGrain: Record<Grain, string> = { daily: 'YYYY-MM-DD', monthly: 'YYYY-MM' };

/** Units and sales of each partner, by sales, highest first; of orders in one currency, if one is given. */
export async function salesByPartner(db: Database, currency: string | undefined): Promise<PartnerSalesRow[]> {
  const { rows } = await db.raw<{ rows: PartnerSalesRow[] }>(
    `select partner_name, cast(sum(quantity) as bigint) as units_sold, cast(round(sum(line_total), 2) as text) as total_sales
     ${sales}
     group by partner_name
     order by sum(line_total) desc, partner_name`,
    { currency: currency ?? null } as never,
  );
  return rows;
}

/** Units and sales of each period that has any, earliest first. Periods are of UTC. */
export async function salesOverTime(
  db: Database,
  grain: Grain,
  currency: string | undefined,
): Promise<PeriodSalesRow[]> {
  const { rows } = await db.raw<{ rows: PeriodSalesRow[] }>(
    `select to_char(orders.created_at at time zone 'UTC', :format) as sales_period,
       cast(sum(quantity) as bigint) as units_sold, cast(round(sum(line_total), 2) as text) as total_sales
     ${sales}
     group by sales_period
     order by sales_period`,
    { format: formatOfGrain[grain], currency: currency ?? null } as never,
  );
  return rows;
}

/** Where the whole revenue is zero, every share is zero. */
export async function revenueShare(db: Database, currency: string | undefined): Promise<PartnerRevenueRow[]> {
  const { rows } = await db.raw<{ rows: PartnerRevenueRow[] }>(
    `select partner_name, cast(round(revenue, 2) as text) as total_revenue,
       coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
     from (select partner_name, sum(line_total) as revenue ${sales} group by partner_name) as partner
     order by revenue desc, partner_name`,
    { currency: currency ?? null } as never,
  );
  return rows;
}
