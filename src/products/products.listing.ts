import type { Database } from '../db/database';
import { isDistributed } from '../db/layout';
import { allOf } from '../db/sql';
import type { Page } from '../shared/pagination';
import { readByKey } from './products.keys';
import { readByRow, sortMatches } from './products.rows';
import { toProductPage, type ProductListing, type ProductRow } from './products.repository';
import { allMatches, isKeyed, ofPartner, toSearch, type Search } from './products.search';
import { listOnShards } from './shard-listing';
import { findByWords, isAmong } from './search-words.repository';

/*
 * How a page of the catalog is read: by an index in its order; with filters, by a bounded scan of that order for matches; and, if that
 * does not suffice, by a sort of all matches.
 *
 * - By time or number (`products.rows.ts`): an index has the order, of all products and of each partner.
 * - By price, brand, category or name (`products.keys.ts`): each partner has an index of the order; their beginnings are merged.
 *   Products with equal keys are in no order there: a longer group of them is listed like a filter, by number. If few products have
 *   the value of the first filter, these are sorted instead.
 *
 * The shape of the statements decides their plans, not what the planner believes about partners. Only of the last sort, it decides how
 * the matches are found: see docs/decisions/0059-plans-by-the-shape-of-a-statement.md.
 */

/** Lists one page of products. Nulls come last in both directions; ties are by product number. */
export async function listProducts(db: Database, listing: ProductListing): Promise<Page<ProductRow>> {
  // One more row shows whether there is a next page.
  const search = toSearch({ ...listing, limit: listing.limit + 1 });
  const rows = search ? await readProducts(db, search) : [];
  return toProductPage(rows, listing.limit);
}

/** Maximum number of products with the words of a search that are read by their keys and sorted, in about 20 ms. */
const sortedWords = 5_000;

async function readProducts(db: Database, search: Search): Promise<ProductRow[]> {
  if (await isDistributed(db)) return listOnShards(db, search);
  const { words } = search;
  if (words) {
    const found = await findByWords(db, words, ofPartner(search), sortedWords);
    if (found)
      return sortMatches(db, search, allOf([isAmong(found), allMatches({ ...search, words: undefined })]));
  }
  return isKeyed(search) ? readByKey(db, search) : readByRow(db, search);
}
