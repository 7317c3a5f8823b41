import type { Database } from '../db/database';
import type { Reads } from '../db/reads';
import { ageSecondsMaxOf } from '../http/caching';
import type { Checks } from '../http/contract';
import { cursorNeedsProductIdSort, invalidCursor, invalidOrder, invalidSortBy } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import {
  productExists,
  sortFields,
  sortOrders,
  type ProductListing,
  type SortField,
  type SortOrder,
} from './products.repository';

declare module '../http/contract' {
  interface CheckResults {
    listProducts: ListingStart;
  }
}

/** A wrong order of the list, or a wrong cursor, is 400. */
export function productChecks(reads: Reads) {
  return {
    listProducts: ({ query, headers, caller }) =>
      reads(ageSecondsMaxOf(headers), (db) => resolveListingOrder(db, query, caller.partnerName)),
    listProductsByFeed({ query }) {
      if (query.cursor !== undefined) parseProductCursor(query.cursor);
    },
  } satisfies Checks;
}

/** How a listing is ordered and where it starts, as the caller asks for it. */
interface ListingOrder {
  sort_by?: unknown;
  order?: unknown;
  cursor?: unknown;
}

/** The order of a listing and the product it starts after, as the repository wants them. */
type ListingStart = Pick<ProductListing, 'sort' | 'afterProductId'>;

/**
 * The order of a listing and the product it starts after. `sort_by` is looked at first, then `order`, then `cursor`.
 * @throws invalid_query
 */
export async function resolveListingOrder(
  db: Database,
  { sort_by, order, cursor }: ListingOrder,
  scope: PartnerScope,
): Promise<ListingStart> {
  if (sort_by !== undefined && !sortFields.includes(sort_by as SortField)) throw invalidSortBy(sortFields);
  if (order !== undefined && !sortOrders.includes(order as SortOrder)) throw invalidOrder(sortOrders);
  const sort = {
    field: (sort_by as SortField | undefined) ?? 'created_at',
    order: (order as SortOrder | undefined) ?? 'desc',
  };
  if (cursor === undefined) return { sort };

  if (sort_by !== undefined && sort_by !== 'product_id') throw cursorNeedsProductIdSort();
  const afterProductId = parseProductCursor(cursor);
  // By id a cursor is a position; in the default order it is a product, whose time of creation counts.
  if (sort_by === undefined && !(await productExists(db, afterProductId, scope))) throw invalidCursor();
  return { sort, afterProductId };
}

/** @throws invalid_query unless the cursor is a product id */
export function parseProductCursor(cursor: unknown): number {
  const productId = typeof cursor === 'string' ? parseId('PR', cursor) : undefined;
  if (productId === undefined) throw invalidCursor();
  return productId;
}

/**
 * A replica may not have the product yet that a page starts after, when the page before came from the database itself: its
 * list would end there.
 * @throws invalid_query
 */
export async function requireProduct(
  db: Database,
  productId: number | undefined,
  scope: PartnerScope,
): Promise<void> {
  if (productId !== undefined && !(await productExists(db, productId, scope))) throw invalidCursor();
}
