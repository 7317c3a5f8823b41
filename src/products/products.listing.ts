import { queryRows, type Database } from '../db/database';
import { isDistributed } from '../db/layout';
import { allOf, raw, sql } from '../db/sql';
import type { Page } from '../shared/pagination';
import { readByKey } from './products.keys';
import { readMatches, sortMatches, sortWhere } from './products.matches';
import {
  rowColumns,
  toProductPage,
  usualLimits,
  withoutExcessSql,
  type ProductListing,
  type ProductRow,
} from './products.repository';
import {
  allMatches,
  isKeyed,
  isListed,
  ofPartner,
  rowRange,
  toSearch,
  type RowSearch,
  type Search,
} from './products.search';
import { listOnShards } from './shard-listing';
import { findByWords, isAmong } from './search-words.repository';

/**
 * How a page of the catalog is read. Most pages are one statement, whose plan follows from its shape and not from estimates: each
 * part reads a bounded number of rows from a range of one index.
 *
 * - By time or number without filters: the first rows of the index of that order (`readInOrder`).
 * - With filters: if few products have the value of the first filter, they are sorted; otherwise the order is scanned for
 *   matches (`readFewOrScan` in `products.matches.ts`).
 * - By price, brand, category or name: each partner has an index of that order; their beginnings are merged (`readKeys` in
 *   `products.keys.ts`). Equal keys are in no order there. A group that is longer than the part that was read is
 *   listed like a filter, by number; where the key is only the beginning of the texts, all of the group is sorted.
 *
 * What is not found this way is sorted as a whole (`sortMatches`): slow if very many products match filters whose
 * matches are not at the beginning of the order. So are pages with withdrawn products, except by number.
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
  if (!isKeyed(search) && isRange(search)) return readInOrder(db, search);
  const { words } = search;
  if (words) {
    const found = await findByWords(db, words, ofPartner(search), sortedWords);
    if (found)
      return sortWhere(db, search, allOf([isAmong(found), allMatches({ ...search, words: undefined })]));
  }
  if (search.includesWithdrawn) return sortMatches(db, search);
  const page = isKeyed(search) ? await readByKey(db, search) : await readMatches(db, search);
  return page ?? sortMatches(db, search);
}

/** Whether an index contains just the products of the listing, in its order. */
function isRange({ filters, words, sort: { field }, includesWithdrawn }: RowSearch): boolean {
  if (words) return false;
  // Only the index by number contains withdrawn products.
  if (includesWithdrawn && field === 'created_at') return false;
  return (
    filters.length === 0 || (filters.length === 1 && filters[0]!.key === 'feed_id' && field === 'product_id')
  );
}

/** The limit is literal: with a parameter, a prepared statement has a plan for a tenth of all rows. */
function readInOrder(db: Database, search: RowSearch): Promise<ProductRow[]> {
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select ${raw(rowColumns)} from products where ${where} and ${isListed(search)}
    order by ${orderBy} limit ${raw(search.limit)}`;
  const { sql: text, bindings } = withoutExcessSql(statement, search.limit);
  return queryRows<ProductRow>(db, text, bindings, usualLimits.includes(search.limit));
}
