import type { Database } from '../../base/db/database';
import { findStart } from '../../base/db/layout/product-layout';
import { cursorNeedsProductIdSort, invalidCursor, invalidSortOrder, invalidSortBy } from '../../base/errors';
import { parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import {
  sortFields,
  sortOrders,
  type ProductListing,
  type SortField,
  type SortOrder,
} from './products.repository';

/** The order in a request, as sent. */
interface ListingOrder {
  sort_by?: unknown;
  order?: unknown;
  cursor?: unknown;
  as_of?: unknown;
}

export interface ListingStart extends Pick<ProductListing, 'sort' | 'afterProductId' | 'afterCreatedAt'> {
  /** The order as sent, without its default. */
  sentOrder?: SortOrder;
}

/**
 * Validates `sort_by`, then `order`, then `cursor`.
 * @throws invalid_sort_by, invalid_sort_order, cursor_needs_product_id_sort, invalid_cursor
 */
export async function resolveListingOrder(
  db: Database,
  { sort_by, order, cursor, as_of: asOf }: ListingOrder,
  scope: PartnerScope,
): Promise<ListingStart> {
  if (sort_by !== undefined && !sortFields.includes(sort_by as SortField)) throw invalidSortBy(sortFields);
  if (order !== undefined && !sortOrders.includes(order as SortOrder)) throw invalidSortOrder(sortOrders);
  const sort = {
    field: (sort_by as SortField | undefined) ?? 'created_at',
    order: (order as SortOrder | undefined) ?? 'desc',
  };
  const start = { sort, sentOrder: order as SortOrder | undefined };
  if (cursor === undefined) return start;

  if (sort_by !== undefined && sort_by !== 'product_id') throw cursorNeedsProductIdSort();
  const afterProductId = parseProductCursor(cursor);
  // By number, a cursor is a position; in the default order it is a product, whose `created_at` counts.
  const isByNumber = sort_by === 'product_id' || asOf !== undefined;
  if (isByNumber) return { ...start, afterProductId };
  const product = await findStart(db, afterProductId, scope);
  if (!product) throw invalidCursor();
  return { ...start, afterProductId, afterCreatedAt: product.afterCreatedAt };
}

/** @throws invalid_cursor unless the cursor is a product id */
export function parseProductCursor(cursor: unknown): number {
  const productId = typeof cursor === 'string' ? parseId('PR', cursor) : undefined;
  if (productId === undefined) throw invalidCursor();
  return productId;
}

/**
 * Checks that a replica has the product of the cursor: without it, the page would be empty.
 * @throws invalid_cursor
 */
export async function requireProduct(
  db: Database,
  productId: number | undefined,
  scope: PartnerScope,
): Promise<void> {
  if (productId !== undefined && !(await findStart(db, productId, scope))) throw invalidCursor();
}
