import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { isDistributed } from '../db/layout';
import { orderNotFound } from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { toPage, type Page } from '../shared/pagination';
import type { Settled } from '../shared/batcher';
import { readByNumber, type Owner } from '../db/products-by-number';
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
  is_withdrawn: boolean;
  /** The change that wrote the row; null: a change of an earlier release. */
  run_id: number | null;
  feed_id: number;
  /** Offset of its record in the file of that feed; null: loaded by an earlier release. */
  record_offset: number | null;
}

const orderableColumns = `
  product_id, sku, product_name, price, currency, availability, withdrawn_at is not null as is_withdrawn, run_id, feed_id,
  record_offset`;

/** Finds products by number; unknown numbers are omitted. One on a lost node of Citus has an error. */
export async function findProductsToOrder(
  db: Database,
  productIds: number[],
): Promise<ReadonlyMap<number, Settled<OrderableRow>>> {
  if (await isDistributed(db))
    return readByNumber<OrderableRow & Owner>(db, `partner_id, ${orderableColumns}`, productIds);
  const rows = await queryRows<OrderableRow>(
    db,
    `select partner_name, ${orderableColumns} from products join partners using (partner_id) where product_id = any (?)`,
    [productIds],
    true,
  );
  return new Map(rows.map((row) => [row.product_id, { result: row }]));
}

/** `unit_price` is a decimal text; `source` leads to the record that the values come from. */
export type NewOrderItem = Pick<
  OrderItemRow,
  'product_id' | 'sku' | 'product_name' | 'quantity' | 'unit_price'
> & { source: Pick<OrderableRow, 'run_id' | 'feed_id' | 'record_offset'> };

export interface NewOrder {
  partnerName: string;
  customerReference: string | null;
  currency: string;
  items: NewOrderItem[];
}

/**
 * Inserts any number of orders with their items in one statement, so that no order can exist without items. Draws order
 * numbers first: items refer to them. Leaves out orders with a product that was withdrawn since it was read. The final `where`
 * runs the insert of the events.
 */
const insertOrdersSql = `
  with line as materialized (
    select *, unit_price * quantity as line_total
    from unnest(
      cast(? as integer[]), cast(? as bigint[]), cast(? as text[]), cast(? as text[]), cast(? as integer[]),
      cast(? as numeric[]), cast(? as bigint[]), cast(? as bigint[]), cast(? as bigint[])
    ) with ordinality as given (
      given_order, product_id, sku, product_name, quantity, unit_price, run_id, feed_id, record_offset, position
    )
  ), withdrawn as materialized (
    select product_id from withdrawn_products(array(select distinct product_id from line)) as product_id
  ), head as materialized (
    select *, nextval(pg_get_serial_sequence('orders', 'order_id')) as order_id
    from (
      select given_order, partner_name, customer_reference, currency, sum(line_total) as total_amount
      from unnest(
        cast(? as text[]), cast(? as text[]), cast(? as text[])
      ) with ordinality as given (partner_name, customer_reference, currency, given_order)
      join line using (given_order)
      where given_order not in (select given_order from line join withdrawn using (product_id))
      group by given_order, partner_name, customer_reference, currency
      order by given_order
    ) as sorted
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
    from head join line using (given_order)
    order by position
    returning *
  )
  select
    order_id, partner_name, customer_reference, status, total_amount, currency, created_at,
    order_item_id, product_id, sku, product_name, quantity, unit_price, line_total, given_order
  from new_order join new_item using (order_id) join (select order_id, given_order from head) as given using (order_id)
  where (${publishEventsSql(`
    select 'order.created' as event_type, partner_name, json_build_object('order_id', order_id) as content from new_order
  `)}) is not null
  order by order_item_id
`;

/**
 * Inserts orders with their items, except those with a product that was withdrawn meanwhile.
 * @returns them in the given order; undefined for the excepted ones
 */
export async function insertOrders(
  db: Database,
  orders: NewOrder[],
): Promise<(OrderWithItems | undefined)[]> {
  const items = orders.flatMap((order) => order.items);
  const bindings = [
    orders.flatMap((order, at) => order.items.map(() => at + 1)),
    items.map((item) => item.product_id),
    items.map((item) => item.sku),
    items.map((item) => item.product_name),
    items.map((item) => item.quantity),
    items.map((item) => item.unit_price),
    items.map((item) => item.source.run_id),
    items.map((item) => item.source.feed_id),
    items.map((item) => item.source.record_offset),
    orders.map((order) => order.partnerName),
    orders.map((order) => order.customerReference),
    orders.map((order) => order.currency),
  ];
  const rows = await queryRows<OrderRow & OrderItemRow & { given_order: number }>(
    db,
    insertOrdersSql,
    bindings as Knex.Value[],
    true,
  );
  const created = new Array<OrderWithItems | undefined>(orders.length).fill(undefined);
  for (const { given_order, ...row } of rows) {
    const order = (created[given_order - 1] ??= { ...row, items: [] });
    order.items.push(row);
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
