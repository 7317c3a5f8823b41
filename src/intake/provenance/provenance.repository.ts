import { queryRows, type Database } from '../../base/db/database';
import { productFor } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import type { PartnerScope } from '../../base/caller';
import type { FormatDefinition } from '../../feed-format/format-definition';
import type { Delimiter } from '../../feed-format/delimiter';

/** Place of a record in the raw file of its feed. */
export interface RecordLocation {
  /** Null for an order item of an earlier release. */
  feed_id: number | null;
  /** Null if an earlier release wrote the values. */
  record_offset: number | null;
  /** Named by the record; null only if there is no such order item. */
  sku: string | null;
  /** Digest of the file; null, like the following fields, if the feed is gone. */
  sha256: Buffer | null;
  object_key: string | null;
  size_bytes: number | null;
  /** Also null if no run of this release has loaded the feed. */
  delimiter: Delimiter | null;
  /** How the file is read; null also without a format. */
  format: FormatDefinition | null;
  /** Whether retention has removed the file. */
  is_file_removed: boolean | null;
  /** Digest of the record, kept when its file is removed. */
  record_sha256: Buffer | null;
}

/** Columns of a `RecordLocation` from a table with `feed_id` and `record_offset`, joined with the feeds. */
const locationOf = (table: string) =>
  raw(`
  ${table}.feed_id, ${table}.record_offset, ${table}.sku, feeds.sha256, raw_file_object_key as object_key, size_bytes, delimiter, format_definition as format,
  raw_file_removed_at is not null as is_file_removed,
  (
    select sha256 from source_digests
    where (source_digests.feed_id, source_digests.record_offset) = (${table}.feed_id, ${table}.record_offset)
  ) as record_sha256`);

/** Locates the record of a product. @returns undefined if there is no such product in the scope */
export async function locateProduct(
  db: Database,
  productId: number,
  scope: PartnerScope,
): Promise<RecordLocation | undefined> {
  const product = await productFor(db, productId, scope);
  const statement = sql`
    select ${locationOf('product')} from ${product.as('product')} left join feeds using (feed_id)`;
  const [location] = await queryRows<RecordLocation>(db, statement);
  return location;
}

/** Location of the record of an order item; `is_known` is false if the order has no such item in the scope. */
export type OrderItemLocation = RecordLocation & { is_known: boolean };

/**
 * Locates the record of an order item. An item with a product of another partner is outside of the scope.
 * @returns undefined if there is no such order in the scope
 */
export async function locateOrderItem(
  db: Database,
  { orderId, orderItemId }: { orderId: number; orderItemId: number },
  scope: PartnerScope,
): Promise<OrderItemLocation | undefined> {
  const isOwn = sql`(cast(${scope} as text) is null
    or feeds.partner_id = (select partner_id from partners where partner_name = ${scope}))`;
  const statement = sql`
    select order_item_id is not null and (feeds.feed_id is null or ${isOwn}) as is_known,
      ${locationOf('order_items')}
    from orders
      left join order_items on (order_items.order_id, order_item_id) = (orders.order_id, ${orderItemId})
      left join feeds using (feed_id)
    where orders.order_id = ${orderId} and (cast(${scope} as text) is null or partner_name = ${scope})`;
  const [location] = await queryRows<OrderItemLocation>(db, statement);
  return location;
}
