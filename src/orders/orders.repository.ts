import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { orderNotFound } from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { toPage, type Page } from '../shared/pagination';
import { publishEventsSql } from '../events/outbox';

/** An order. Amounts are decimal texts, exact. */
interface OrderRow {
  order_id: number;
  partner_name: string;
  customer_reference: string | null;
  status: 'created';
  total_amount: string;
  currency: string;
  created_at: Date;
}

/** A line of an order. */
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

/** An order with its lines, in the order in which they were given. */
export type OrderWithItems = OrderRow & { items: OrderItemRow[] };

/** What an order needs to know of a product. */
export interface OrderableRow {
  product_id: number;
  /** Of its supplier. */
  partner_name: string;
  sku: string;
  product_name: string;
  price: string | null;
  currency: string | null;
  availability: string | null;
}

/** The products with these numbers; numbers that are unknown are left out. */
export async function findProductsToOrder(db: Database, productIds: number[]): Promise<OrderableRow[]> {
  const sql = `
    select product_id, partner_name, sku, product_name, price, currency, availability
    from products join partners using (partner_id)
    where product_id = any (?)
  `;
  return queryRows<OrderableRow>(db, sql, [productIds], true);
}

/** A line to create; `unit_price` is a decimal text. */
export type NewOrderItem = Pick<
  OrderItemRow,
  'product_id' | 'sku' | 'product_name' | 'quantity' | 'unit_price'
>;

/** An order to create. */
export interface NewOrder {
  partnerName: string;
  customerReference: string | null;
  currency: string;
  items: NewOrderItem[];
}

/**
 * One statement for any number of orders, so that an order without its items cannot exist. Line totals and their sum are
 * exact decimals. Each order's number is drawn before its row: it tells whose the items are. The events go into the queue
 * because the end asks how many they were.
 */
const insertOrdersSql = `
  with line as materialized (
    select *, unit_price * quantity as line_total
    from unnest(
      cast(? as integer[]), cast(? as bigint[]), cast(? as text[]), cast(? as text[]), cast(? as integer[]),
      cast(? as numeric[])
    ) with ordinality as given (given_order, product_id, sku, product_name, quantity, unit_price, position)
  ), head as materialized (
    select *, nextval(pg_get_serial_sequence('orders', 'order_id')) as order_id
    from (
      select given_order, partner_name, customer_reference, currency, sum(line_total) as total_amount
      from unnest(
        cast(? as text[]), cast(? as text[]), cast(? as text[])
      ) with ordinality as given (partner_name, customer_reference, currency, given_order)
      join line using (given_order)
      group by given_order, partner_name, customer_reference, currency
      order by given_order
    ) as sorted
  ), new_order as (
    insert into orders (order_id, partner_name, customer_reference, currency, total_amount)
    overriding system value
    select order_id, partner_name, customer_reference, currency, total_amount from head
    returning *
  ), new_item as (
    insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
    select order_id, product_id, sku, product_name, quantity, unit_price, line_total
    from head join line using (given_order)
    order by position
    returning *
  )
  select
    order_id, partner_name, customer_reference, status, total_amount, currency, created_at,
    order_item_id, product_id, sku, product_name, quantity, unit_price, line_total
  from new_order join new_item using (order_id)
  where (${publishEventsSql(`
    select 'order.created' as event_type, partner_name, json_build_object('order_id', order_id) as content from new_order
  `)}) is not null
  order by order_item_id
`;

/** Creates orders with their lines, all of them or none. @returns them in the order given */
export async function insertOrders(db: Database, orders: NewOrder[]): Promise<OrderWithItems[]> {
  const items = orders.flatMap((order) => order.items);
  const bindings = [
    orders.flatMap((order, at) => order.items.map(() => at + 1)),
    items.map((item) => item.product_id),
    items.map((item) => item.sku),
    items.map((item) => item.product_name),
    items.map((item) => item.quantity),
    items.map((item) => item.unit_price),
    orders.map((order) => order.partnerName),
    orders.map((order) => order.customerReference),
    orders.map((order) => order.currency),
  ];
  const rows = await queryRows<OrderRow & OrderItemRow>(db, insertOrdersSql, bindings as Knex.Value[], true);
  const created: OrderWithItems[] = [];
  for (const row of rows) {
    if (created.at(-1)?.order_id === row.order_id) created.at(-1)!.items.push(row);
    else created.push({ ...row, items: [row] });
  }
  return created;
}

/** The order with this number and its lines; null when there is none in the scope. */
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

/** Whether there is an order with this number in the scope. */
export async function orderExists(db: Database, orderId: number, scope: PartnerScope): Promise<boolean> {
  const order = await db<OrderRow>('orders')
    .where({ order_id: orderId, ...within(scope) })
    .first('order_id');
  return order !== undefined;
}

function within(scope: PartnerScope): { partner_name?: string } {
  return scope === null ? {} : { partner_name: scope };
}

/** Which orders to list, and from where on. */
interface OrderListing {
  scope: PartnerScope;
  partnerName?: string;
  /** The order after which the page starts. */
  afterOrderId?: number;
  limit: number;
}

/** Orders by time of creation, newest first; of orders of the same moment the one with the higher number first. */
export async function listOrders(db: Database, page: OrderListing): Promise<Page<OrderWithItems>> {
  const query = db<OrderRow>('orders')
    .where(within(page.scope))
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'order_id', order: 'desc' },
    ])
    // One more than asked for, which tells whether more exist.
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
