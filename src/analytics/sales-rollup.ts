import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';

/**
 * Sales are kept as sums, which are made from time to time, and orders that are not in the sums yet are added when
 * somebody asks. What is in the sums is decided by no clock and no order number, as orders are committed in any order: each
 * order has the id of its transaction, and beside the sums is the snapshot of the statement that made them. An order is in
 * the sums exactly when that snapshot sees its transaction; what was going on at that moment is named in it, however long
 * it goes on. A reader sees sums and snapshot of one moment, and the orders of the same.
 */
export interface Frontier {
  /** False: nothing is in the sums, whatever they are. They were never made, or in a database that this is a copy of. */
  hasSums: boolean;
  /** Orders of this transaction and all later ones are not in the sums, */
  from: string;
  /** nor are those of these. */
  open: string[];
}

/** The row was written here: whoever copies it, by a dump for example, writes it in a transaction with another number. */
const isOwn = 'xmin = cast(transaction_id as xid)';

const frontierSql = `
  select ${isOwn} as "hasSums",
    cast(case when ${isOwn} then pg_snapshot_xmax(seen) else '1' end as text) as from,
    cast(case when ${isOwn} then array (select pg_snapshot_xip(seen)) else '{}' end as text[]) as open
  from sales_rollup
`;

/** Which orders are in the sums, in the snapshot of the transaction. */
export async function getFrontier(trx: Knex.Transaction): Promise<Frontier> {
  const { rows } = await trx.raw<{ rows: [Frontier] }>(frontierSql);
  return rows[0];
}

/** The lines of the orders that are not in the sums; its bindings are those of a frontier. */
export const linesBeyondFrontier = `
  from orders join order_items using (order_id)
  where (orders.transaction_id >= cast(:from as xid8) or orders.transaction_id = any (cast(:open as xid8[])))
`;

/** The UTC day of an order. */
export const salesDay = `cast(orders.created_at at time zone 'UTC' as date)`;

/** Waits for nobody: who does not get the row leaves the work to whoever has it. */
const lockSql = `
  ${frontierSql} where rolled_up_at <= now() - :restMilliseconds * interval '1 millisecond' for update skip locked
`;

const addTo = (table: string, key: string) => `
    insert into ${table} as known (${key}, units_sold, total_sales)
    select ${key}, sum(units_sold), sum(total_sales) from sale group by ${key} order by ${key}
    on conflict (${key}) do update
    set units_sold = known.units_sold + excluded.units_sold, total_sales = known.total_sales + excluded.total_sales
`;

/** One statement: the orders that it adds are those that the snapshot sees which it leaves. */
const addSalesSql = `
  with sale as materialized (
    select partner_name, currency, ${salesDay} as sales_day, sum(quantity) as units_sold, sum(line_total) as total_sales
    ${linesBeyondFrontier}
    group by partner_name, currency, sales_day
  ), by_partner as (${addTo('sales_by_partner', 'partner_name, currency')}
  ), by_day as (${addTo('sales_by_day', 'sales_day, currency')}
  ), by_partner_and_day as (${addTo('sales_by_partner_and_day', 'partner_name, sales_day, currency')}
  )
  update sales_rollup
  set seen = pg_current_snapshot(), transaction_id = pg_current_xact_id(), rolled_up_at = now()
  where exists (select from sale)
`;

/**
 * Begins again: ids of another server's transactions would be mistaken for those of this one. Nobody has to wait for it.
 * An order that is committed meanwhile keeps its id, which is of this server.
 */
const forgetSumsSql = `
  update orders set transaction_id = '1' where transaction_id <> '1';
  delete from sales_by_partner;
  delete from sales_by_day;
  delete from sales_by_partner_and_day;
`;

/**
 * Adds the orders that are not in the sums yet. Safe at any time, on any number of processes: one works, and whatever ends
 * it, all of it has happened or nothing. Not to be called in a transaction that has created orders.
 * @param restMilliseconds - how long ago the last time must be
 * @returns whether there was anything to add, and nobody else at it
 */
export function rollUpSales(db: Database, restMilliseconds = 0): Promise<boolean> {
  return inTransaction(db, 'bulk', async (trx) => {
    const { rows } = await trx.raw<{ rows: Frontier[] }>(lockSql, { restMilliseconds });
    const [frontier] = rows;
    if (!frontier) return false;
    if (!frontier.hasSums) await trx.raw(forgetSumsSql);
    const { from, open } = frontier;
    const { rowCount } = await trx.raw<{ rowCount: number }>(addSalesSql, { from, open } as never);
    return rowCount > 0;
  });
}
