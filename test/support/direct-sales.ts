import type { Knex } from 'knex';
import {
  revenueShare,
  salesByPartner,
  salesOverTime,
  type Grain,
  type SalesFilter,
} from '../../src/analytics/analytics.repository';
import type { Database } from '../../src/db/database';
import { inSnapshot } from '../../src/db/transaction';

type Figures = Record<string, unknown[]>;

const lines = `
  from orders join order_items using (order_id)
  where (cast(:currency as text) is null or orders.currency = :currency)
    and (cast(:scope as text) is null or orders.partner_name = :scope)
`;

const directSql = {
  byPartner: `
    select partner_name, cast(sum(quantity) as bigint) as units_sold, cast(round(sum(line_total), 2) as text) as total_sales
    ${lines} group by partner_name order by sum(line_total) desc, partner_name`,
  share: `
    select partner_name, cast(round(revenue, 2) as text) as total_revenue,
      coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
    from (select partner_name, sum(line_total) as revenue ${lines} group by partner_name) as partner
    order by revenue desc, partner_name`,
  daily: overTime('YYYY-MM-DD'),
  monthly: overTime('YYYY-MM'),
};

function overTime(format: string): string {
  return `
    select to_char(orders.created_at at time zone 'UTC', '${format}') as sales_period,
      cast(sum(quantity) as bigint) as units_sold, cast(round(sum(line_total), 2) as text) as total_sales
    ${lines} group by sales_period order by sales_period`;
}

/** All figures, from each line of each order: what they mean, however they are kept. */
export async function directFigures(trx: Knex, { scope, currency }: SalesFilter): Promise<Figures> {
  const figures: Figures = {};
  for (const [name, sql] of Object.entries(directSql)) {
    const { rows } = await trx.raw<{ rows: unknown[] }>(sql, { scope, currency: currency ?? null } as never);
    figures[name] = rows;
  }
  return figures;
}

/** All figures as the service gives them. */
export async function servedFigures(trx: Knex.Transaction, filter: SalesFilter): Promise<Figures> {
  const overTime = (grain: Grain) => salesOverTime(trx, grain, filter);
  return {
    byPartner: await salesByPartner(trx, filter),
    share: await revenueShare(trx, filter),
    daily: await overTime('daily'),
    monthly: await overTime('monthly'),
  };
}

/** Both of one moment, for every combination of the filters. They are to be equal. */
export function figuresOfOneMoment(
  db: Database,
  scopes: readonly (string | null)[],
  currencies: readonly (string | undefined)[],
): Promise<{ served: Figures[]; direct: Figures[] }> {
  return inSnapshot(db, async (trx) => {
    const served: Figures[] = [];
    const direct: Figures[] = [];
    for (const scope of scopes) {
      for (const currency of currencies) {
        served.push(await servedFigures(trx, { scope, currency }));
        direct.push(await directFigures(trx, { scope, currency }));
      }
    }
    return { served, direct };
  });
}
