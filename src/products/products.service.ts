import type { Database } from '../db/database';
import {
  cursorNeedsProductIdSort,
  invalidCursor,
  invalidOrder,
  invalidSortBy,
  productNotFound,
} from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { toPage, type Page } from '../shared/pagination';
import { listProducts } from './products.listing';
import {
  findProduct,
  productExists,
  sortFields,
  sortOrders,
  type ProductListing,
  type ProductRow,
  type SortField,
  type SortOrder,
} from './products.repository';

/** @throws product_not_found */
export async function getProduct(db: Database, id: string, scope: PartnerScope): Promise<ProductRow> {
  const productId = parseId('PR', id);
  const product = productId === undefined ? null : await findProduct(db, productId, scope);
  if (!product) throw productNotFound(id);
  return product;
}

/** One page of products. */
export type ProductPage = Page<ProductRow>;

/** How a listing is ordered and where it starts, as the caller asks for it. */
export interface ListingOrder {
  sort_by?: unknown;
  order?: unknown;
  cursor?: unknown;
}

/** The order of a listing and the product it starts after, as the repository wants them. */
export type ListingStart = Pick<ProductListing, 'sort' | 'afterProductId'>;

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

/** The catalog query of the specification. `feed_id` of the filter is an identifier; an unknown one matches nothing. */
export async function listCatalog(
  db: Database,
  query: {
    scope: PartnerScope;
    filter: Omit<ProductListing['filter'], 'feed_id'> & { feed_id?: string };
    start: ListingStart;
    limit: number;
  },
): Promise<ProductPage> {
  const { feed_id, ...filter } = query.filter;
  const listing = { scope: query.scope, ...query.start, limit: query.limit };
  if (feed_id === undefined) return readPage(db, { filter, ...listing });
  const feedId = parseId('FD', feed_id);
  if (feedId === undefined) return { items: [] };
  return readPage(db, { filter: { ...filter, feed_id: feedId }, ...listing });
}

/** The products that a feed wrote last, by product number. An unknown feed has none. */
export async function listProductsOfFeed(
  db: Database,
  feed_id: string,
  scope: PartnerScope,
  page: { limit: number; afterProductId?: number },
): Promise<ProductPage> {
  const feedId = parseId('FD', feed_id);
  if (feedId === undefined) return { items: [] };
  return readPage(db, {
    scope,
    filter: { feed_id: feedId },
    sort: { field: 'product_id', order: 'asc' },
    ...page,
  });
}

/** Reads one product more than asked for, which tells whether more exist. */
async function readPage(db: Database, listing: ProductListing): Promise<ProductPage> {
  const rows = await listProducts(db, { ...listing, limit: listing.limit + 1 });
  return toPage(rows, listing.limit, ({ product_id }) => formatId('PR', product_id));
}
