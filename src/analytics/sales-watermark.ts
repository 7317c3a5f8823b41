import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';

/**
 * Which orders the sums of sales contain. A reader adds the others.
 *
 * Neither a clock nor order numbers can tell, as orders commit in any order: each order has the id of its transaction, and
 * beside the sums is the snapshot of the statement that made them. The sums contain exactly the orders whose transaction that
 * snapshot sees. A reader sees sums, snapshot and orders of one moment.
 *
 * Triggers note the partner and day of every other change of orders: readers replace these sums by their orders until the
 * next roll-up has rebuilt them.
 */
export interface Watermark {
  /** False: the sums do not count. They were never made, come from another server, or too much has changed. */
  hasSums: boolean;
  /** The sums contain no order of this transaction and all later ones, */
  from: string;
  /** nor of these earlier ones, which were in progress. */
  open: string[];
  /** The partners and days that are noted as changed: pairs at the same index. */
  changedPartners: string[];
  changedDays: string[];
}

/** With more changed days than this, reading all orders is as fast. */
const changesMax = 1_000;

/**
 * The row was written here: a copy of it, by a dump for example, is written by a transaction with another number. The ids of
 * another server mean nothing.
 */
export const isOwnSql = 'sales_rollup.xmin = cast(sales_rollup.transaction_id as xid)';

const watermarkSql = `
  select has_sums as "hasSums",
    cast(case when has_sums then pg_snapshot_xmax(seen) else '1' end as text) as from,
    cast(case when has_sums then array (select pg_snapshot_xip(seen)) else '{}' end as text[]) as open,
    case when has_sums then partners else '{}' end as "changedPartners",
    case when has_sums then days else '{}' end as "changedDays"
  from (
    select seen, partners, days, coalesce(${isOwnSql}, false) and not is_all and changes <= ${changesMax} as has_sums
    from (
      select count(*) as changes, coalesce(bool_or(partner_name is null), false) as is_all,
        coalesce(array_agg(cast(partner_name as text)), '{}') as partners,
        coalesce(array_agg(cast(sales_day as text)), '{}') as days
      from (select distinct partner_name, sales_day from sales_changes limit ${changesMax + 1}) as change
    ) as change
    left join sales_rollup on true
  ) as rollup
`;

/** Reads which orders are in the sums, in the snapshot of the transaction. */
export async function getWatermark(trx: Knex.Transaction): Promise<Watermark> {
  const { rows } = await trx.raw<{ rows: [Watermark] }>(watermarkSql);
  return rows[0];
}

const isBeyond = `
  (orders.transaction_id >= cast(:from as xid8) or orders.transaction_id = any (cast(:open as xid8[])))`;

/** The lines of the orders that are not in the sums. Its bindings, as those of what follows, are a watermark's. */
export const linesBeyond = `from orders join order_items using (order_id) where ${isBeyond}`;

/** The partners and days that are noted as changed. */
export const changedSql = 'unnest(cast(:changedPartners as text[]), cast(:changedDays as date[]))';

/** The lines that should be in the sums of the days that are noted as changed. */
export const linesOfChanges = `
  from ${changedSql} as change (partner_name, changed_day)
  join orders using (partner_name) join order_items using (order_id)
  where orders.created_at >= cast(changed_day as timestamp) at time zone 'UTC'
    and orders.created_at < cast(changed_day + 1 as timestamp) at time zone 'UTC' and not ${isBeyond}`;

/** The sums of the days that are noted as changed. */
export const sumsOfChanges = `
  from ${changedSql} as change (partner_name, sales_day)
  join sales_by_partner_and_day using (partner_name, sales_day)
  where true`;

/** The UTC day of an order. */
export const salesDay = `cast(orders.created_at at time zone 'UTC' as date)`;

/** Measures how far the sums are behind: the age in seconds of the oldest order that is not in them; 0 when all are. */
export function measureSalesLag(db: Database): Promise<number> {
  return inTransaction(db, 'request', async (trx) => {
    const { rows } = await trx.raw<{ rows: [{ seconds: number }] }>(
      `select cast(greatest(extract(epoch from now() - min(created_at)), 0) as double precision) as seconds
       from orders where ${isBeyond}`,
      (await getWatermark(trx)) as never,
    );
    return rows[0].seconds;
  });
}
