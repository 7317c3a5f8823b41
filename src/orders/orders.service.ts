import type { components } from '../../generated/openapi';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { mixedCurrencies, orderedProductNotFound, productNotAvailable } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { databaseWaiting } from '../db/dialect';
import { createBatcher, type Settled } from '../shared/batcher';
import { createIdempotentBatcher, type KeyedRequest, type Outcome } from '../idempotency/idempotency.service';
import { orderBody } from './orders.body';
import { createOrders, type Refusal } from './orders.repository';

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
 * Creates orders at current prices, concurrent ones in one statement. Each succeeds or fails on its own, as `createOrders` says.
 * @returns a function that throws ordered_product_not_found, product_not_available, invalid_order (mixed currencies)
 */
export function createOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest) => Promise<Order> {
  return createBatcher(batchLimits, (requests) => createEach(db, requests, defaultCurrency));
}

/**
 * Creates orders once per key, in batches as `createOrderBatcher` does, with a transaction for each batch.
 * @returns a function that throws the same, and idempotent_request_in_progress, idempotency_key_used
 */
export function createKeyedOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest & KeyedRequest) => Promise<Outcome<Order>> {
  return createIdempotentBatcher<OrderRequest & KeyedRequest, Order>(db, batchLimits, (trx, requests) =>
    createTogether(trx, requests, defaultCurrency),
  );
}

async function createTogether(
  db: Database,
  requests: OrderRequest[],
  defaultCurrency: string,
): Promise<Settled<Order>[]> {
  const orders = requests.map((request) => ({
    ...request,
    items: request.items.map(({ productId, quantity }) => ({
      productId: parseId('PR', productId),
      quantity,
    })),
  }));
  const created = await createOrders(db, orders, defaultCurrency);
  return created.map((one, at) =>
    'problem' in one ? { error: errorOf(one, requests[at]!) } : { result: orderBody(one) },
  );
}

/** Creates orders together, or, if the database refuses the statement, one by one, so that only the failing one is rejected. */
async function createEach(
  db: Database,
  requests: OrderRequest[],
  defaultCurrency: string,
): Promise<Settled<Order>[]> {
  try {
    return await createTogether(db, requests, defaultCurrency);
  } catch (error) {
    // The outcome is unknown, and a retry would fail too.
    if (isDatabaseUnavailable(error)) throw error;
    if (requests.length === 1) return [{ error }];
  }
  const settled: Settled<Order>[] = [];
  for (const request of requests) settled.push(...(await createEach(db, [request], defaultCurrency)));
  return settled;
}

function errorOf(refusal: Refusal, { items }: OrderRequest): Error {
  if (refusal.problem === 'mixed_currencies') return mixedCurrencies();
  const { productId } = items[refusal.itemIndex]!;
  return refusal.problem === 'product_not_found'
    ? orderedProductNotFound(productId)
    : productNotAvailable(productId);
}
