import { isOrderableAvailability } from '../feed-format/availability';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { mixedCurrencies, orderedProductNotFound, productNotAvailable } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { databaseWaiting } from '../db/dialect';
import { createBatcher, type Settled } from '../shared/batcher';
import {
  findProductsToOrder,
  insertOrders,
  type NewOrder,
  type NewOrderItem,
  type OrderableRow,
  type OrderWithItems,
} from './orders.repository';

/** Concurrent batch statements. With 16 clients on two cores, one statement per order takes twice the time. */
const orderStatements = 2;

/** Maximum batch size: a task waits little longer than for a statement of its own. */
const ordersPerBatch = 50;
const orderItemsPerBatch = 1_000;

/** `productId` is the identifier as sent. */
interface OrderRequest {
  partnerName: string;
  customerReference: string | null;
  items: { productId: string; quantity: number }[];
  /** The partner whose products can be ordered. */
  scope: PartnerScope;
}

/**
 * Creates an order at current prices. Checks items in the given order, existence before availability; the first failing
 * item decides.
 * @throws ordered_product_not_found, product_not_available, invalid_order (mixed currencies)
 */
export async function createOrder(
  db: Database,
  request: OrderRequest,
  defaultCurrency: string,
): Promise<OrderWithItems> {
  const [outcome] = await createOrders(db, [request], defaultCurrency);
  if ('error' in outcome!) throw outcome.error;
  return outcome!.result;
}

/**
 * Batches concurrent orders: one statement reads their products, one inserts the valid orders. Each order succeeds or
 * fails on its own, as with `createOrder`.
 */
export function createOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest) => Promise<OrderWithItems> {
  return createBatcher(
    {
      tasksMax: ordersPerBatch,
      sizeMax: orderItemsPerBatch,
      sizeOf: ({ items }) => items.length,
      concurrentMax: orderStatements,
      waitingMax: databaseWaiting,
    },
    (requests) => createOrders(db, requests, defaultCurrency),
  );
}

async function createOrders(
  db: Database,
  requests: OrderRequest[],
  defaultCurrency: string,
): Promise<Settled<OrderWithItems>[]> {
  const productIds = requests.flatMap(({ items }) => items.map((item) => parseId('PR', item.productId)));
  const known = [...new Set(productIds.filter((productId) => productId !== undefined))];
  const products = new Map(
    (await findProductsToOrder(db, known)).map((product) => [product.product_id, product]),
  );
  const checked = requests.map((request): Settled<NewOrder> => {
    try {
      return { result: priceOrder(request, products, defaultCurrency) };
    } catch (error) {
      return { error };
    }
  });
  const good = checked.flatMap((one) => ('result' in one ? [one.result] : []));
  const created = await insertEach(db, good);
  let next = 0;
  return checked.map((one) => ('result' in one ? created[next++]! : one));
}

/** Inserts all orders in one statement; if it fails, one by one, so that only the failing order is rejected. */
async function insertEach(db: Database, orders: NewOrder[]): Promise<Settled<OrderWithItems>[]> {
  if (orders.length === 0) return [];
  try {
    return (await insertOrders(db, orders)).map((result) => ({ result }));
  } catch (error) {
    // The outcome is unknown, and a retry would fail too.
    if (isDatabaseUnavailable(error)) throw error;
    if (orders.length === 1) return [{ error }];
  }
  const settled: Settled<OrderWithItems>[] = [];
  for (const order of orders) settled.push(...(await insertEach(db, [order])));
  return settled;
}

/** @throws as `createOrder` */
function priceOrder(
  { partnerName, customerReference, items, scope }: OrderRequest,
  products: ReadonlyMap<number, OrderableRow>,
  defaultCurrency: string,
): NewOrder {
  const currencies = new Set<string>();
  const priced = items.map(({ productId: id, quantity }): NewOrderItem => {
    const product = products.get(parseId('PR', id) ?? 0);
    if (!product || (scope !== null && scope !== product.partner_name)) throw orderedProductNotFound(id);
    if (!isOrderable(product)) throw productNotAvailable(id);
    currencies.add(product.currency ?? defaultCurrency);
    const { product_id, sku, product_name, price } = product;
    return { product_id, sku, product_name, quantity, unit_price: price };
  });
  const [currency, ...otherCurrencies] = currencies;
  if (otherCurrencies.length > 0) throw mixedCurrencies();
  return { partnerName, customerReference, currency: currency!, items: priced };
}

function isOrderable(product: OrderableRow): product is OrderableRow & { price: string } {
  const { price, availability } = product;
  return price !== null && isOrderableAvailability(availability);
}
