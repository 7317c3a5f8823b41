import { queryRows, type Database } from '../../base/db/database';
import { pageBytesMax, type Found } from '../../base/db/page';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import { orderNotFound } from '../../base/errors';
import { formatId, parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { toPage, type Page } from '../../base/pagination';
import { createdIn, type DayRange } from '../../base/db/day-range';
import { itemsJsonSql, orderJsonSql } from './orders.body';

/** An order as JSON, with its items in the order of the request. */
export interface OrderRow {
  order_id: number;
  body: string;
}

/** Joins the JSON of the order in table `orders`. */
const withBody = sql`
  left join lateral (${itemsJsonSql('order_items', raw('order_items.order_id = orders.order_id'))}) as listed on true
  cross join lateral (${orderJsonSql('orders')}) as written`;

export async function findOrder(
  db: Database,
  orderId: number,
  scope: PartnerScope,
): Promise<OrderRow | undefined> {
  const statement = sql`
    select orders.order_id, body from orders ${withBody} where orders.order_id = ${orderId} and ${within(scope)}`;
  const [order] = await queryRows<OrderRow>(db, statement);
  return order;
}

/** @throws order_not_found */
export async function getOrder(db: Database, id: string, scope: PartnerScope): Promise<OrderRow> {
  const orderId = parseId('OR', id);
  const order = orderId === undefined ? undefined : await findOrder(db, orderId, scope);
  if (!order) throw orderNotFound(id);
  return order;
}

export async function orderExists(db: Database, orderId: number, scope: PartnerScope): Promise<boolean> {
  const statement = sql`select from orders where order_id = ${orderId} and ${within(scope)}`;
  return (await queryRows(db, statement)).length > 0;
}

const within = (partnerName: PartnerScope | undefined): Sql =>
  partnerName === null || partnerName === undefined ? raw('true') : sql`partner_name = ${partnerName}`;

interface OrderListing {
  scope: PartnerScope;
  partnerName?: string;
  range: DayRange;
  afterOrderId?: number;
  limit: number;
}

/**
 * Lists orders, newest first; ties by number, descending. Reads the items of an order only while the page has room: for a hundred
 * large orders they take half a second.
 */
export async function listOrders(db: Database, listing: OrderListing): Promise<Page<OrderRow>> {
  const { scope, partnerName, range, afterOrderId, limit } = listing;
  const isAfter =
    afterOrderId === undefined
      ? raw('true')
      : sql`(created_at, order_id) < (select created_at, order_id from orders where order_id = ${afterOrderId})`;
  const newestFirst = raw('order by created_at desc, order_id desc');
  const statement = sql`
    with recursive listed_order as materialized (
      select *, row_number() over (${newestFirst}) as place
      from (
        select * from orders where ${allOf([within(scope), within(partnerName), createdIn(range), isAfter])} ${newestFirst} limit ${limit + 1}
      ) as orders
    ), page as (
      select 0 as place, cast(null as bigint) as order_id, cast(null as text) as body, 0 as bytes
      union all
      select page.place + 1, orders.order_id, written.body, page.bytes + octet_length(written.body)
      from page join listed_order as orders on orders.place = page.place + 1 ${withBody}
      where page.place < ${limit} and page.bytes < ${pageBytesMax}
    )
    select order_id, body, (select count(*) from listed_order) as found
    from page where place = 1 or place > 1 and bytes <= ${pageBytesMax} order by place`;
  const rows = await queryRows<Found<OrderRow>>(db, statement);
  return toPage(rows, limit, ({ order_id }) => formatId('OR', order_id));
}
