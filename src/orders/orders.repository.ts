import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { orderableAvailabilities } from '../feed-format/availability';
import { orderNotFound } from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { toPage, type Page } from '../shared/pagination';
import { publishEventsSql } from '../events/outbox';

/** Amounts are exact decimal texts. */
interface OrderRow {
  order_id: number;
  partner_name: string;
  customer_reference: string | null;
  status: 'created';
  total_amount: string;
  currency: string;
  created_at: Date;
}

interface OrderItemRow {
  order_item_id: number;
  order_id: number;
  product_id: number;
  sku: string;
  product_name: string;
  quantity: number;
  unit_price: string;
  line_total: string;
}

/** Items are in the order of the request. */
export type OrderWithItems = OrderRow & { items: OrderItemRow[] };

/** An order as requested. */
export interface RequestedOrder {
  partnerName: string;
  customerReference: string | null;
  /** `productId`: undefined for a text that is no id. */
  items: { productId: number | undefined; quantity: number }[];
  /** The partner whose products can be ordered. */
  scope: PartnerScope;
}

/** Why an order was not created: the problem of its first item that has one, or of all. */
export type Refusal =
  | { problem: 'product_not_found' | 'product_not_available'; itemIndex: number }
  | { problem: 'mixed_currencies' };

/**
 * Creates orders in one statement, which is a transaction: it reads their products, decides on each order by itself, and inserts the
 * good ones with their items, so that no order can exist without items. Draws order numbers first: items refer to them. The final
 * `where` runs the insert of the events.
 */
const createOrdersSql = `
  with given as materialized (
    select * from unnest(cast(? as text[]), cast(? as text[]), cast(? as text[]))
      with ordinality as given (partner_name, customer_reference, scope, given_order)
  ), line as materialized (
    select * from unnest(cast(? as bigint[]), cast(? as bigint[]), cast(? as integer[]))
      with ordinality as given (given_order, product_id, quantity, position)
  ), priced as materialized (
    select
      given_order, position, line.product_id, sku, product_name, quantity, price as unit_price, price * quantity as line_total,
      coalesce(currency, ?) as currency, run_id, feed_id, record_offset,
      case
        when product.product_id is null or scope <> product.partner_name then 'product_not_found'
        when withdrawn_at is not null or price is null or availability <> all (cast(? as text[])) then 'product_not_available'
      end as problem
    from line
    join given using (given_order)
    left join products_to_order(array(select distinct product_id from line)) as product using (product_id)
  ), decided as materialized (
    select given_order, sum(line_total) as total_amount, min(currency) as currency,
      min(position) filter (where problem is not null) as problem_position,
      coalesce(
        (array_agg(problem order by position) filter (where problem is not null))[1],
        case when min(currency) <> max(currency) then 'mixed_currencies' end
      ) as problem
    from priced group by given_order
  ), head as materialized (
    select *, nextval(pg_get_serial_sequence('orders', 'order_id')) as order_id
    from (select * from decided join given using (given_order) where problem is null order by given_order) as sorted
  ), new_order as (
    insert into orders (order_id, partner_name, customer_reference, currency, total_amount)
    overriding system value
    select order_id, partner_name, customer_reference, currency, total_amount from head
    returning *
  ), new_item as (
    insert into order_items (
      order_id, product_id, sku, product_name, quantity, unit_price, line_total, run_id, feed_id, record_offset
    )
    select
      order_id, product_id, sku, product_name, quantity, unit_price, line_total, run_id, feed_id, record_offset
    from head join priced using (given_order)
    order by position
    returning *
  )
  select
    given_order, problem, problem_position,
    order_id, new_order.partner_name, new_order.customer_reference, status, new_order.total_amount, new_order.currency, created_at,
    order_item_id, product_id, sku, product_name, quantity, unit_price, line_total
  from decided
  left join (select order_id, given_order from head) as numbered using (given_order)
  left join new_order using (order_id)
  left join new_item using (order_id)
  where (${publishEventsSql(`
    select 'order.created' as event_type, partner_name, json_build_object('order_id', order_id) as content from new_order
  `)}) is not null
  order by order_item_id
`;

type CreatedRow = OrderRow &
  OrderItemRow & {
    given_order: number;
    problem: Refusal['problem'] | null;
    /** Of the item, counted from 1 over all orders. */
    problem_position: number;
  };

