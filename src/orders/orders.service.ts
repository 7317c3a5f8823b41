import { isOrderableAvailability } from '../availability';
import type { Database } from '../db/database';
import {
  invalidCursor,
  mixedCurrencies,
  orderNotFound,
  orderedProductNotFound,
  productNotAvailable,
} from '../errors';
import { formatId, parseId } from '../ids';
import { toPage, type Page } from '../page';
import {
  findOrder,
  findProductsToOrder,
  insertOrder,
  listOrders,
  orderExists,
  type NewOrderItem,
  type OrderableRow,
  type OrderWithItems,
} from './orders.repository';

/** What to order; `productId` is an identifier as the caller wrote it. */
export interface OrderRequest {
  partnerName: string;
  customerReference: string | null;
  items: { productId: string; quantity: number }[];
}

/**
 * Creates an order at the prices of this moment. The items are checked in the order given, existence before
 * availability; the first that fails decides.
 * @throws ordered_product_not_found, product_not_available, invalid_order (mixed currencies)
 */
export async function createOrder(
  db: Database,
  request: OrderRequest,
  defaultCurrency: string,
): Promise<OrderWithItems> {
  const productIds = request.items.map((item) => parseId('PR', item.productId));
  const known = productIds.filter((productId) => productId !== undefined);
  const products = new Map(
    (await findProductsToOrder(db, known)).map((product) => [product.product_id, product]),
  );

  const currencies = new Set<string>();
  const items = request.items.map(({ productId: id, quantity }): NewOrderItem => {
    const product = products.get(parseId('PR', id) ?? 0);
    if (!product) throw orderedProductNotFound(id);
    if (!isOrderable(product)) throw productNotAvailable(id);
    currencies.add(product.currency ?? defaultCurrency);
    const { product_id, sku, product_name, price } = product;
    return { product_id, sku, product_name, quantity, unit_price: price };
  });
  const [currency, ...otherCurrencies] = currencies;
  if (otherCurrencies.length > 0) throw mixedCurrencies();

  const { partnerName, customerReference } = request;
  return insertOrder(db, { partnerName, customerReference, currency: currency!, items });
}

function isOrderable(product: OrderableRow): product is OrderableRow & { price: string } {
  const { price, availability } = product;
  return price !== null && isOrderableAvailability(availability);
}

/** @throws order_not_found */
export async function getOrder(db: Database, id: string): Promise<OrderWithItems> {
  const orderId = parseId('OR', id);
  const order = orderId === undefined ? null : await findOrder(db, orderId);
  if (!order) throw orderNotFound(id);
  return order;
}

/** Orders, newest first; those after `afterOrderId`, which `resolveOrderCursor` gives. */
export async function listOrderPage(
  db: Database,
  page: { partnerName?: string; afterOrderId?: number; limit: number },
): Promise<Page<OrderWithItems>> {
  const orders = await listOrders(db, { ...page, limit: page.limit + 1 });
  return toPage(orders, page.limit, ({ order_id }) => formatId('OR', order_id));
}

/** The order that a cursor names. @throws invalid_query unless there is one */
export async function resolveOrderCursor(db: Database, cursor: unknown): Promise<number | undefined> {
  if (cursor === undefined) return undefined;
  const orderId = typeof cursor === 'string' ? parseId('OR', cursor) : undefined;
  if (orderId === undefined || !(await orderExists(db, orderId))) throw invalidCursor();
  return orderId;
}
