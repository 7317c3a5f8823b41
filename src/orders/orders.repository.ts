import type { Database } from '../db/database';
import { orderNotFound } from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { toPage, type Page } from '../shared/pagination';

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
