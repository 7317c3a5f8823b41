import type { Database } from '../../../base/db/database';
import { productLayout } from '../../../base/db/layout/product-layout';
import type { ProductRow } from '../products.repository';
import type { Search } from '../products.search';
import { listPlain } from './plain-pages';
import {
  listPlainAsOf,
  listShardAsOf,
  type FilterAsOf,
  type KnownMoment,
  type PageAsOf,
} from './pages-as-of';
import { listOnShards } from './shard-pages';

/**
 * Pages of the catalog, by the order of a search or at a moment. The layouts cannot share their statements: the plain ones join
 * `products` with local tables, or merge indexes in a way that Citus refuses.
 */
interface CatalogPages {
  /** Whether a page by time needs the creation time of the product that it follows; else its statement looks it up. */
  needsStart: boolean;
  list(db: Database, search: Search): Promise<ProductRow[]>;
  listAsOf(db: Database, moment: KnownMoment, filter: FilterAsOf, page: PageAsOf): Promise<ProductRow[]>;
}

const forms = {
  plain: { needsStart: false, list: listPlain, listAsOf: listPlainAsOf },
  distributed: { needsStart: true, list: listOnShards, listAsOf: listShardAsOf },
} satisfies Record<string, CatalogPages>;

export const catalogPages = async (db: Database): Promise<CatalogPages> =>
  (await productLayout(db)).choose<CatalogPages>(forms);
