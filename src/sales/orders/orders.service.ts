import type { components } from '../../../generated/openapi';
import { isDatabaseUnavailable, isNodeLost, type Database } from '../../base/db/database';
import { mixedCurrencies, orderedProductNotFound, productNotAvailable } from '../../base/errors';
import { parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { poolLimits } from '../../base/db/dialect';
import { createBatcher, type Settled } from '../../base/concurrency/batcher';
import type { KeyedRequest } from '../../http/idempotency/idempotency.repository';
import { oncePerKey, replayClaim, type Outcome } from '../../http/idempotency/idempotency.service';
import { parseJson } from '../../base/exact-json';
import { createKeyedOrders, createOrders, type Creation } from './orders.creation';

type Order = components['schemas']['Order'];

/** Concurrent batches. With two, each half as large, Node.js and PostgreSQL take a third longer per order. */
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

/** Whether the outcome of orders is unknown, and further ones would fail too. Without a node of Citus, other partners' orders succeed. */
const isOutage = (error: unknown) => isDatabaseUnavailable(error) && !isNodeLost(error);

const batchLimits = {
  tasksMax: ordersPerBatch,
  sizeMax: orderItemsPerBatch,
  sizeOf: ({ items }: OrderRequest) => items.length,
  concurrentMax: orderBatches,
  waitingMax: poolLimits.waitersMax,
  failsWaiting: isOutage,
};

/**
 * Creates orders at current prices, concurrent ones in one statement. Each succeeds or fails separately, as in `createOrders`.
 * @returns a function that throws product_not_found, product_not_available, mixed_currencies
 */
export function createOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest) => Promise<Order> {
  return createBatcher(batchLimits, (requests: OrderRequest[]) =>
    createEach(requests, async (all) => {
      const created = await createOrders(db, all.map(toRequested), defaultCurrency);
      return created.map((one, at) => settle(() => orderOf(one, all[at]!)));
    }),
  );
}

/**
 * Creates orders once per key, in batches as `createOrderBatcher` does.
 * @returns a function that throws the same, and idempotent_request_in_progress, idempotency_key_used
 */
export function createKeyedOrderBatcher(
  db: Database,
  defaultCurrency: string,
): (request: OrderRequest & KeyedRequest) => Promise<Outcome<Order>> {
  const execute = createBatcher(batchLimits, (requests: (OrderRequest & KeyedRequest)[]) =>
    createEach(requests, async (all) => {
      const created = await createKeyedOrders(db, all.map(toRequested), defaultCurrency);
      return created.map((one, at) =>
        settle(() =>
          'is_claimed' in one
            ? replayClaim<Order>(one, all[at]!.requestDigest)
            : { responseBody: orderOf(one, all[at]!), replayed: false },
        ),
      );
    }),
  );
  return oncePerKey(execute);
}

/** Creates orders in one statement; if the database refuses it, one by one, so that only the failing one is rejected. */
async function createEach<Request, T>(
  requests: Request[],
  create: (requests: Request[]) => Promise<Settled<T>[]>,
): Promise<Settled<T>[]> {
  try {
    return await create(requests);
  } catch (error) {
    if (requests.length === 1 || isOutage(error)) return requests.map(() => ({ error }));
  }
  const settled: Settled<T>[] = [];
  for (const request of requests) {
    const last = settled.at(-1);
    if (last && 'error' in last && isOutage(last.error)) settled.push(last);
    else settled.push(...(await createEach([request], create)));
  }
  return settled;
}

function settle<T>(work: () => T): Settled<T> {
  try {
    return { result: work() };
  } catch (error) {
    return { error };
  }
}

function toRequested<Request extends OrderRequest>(request: Request) {
  const items = request.items.map(({ productId, quantity }) => ({
    productId: parseId('PR', productId),
    quantity,
  }));
  return { ...request, items };
}

/** @throws as `createOrderBatcher` */
function orderOf(creation: Creation, { items }: OrderRequest): Order {
  if ('body' in creation) return parseJson(creation.body) as Order;
  if (creation.problem === 'mixed_currencies') throw mixedCurrencies();
  const { productId } = items[creation.itemIndex]!;
  throw creation.problem === 'product_not_found'
    ? orderedProductNotFound(productId)
    : productNotAvailable(productId);
}
