import type { Database } from '../../base/db/database';
import type { Page } from '../../base/pagination';
import { catalogPages } from './pages/catalog-pages';
import { toProductPage, type ProductListing, type ProductRow } from './products.repository';
import { toSearch } from './products.search';

/** Lists one page of products. Nulls come last in both directions; ties are by product number. */
export async function listProducts(db: Database, listing: ProductListing): Promise<Page<ProductRow>> {
  // One more row shows whether there is a next page.
  const search = toSearch({ ...listing, limit: listing.limit + 1 });
  const rows = search ? await (await catalogPages(db)).list(db, search) : [];
  return toProductPage(rows, listing.limit);
}
