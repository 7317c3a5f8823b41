import type { components } from '../../generated/openapi';
import { isOrderableAvailability } from '../feed-format/availability';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { isDistributed } from '../db/layout';
import { mixedCurrencies, orderedProductNotFound, productNotAvailable } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { databaseWaiting } from '../db/dialect';
import { createBatcher, type Settled } from '../shared/batcher';
import { createIdempotentBatcher, type KeyedRequest, type Outcome } from '../idempotency/idempotency.service';
import { orderBody } from './orders.body';
import {
  findProductsToOrder,
  insertOrders,
  type NewOrder,
  type NewOrderItem,
  type OrderableRow,
  type OrderWithItems,
} from './orders.repository';

type Order = components['schemas']['Order'];

/** Concurrent batches. With two, which are half as large, Node.js and PostgreSQL take a third longer for each order. */
const orderBatches = 1;

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

const batchLimits = {
  tasksMax: ordersPerBatch,
  sizeMax: orderItemsPerBatch,
  sizeOf: ({ items }: OrderRequest) => items.length,
  concurrentMax: orderBatches,
  waitingMax: databaseWaiting,
};

/**
 * Creates orders at current prices. Concurrent ones are a batch: one statement reads their products, one inserts the valid
 * orders. Each succeeds or fails on its own: its items are checked in the given order, existence before availability, and the
 * first failing item decides. An order whose product is withdrawn meanwhile is checked again.
 * @returns a function that throws ordered_product_not_found, product_not_available, invalid_order (mixed currencies)
 */
export function createOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest) => Promise<Order> {
  return createBatcher(batchLimits, (requests) => createOrders(db, requests, defaultCurrency, insertEach));
}

/**
 * Creates orders once per key, in batches as `createOrderBatcher` does, with a transaction for each batch.
 * @returns a function that throws the same, and idempotent_request_in_progress, idempotency_key_used
 */
export function createKeyedOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest & KeyedRequest) => Promise<Outcome<Order>> {
  return createIdempotentBatcher<OrderRequest & KeyedRequest, Order>(db, batchLimits, async (trx, requests) =>
    // A lost node would abort the transaction of all orders of the batch.
    createOrders(trx, requests, defaultCurrency, insertAll, (await isDistributed(db)) ? db : trx),
  );
}

async function createOrders(
  db: Database,
  requests: OrderRequest[],
  defaultCurrency: string,
  insert: (db: Database, orders: NewOrder[]) => Promise<Inserted[]>,
  productsDb = db,
): Promise<Settled<Order>[]> {
  const productIds = requests.flatMap(({ items }) => items.map((item) => parseId('PR', item.productId)));
  const known = [...new Set(productIds.filter((productId) => productId !== undefined))];
  const products = await findProductsToOrder(productsDb, known);
  const checked = requests.map((request): Settled<NewOrder> => {
    try {
      return { result: priceOrder(request, products, defaultCurrency) };
    } catch (error) {
      return { error };
    }
  });
  const good = checked.flatMap((one) => ('result' in one ? [one.result] : []));
  const created = good.length > 0 ? await insert(db, good) : [];
  let next = 0;
  const inserted = checked.map((one) => ('error' in one ? one : created[next++]!));
  const again = requests.filter((_, at) => inserted[at] === 'withdrawn');
  const repeated = again.length > 0 ? await createOrders(db, again, defaultCurrency, insert, productsDb) : [];
  return inserted.map((one) => {
    if (one === 'withdrawn') return repeated.shift()!;
    return 'result' in one ? { result: orderBody(one.result) } : one;
  });
}

/** Outcome of an insert; `withdrawn`: a product was withdrawn after it had been read. */
type Inserted = Settled<OrderWithItems> | 'withdrawn';

/** Inserts all orders in one statement. */
async function insertAll(db: Database, orders: NewOrder[]): Promise<Inserted[]> {
  return (await insertOrders(db, orders)).map((result) => (result ? { result } : 'withdrawn'));
}

/** Inserts all orders in one statement; if it fails, one by one, so that only the failing order is rejected. */
async function insertEach(db: Database, orders: NewOrder[]): Promise<Inserted[]> {
  try {
    return await insertAll(db, orders);
  } catch (error) {
    // The outcome is unknown, and a retry would fail too.
    if (isDatabaseUnavailable(error)) throw error;
    if (orders.length === 1) return [{ error }];
  }
  const settled: Inserted[] = [];
  for (const order of orders) settled.push(...(await insertEach(db, [order])));
  return settled;
}

/** @throws as `createOrderBatcher` says */
function priceOrder(
  { partnerName, customerReference, items, scope }: OrderRequest,
  products: ReadonlyMap<number, Settled<OrderableRow>>,
  defaultCurrency: string,
): NewOrder {
  const currencies = new Set<string>();
  const priced = items.map(({ productId: id, quantity }): NewOrderItem => {
    const found = products.get(parseId('PR', id) ?? 0);
    if (found && 'error' in found) throw found.error;
    const product = found?.result;
    if (!product || (scope !== null && scope !== product.partner_name)) throw orderedProductNotFound(id);
    if (!isOrderable(product)) throw productNotAvailable(id);
    currencies.add(product.currency ?? defaultCurrency);
    const { product_id, sku, product_name, price: unit_price } = product;
    return { product_id, sku, product_name, quantity, unit_price, source: product };
  });
  const [currency, ...otherCurrencies] = currencies;
  if (otherCurrencies.length > 0) throw mixedCurrencies();
  return { partnerName, customerReference, currency: currency!, items: priced };
}

function isOrderable(product: OrderableRow): product is OrderableRow & { price: string } {
  const { price, availability, is_withdrawn } = product;
  return !is_withdrawn && price !== null && isOrderableAvailability(availability);
}
