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

export interface ListingStart extends Pick<ProductListing, 'sort' | 'afterProductId'> {
  /** The order as sent, without its default. */
  sentOrder?: SortOrder;
}

/**
 * Validates `sort_by`, then `order`, then the form of `cursor`. Whether its product exists, `findStartByTime` finds out.
 * @throws invalid_sort_by, invalid_sort_order, cursor_needs_product_id_sort, invalid_cursor
 */
export function resolveListingOrder({ sort_by, order, cursor, as_of: asOf }: ListingOrder): ListingStart {
  if (sort_by !== undefined && !sortFields.includes(sort_by as SortField)) throw invalidSortBy(sortFields);
  if (order !== undefined && !sortOrders.includes(order as SortOrder)) throw invalidSortOrder(sortOrders);
  const start = {
    sort: {
      field: (sort_by as SortField | undefined) ?? (asOf === undefined ? 'created_at' : 'product_id'),
      order: (order as SortOrder | undefined) ?? 'desc',
    },
    sentOrder: order as SortOrder | undefined,
  };
  if (cursor === undefined) return start;
  if (sort_by !== undefined && sort_by !== 'product_id') throw cursorNeedsProductIdSort();
  return { ...start, afterProductId: parseProductCursor(cursor) };
}

/**
 * Finds the product that a page by time follows. By number, a cursor is a position: its product need not exist.
 * @returns undefined without a cursor, or by number
 * @throws invalid_cursor if there is no such product in the scope
 */
export async function findStartByTime(
  db: Database,
  { sort, afterProductId }: ListingStart,
  scope: PartnerScope,
): Promise<{ afterCreatedAt?: string } | undefined> {
  if (afterProductId === undefined || sort.field !== 'created_at') return undefined;
  const start = await findStart(db, afterProductId, scope);
  if (!start) throw invalidCursor();
  return start;
}

/** @throws invalid_cursor unless the cursor is a product id */
export function parseProductCursor(cursor: unknown): number {
  const productId = typeof cursor === 'string' ? parseId('PR', cursor) : undefined;
  if (productId === undefined) throw invalidCursor();
  return productId;
}

/**
 * Checks that a replica has the product of a cursor by number: without it, the page would be empty.
 * @throws invalid_cursor
 */
export async function requirePosition(
  db: Database,
  { sort, afterProductId }: ListingStart,
  scope: PartnerScope,
): Promise<void> {
  if (afterProductId === undefined || sort.field !== 'product_id') return;
  if (!(await findStart(db, afterProductId, scope))) throw invalidCursor();
}
