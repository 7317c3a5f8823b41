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

/**
 * Concurrent statements that create orders; an order that arrives meanwhile joins the next batch. With 16 clients and two cores,
 * one order by one took twice the time.
 */
const orderStatements = 2;

/** Orders that one statement creates, and their items: none waits much longer than for a statement of its own. */
const ordersPerBatch = 50;
const orderItemsPerBatch = 1_000;

/** What to order; `productId` is an identifier as the caller wrote it. */
interface OrderRequest {
  partnerName: string;
  customerReference: string | null;
  items: { productId: string; quantity: number }[];
  /** Whose products can be ordered. */
  scope: PartnerScope;
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
  const [outcome] = await createOrders(db, [request], defaultCurrency);
  if ('error' in outcome!) throw outcome.error;
  return outcome!.result;
}

/**
 * Creates orders that come at the same time with one statement for their products and one for those that can be created.
 * Each is created or refused by itself, as `createOrder` does.
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

/** All at once; if the database refuses that, one by one: then only the one that it minds is refused. */
async function insertEach(db: Database, orders: NewOrder[]): Promise<Settled<OrderWithItems>[]> {
  if (orders.length === 0) return [];
  try {
    return (await insertOrders(db, orders)).map((result) => ({ result }));
  } catch (error) {
    // Nobody knows what became of them, and others would meet the same.
    if (isDatabaseUnavailable(error)) throw error;
    if (orders.length === 1) return [{ error }];
  }
  const settled: Settled<OrderWithItems>[] = [];
  for (const order of orders) settled.push(...(await insertEach(db, [order])));
  return settled;
}

/** The order with what it needs to know of its products. @throws as `createOrder` does */
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
