import type { Database } from '../../base/db/database';
import type { OperationsOf } from '../../http/contract/contract';
import { orderItemNotFound, orderNotFound, productNotFound } from '../../base/errors';
import { parseId } from '../../base/ids';
import type { ObjectStore } from '../../base/storage/object-store';
import { locateOrderItem, locateProduct } from './provenance.repository';
import { readSource } from './record-source';

/** Handles the sources of products and order items. */
export function provenanceOperations(
  db: Database,
  objectStore: ObjectStore,
): OperationsOf<'getProductSource' | 'getOrderItemSource'> {
  return {
    getProductSource: {
      async handle({ path, caller, reply }) {
        const productId = parseId('PR', path.product_id);
        const location =
          productId === undefined ? undefined : await locateProduct(db, productId, caller.partnerName);
        if (!location) throw productNotFound(path.product_id);
        return reply(200, await readSource(objectStore, location));
      },
    },

    getOrderItemSource: {
      async handle({ path, caller, reply }) {
        const orderId = parseId('OR', path.order_id);
        const item = { orderId: orderId ?? 0, orderItemId: parseId('OI', path.order_item_id) ?? 0 };
        const location = await locateOrderItem(db, item, caller.partnerName);
        if (!location) throw orderNotFound(path.order_id);
        if (!location.is_known) throw orderItemNotFound(path.order_item_id);
        return reply(200, await readSource(objectStore, location));
      },
    },
  };
}
