import type { Database } from '../db/database';

/** An order. Amounts are decimal texts, exact. */
export interface OrderRow {
  order_id: number;
  partner_name: string;
  customer_reference: string | null;
  status: 'created';
  total_amount: string;
  currency: string;
  created_at: Date;
}

/** A line of an order. */
export interface OrderItemRow {
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
  sku: string;
  product_name: string;
  price: string | null;
  currency: string | null;
  availability: string | null;
}

/** The products with these numbers; unknown numbers are left out. */
export async function findProductsToOrder(db: Database, productIds: number[]): Promise<OrderableRow[]> {
  const { rows } = await db.raw<{ rows: OrderableRow[] }>(
    `select product_id, sku, product_name, price, currency, availability
     from products where product_id = any (?)`,
    [productIds],
  );
  return rows;
}

/** A line to create; `unit_price` is a decimal text. */
export type NewOrderItem = Pick<
  OrderItemRow,
  'product_id' | 'sku' | 'product_name' | 'quantity' | 'unit_price'
>;

/** One statement, so that an order without its items cannot exist. Line totals and their sum are exact decimals. */
const insertOrderSql = `
  with line as (
    select position, product_id, sku, product_name, quantity, unit_price, unit_price * quantity as line_total
    from unnest(
      cast(:productIds as bigint[]), cast(:skus as text[]), cast(:productNames as text[]),
      cast(:quantities as integer[]), cast(:unitPrices as numeric[])
    ) with ordinality as given (product_id, sku, product_name, quantity, unit_price, position)
  ), new_order as (
    insert into orders (partner_name, customer_reference, currency, total_amount)
    select :partnerName, :customerReference, :currency, sum(line_total) from line
    returning *
  ), new_item as (
    insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
    select order_id, product_id, sku, product_name, quantity, unit_price, line_total
    from new_order cross join line
    order by position
    returning *
  )
  select
    new_order.*, new_item.order_item_id, new_item.product_id, new_item.sku, new_item.product_name,
    new_item.quantity, new_item.unit_price, new_item.line_total
  from new_order cross join new_item
  order by new_item.order_item_id
`;

/** Creates an order with its lines. */
export async function insertOrder(
  db: Database,
  order: { partnerName: string; customerReference: string | null; currency: string; items: NewOrderItem[] },
): Promise<OrderWithItems> {
  const { items, ...head } = order;
  const { rows } = await db.raw<{ rows: (OrderRow & OrderItemRow)[] }>(insertOrderSql, {
    ...head,
    productIds: items.map((item) => item.product_id),
    skus: items.map((item) => item.sku),
    productNames: items.map((item) => item.product_name),
    quantities: items.map((item) => item.quantity),
    unitPrices: items.map((item) => item.unit_price),
  } as never);
  return { ...rows[0]!, items: rows };
}

/** The order with this number and its lines; null when there is none. */
export async function findOrder(db: Database, orderId: number): Promise<OrderWithItems | null> {
  const order = await db<OrderRow>('orders').where('order_id', orderId).first();
  if (!order) return null;
  const [withItems] = await attachItems(db, [order]);
  return withItems!;
}

/** Whether there is an order with this number. */
export async function orderExists(db: Database, orderId: number): Promise<boolean> {
  return (await db('orders').where('order_id', orderId).first('order_id')) !== undefined;
}

/** Orders by time of creation, newest first; of orders of the same moment the one with the higher number first. */
export async function listOrders(
  db: Database,
  page: { partnerName?: string; afterOrderId?: number; limit: number },
): Promise<OrderWithItems[]> {
  const query = db<OrderRow>('orders')
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'order_id', order: 'desc' },
    ])
    .limit(page.limit);
  if (page.partnerName !== undefined) void query.where('partner_name', page.partnerName);
  if (page.afterOrderId !== undefined) {
    void query.whereRaw(
      '(created_at, order_id) < (select created_at, order_id from orders where order_id = ?)',
      [page.afterOrderId],
    );
  }
  return attachItems(db, await query);
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