/**
 * Creates orders at current prices, or refuses them, each by itself: items are checked in the given order, existence before
 * availability, and the first failing one decides. Withdrawals that begin meanwhile wait for the transaction to end.
 * @param defaultCurrency - the currency of products without one
 * @returns each order, or why it was refused, in the given order
 */
export async function createOrders(
  db: Database,
  orders: readonly RequestedOrder[],
  defaultCurrency: string,
): Promise<(OrderWithItems | Refusal)[]> {
  const lines = orders.flatMap(({ items }, at) =>
    items.map(({ productId, quantity }, itemIndex) => ({
      givenOrder: at + 1,
      productId,
      quantity,
      itemIndex,
    })),
  );
  const bindings = [
    orders.map((order) => order.partnerName),
    orders.map((order) => order.customerReference),
    orders.map((order) => order.scope),
    lines.map((line) => line.givenOrder),
    lines.map((line) => line.productId ?? null),
    lines.map((line) => line.quantity),
    defaultCurrency,
    orderableAvailabilities,
  ];
  const rows = await queryRows<CreatedRow>(db, createOrdersSql, bindings as Knex.Value[], true);
  const created = new Array<OrderWithItems | Refusal>(orders.length);
  for (const { given_order, problem, problem_position, ...row } of rows) {
    const at = given_order - 1;
    if (problem === 'mixed_currencies') created[at] = { problem };
    else if (problem) created[at] = { problem, itemIndex: lines[problem_position - 1]!.itemIndex };
    else ((created[at] ??= { ...row, items: [] }) as OrderWithItems).items.push(row);
  }
  return created;
}

export async function findOrder(
  db: Database,
  orderId: number,
  scope: PartnerScope,
): Promise<OrderWithItems | null> {
  const order = await db<OrderRow>('orders')
    .where({ order_id: orderId, ...within(scope) })
    .first();
  if (!order) return null;
  const [withItems] = await attachItems(db, [order]);
  return withItems!;
}

/** @throws order_not_found */
export async function getOrder(db: Database, id: string, scope: PartnerScope): Promise<OrderWithItems> {
  const orderId = parseId('OR', id);
  const order = orderId === undefined ? null : await findOrder(db, orderId, scope);
  if (!order) throw orderNotFound(id);
  return order;
}

export async function orderExists(db: Database, orderId: number, scope: PartnerScope): Promise<boolean> {
  const order = await db<OrderRow>('orders')
    .where({ order_id: orderId, ...within(scope) })
    .first('order_id');
  return order !== undefined;
}

function within(scope: PartnerScope): { partner_name?: string } {
  return scope === null ? {} : { partner_name: scope };
}

interface OrderListing {
  scope: PartnerScope;
  partnerName?: string;
  afterOrderId?: number;
  limit: number;
}

/** Lists orders, newest first; ties by number, descending. */
export async function listOrders(db: Database, page: OrderListing): Promise<Page<OrderWithItems>> {
  const query = db<OrderRow>('orders')
    .where(within(page.scope))
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'order_id', order: 'desc' },
    ])
    // One more row shows whether there is a next page.
    .limit(page.limit + 1);
  if (page.partnerName !== undefined) void query.where('partner_name', page.partnerName);
  if (page.afterOrderId !== undefined) {
    void query.whereRaw(
      '(created_at, order_id) < (select created_at, order_id from orders where order_id = ?)',
      [page.afterOrderId],
    );
  }
  const { items: orders, nextCursor } = toPage(await query, page.limit, ({ order_id }) =>
    formatId('OR', order_id),
  );
  return { items: await attachItems(db, orders), nextCursor };
}

async function attachItems(db: Database, orders: OrderRow[]): Promise<OrderWithItems[]> {
  const { rows } = await db.raw<{ rows: OrderItemRow[] }>(
    'select * from order_items where order_id = any (?) order by order_item_id',
    [orders.map((order) => order.order_id)],
  );
  const byOrder = new Map<number, OrderItemRow[]>(orders.map((order) => [order.order_id, []]));
  for (const item of rows) byOrder.get(item.order_id)!.push(item);
  return orders.map((order) => ({ ...order, items: byOrder.get(order.order_id)! }));
}
