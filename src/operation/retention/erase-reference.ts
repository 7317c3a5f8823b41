import { changeRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { formatId } from '../../base/ids';

/** Orders whose reference is erased: by number, or all with one reference. */
export type ErasureSelection = { orderIds: number[] } | { reference: string };

/** Numbers of changed rows. */
export interface ErasureResult {
  orders: number;
  /** Stored responses of requests with an `Idempotency-Key`. */
  replies: number;
  /** Selected numbers without an order. */
  unknown: number[];
}

/** Other members keep their text, including the digits of an amount. */
const eraseInRepliesSql = (orderIds: readonly string[]) => sql`
  update idempotency_keys set response_body = (
    select json_object_agg(key, case when key = 'customer_reference' then cast('null' as json) else value end order by position)
    from json_each(response_body) with ordinality as member (key, value, position)
  )
  where response_body ->> 'order_id' = any (${orderIds}) and response_body ->> 'customer_reference' is not null`;

/**
 * Sets the `customer_reference` of orders to null, also in the stored responses of the requests that created them. Webhooks
 * have no copy: the order is read at each delivery. The sales figures do not depend on it.
 */
export function eraseReferences(db: Database, selection: ErasureSelection): Promise<ErasureResult> {
  return inTransaction(db, 'bulk', async (trx) => {
    const selected =
      'reference' in selection
        ? trx('orders').where('customer_reference', selection.reference)
        : trx('orders').whereIn('order_id', selection.orderIds);
    const orderIds = await selected.pluck<number[]>('order_id');
    const orders = await trx('orders')
      .whereIn('order_id', orderIds)
      .whereNotNull('customer_reference')
      .update({ customer_reference: null });
    const ids = orderIds.map((orderId) => formatId('OR', orderId));
    const replies = await changeRows(trx, eraseInRepliesSql(ids));
    const found = new Set(orderIds);
    const unknown =
      'reference' in selection ? [] : selection.orderIds.filter((orderId) => !found.has(orderId));
    return { orders, replies, unknown };
  });
}
