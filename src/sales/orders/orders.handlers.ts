import type { Database } from '../../base/db/database';
import { reservedNameError } from '../../catalog/partners/partner-name';
import { invalidCursor, invalidShape, orderWithoutItems } from '../../base/errors';
import { parseId } from '../../base/ids';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import { digestRequest, idempotencyKeyOf, replayedHeader } from '../../http/idempotency/idempotency.service';
import { requirePartner, type PartnerScope } from '../../base/caller';
import { toListBody } from '../../base/pagination';
import { rangeFaults } from '../../base/db/day-range';
import { orderBody } from './orders.body';
import { getOrder, listOrders, orderExists } from './orders.repository';
import { createKeyedOrderBatcher, createOrderBatcher } from './orders.service';

declare module '../../http/contract/contract' {
  interface CheckResults {
    listOrders: number | undefined;
  }
}

/** The operations on orders. @param defaultCurrency - the currency of products without one */
export function orderOperations(
  db: Database,
  defaultCurrency: string,
): OperationsOf<'createOrder' | 'getOrder' | 'listOrders'> {
  const createOrder = createOrderBatcher(db, defaultCurrency);
  const createKeyedOrder = createKeyedOrderBatcher(db, defaultCurrency);
  return {
    createOrder: {
      check({ body }) {
        const items = (body as { items?: unknown } | undefined)?.items;
        if (Array.isArray(items) && items.length === 0) throw orderWithoutItems();
      },
      async handle({ body, sentBody, headers, caller, reply }) {
        const reserved = reservedNameError(body.partner_name, (sentBody as typeof body).partner_name);
        if (reserved) throw invalidShape([reserved]);
        const request = {
          partnerName: await storedPartnerName(db, body.partner_name),
          customerReference: body.customer_reference ?? null,
          items: body.items.map(({ product_id, quantity }) => ({ productId: product_id, quantity })),
          scope: caller.partnerName,
        };
        // 403 precedes the errors of the idempotency key.
        requirePartner(caller.partnerName, request.partnerName);
        const key = idempotencyKeyOf({ caller, headers });
        const outcome = key
          ? await createKeyedOrder({ ...request, key, requestDigest: digestRequest('createOrder', sentBody) })
          : { responseBody: await createOrder(request), replayed: false };
        const { responseBody } = outcome;
        return reply(201, responseBody, {
          Location: `/orders/${responseBody.order_id}`,
          ...replayedHeader(outcome),
        });
      },
    },

    getOrder: {
      async handle({ path, caller, reply }) {
        return reply(200, orderBody(await getOrder(db, path.order_id, caller.partnerName)));
      },
    },

    listOrders: {
      check: ({ query, caller }) => resolveOrderCursor(db, query.cursor, caller.partnerName),
      rule: rangeFaults,
      async handle({ query, checked, caller, reply }) {
        const page = await listOrders(db, {
          scope: caller.partnerName,
          partnerName: query.partner_name && (await storedPartnerName(db, query.partner_name)),
          range: { from: query.from, to: query.to },
          afterOrderId: checked,
          limit: defaulted(query.limit),
        });
        return reply(200, toListBody(page, orderBody));
      },
    },
  };
}

/** @throws invalid_cursor if the cursor is not the id of an order */
async function resolveOrderCursor(
  db: Database,
  cursor: unknown,
  scope: PartnerScope,
): Promise<number | undefined> {
  if (cursor === undefined) return undefined;
  const orderId = typeof cursor === 'string' ? parseId('OR', cursor) : undefined;
  if (orderId === undefined || !(await orderExists(db, orderId, scope))) throw invalidCursor();
  return orderId;
}
