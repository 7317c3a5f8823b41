import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
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

/** The columns of a product that an order copies or checks. */
export interface OrderableRow {
  product_id: number;
  /** The partner that supplied it. */
  partner_name: string;
  sku: string;
  product_name: string;
  price: string | null;
  currency: string | null;
  availability: string | null;
}

/** Finds products by number; unknown numbers are omitted. */
export async function findProductsToOrder(db: Database, productIds: number[]): Promise<OrderableRow[]> {
  const sql = `
    select product_id, partner_name, sku, product_name, price, currency, availability
    from products join partners using (partner_id)
    where product_id = any (?)
  `;
  return queryRows<OrderableRow>(db, sql, [productIds], true);
}

/** `unit_price` is a decimal text. */
export type NewOrderItem = Pick<
  OrderItemRow,
  'product_id' | 'sku' | 'product_name' | 'quantity' | 'unit_price'
>;

export interface NewOrder {
  partnerName: string;
  customerReference: string | null;
  currency: string;
  items: NewOrderItem[];
}

/**
 * Inserts any number of orders with their items in one statement, so that no order can exist without items. Draws order
 * numbers first: items refer to them. The final `where` runs the insert of the events.
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

/** Inserts orders with their items, all or none. @returns them in the given order */
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
