import type { Knex } from 'knex';
import { queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';

/**
 * The watermark of the sales sums: the orders that they contain. Readers add the others.
 * Orders commit in any order, so neither time nor order number can be a watermark. Each order has the id of its
 * transaction, and the sums have the snapshot of the statement that wrote them: they contain exactly the orders that this
 * snapshot sees. Readers read sums, snapshot and orders in one snapshot.
 * Triggers record partner and day of all other changes of orders. Readers compute these days from the orders until the
 * next roll-up has rebuilt them.
 */
export interface Watermark {
  /** False: the sums are unusable. They do not exist yet, come from another server, or too many days have changed. */
  hasSums: boolean;
  /** False: the sums by product are unusable, or a release that does not know them has rolled up since. */
  hasProductSums: boolean;
  /** The first transaction id whose orders are not in the sums. */
  from: string;
  /** Earlier transactions that were in progress: their orders are not in the sums either. */
  inProgress: string[];
  /** Changed days: pairs of partner and day at the same index. */
  changedPartners: string[];
  changedDays: string[];
}

/** With more changed days than this, reading all orders is as fast. */
const changesMax = 1_000;

/**
 * Whether this server wrote the row: a restored copy has another `xmin`. Transaction ids of another server have no
 * meaning here.
 */
export const isOwnSql = raw('sales_rollup.xmin = cast(sales_rollup.transaction_id as xid)');

const watermarkSql = sql`
  select has_sums as "hasSums", has_sums and has_products as "hasProductSums",
    cast(case when has_sums then pg_snapshot_xmax(seen) else '1' end as text) as from,
    cast(case when has_sums then array (select pg_snapshot_xip(seen)) else '{}' end as text[]) as "inProgress",
    case when has_sums then partners else '{}' end as "changedPartners",
    case when has_sums then days else '{}' end as "changedDays"
  from (
    select seen, partners, days, coalesce(product_transaction_id = transaction_id, false) as has_products,
      coalesce(${isOwnSql}, false) and not is_all and changes <= ${raw(changesMax)} as has_sums
    from (
      select count(*) as changes, coalesce(bool_or(partner_name is null), false) as is_all,
        coalesce(array_agg(cast(partner_name as text)), '{}') as partners,
        coalesce(array_agg(cast(sales_day as text)), '{}') as days
      from (select distinct partner_name, sales_day from sales_changes limit ${raw(changesMax + 1)}) as change
    ) as change
    left join sales_rollup on true
  ) as rollup
`;

export async function getWatermark(trx: Knex.Transaction): Promise<Watermark> {
  const [watermark] = await queryRows<Watermark>(trx, watermarkSql);
  return watermark!;
}

const isAfterWatermark = ({ from, inProgress }: Watermark): Sql => sql`
  (orders.transaction_id >= cast(${from} as xid8) or orders.transaction_id = any (cast(${inProgress} as xid8[])))`;

/** Items of orders after the watermark. */
export const linesAfterWatermark = (watermark: Watermark): Sql =>
  sql`from orders join order_items using (order_id) where ${isAfterWatermark(watermark)}`;

export const changedSql = ({ changedPartners, changedDays }: Watermark): Sql =>
  sql`unnest(cast(${changedPartners} as text[]), cast(${changedDays} as date[]))`;

/** Items that the sums of the changed days should contain. */
export const linesOfChanges = (watermark: Watermark): Sql => sql`
  from ${changedSql(watermark)} as change (partner_name, changed_day)
  join orders using (partner_name) join order_items using (order_id)
  where orders.created_at >= cast(changed_day as timestamp) at time zone 'UTC'
    and orders.created_at < cast(changed_day + 1 as timestamp) at time zone 'UTC' and not ${isAfterWatermark(watermark)}`;

/** Sums of the changed days. @param table - with partner and day in its key */
export const sumsOfChanges = (watermark: Watermark, table: Sql): Sql => sql`
  from ${changedSql(watermark)} as change (partner_name, sales_day)
  join ${table} using (partner_name, sales_day)
  where true`;

export const salesDay = raw(`cast(orders.created_at at time zone 'UTC' as date)`);

/** Measures the roll-up lag: age in seconds of the oldest order that is not in the sums; 0 if all are. */
export function measureSalesLag(db: Database): Promise<number> {
  return inTransaction(db, 'request', async (trx) => {
    const watermark = await getWatermark(trx);
    const [row] = await queryRows<{ seconds: number }>(
      trx,
      sql`select cast(greatest(extract(epoch from now() - min(created_at)), 0) as double precision) as seconds
       from orders where ${isAfterWatermark(watermark)}`,
    );
    return row!.seconds;
  });
}
