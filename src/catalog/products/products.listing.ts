import type { Database } from '../../base/db/database';
import type { Page } from '../../base/pagination';
import { catalogPages } from './pages/catalog-pages';
import { findStartByTime } from './products.checks';
import { toProductPage, type ProductListing, type ProductRow } from './products.repository';
import { toSearch } from './products.search';

/**
 * Lists one page of products. Nulls come last in both directions; ties are by product number.
 * @throws invalid_cursor if a page by time follows a product that is not in the scope
 */
export async function listProducts(db: Database, listing: ProductListing): Promise<Page<ProductRow>> {
  const pages = await catalogPages(db);
  const start = pages.needsStart ? await findStartByTime(db, listing, listing.scope) : undefined;
  // One more row shows whether there is a next page.
  const search = toSearch({ ...listing, limit: listing.limit + 1 }, start?.afterCreatedAt);
  const rows = search ? await pages.list(db, search) : [];
  // After an unknown product, a page is empty.
  if (rows.length === 0 && !pages.needsStart) await findStartByTime(db, listing, listing.scope);
  return toProductPage(rows, listing.limit);
}
