import type { Database } from '../../../base/db/database';
import { allOf } from '../../../base/db/sql';
import type { ProductRow } from '../products.repository';
import { allMatches, isKeyed, partnerCondition, type Search } from '../products.search';
import { findByWords, isAmong } from '../search-words.repository';
import { readByKey } from './plain-by-key';
import { readByRow, sortMatches } from './plain-by-row';

/*
 * How a page of a plain catalog is read: by an index in its order; with filters, by a bounded scan of that order for matches; and, if
 * that does not suffice, by a sort of all matches.
 * - By time or number (`plain-by-row.ts`): an index has the order, of all products and of each partner.
 * - By price, brand, category or name (`plain-by-key.ts`): each partner has an index of the order; their beginnings are merged.
 * Products with equal keys are unordered there: a longer group of them is listed like a filter, by number. If few products have
 * the value of the first filter, these are sorted instead.
 * The shape of the statements decides their plans, not the planner's estimates about partners. It only decides how the last sort
 * finds the matches: see docs/decisions/0059-partner-led-indexes-and-plain-statements.md.
 */

/** Maximum number of products with the words of a search that are read by their keys and sorted, in about 20 ms. */
const sortedWords = 5_000;

export async function listPlain(db: Database, search: Search): Promise<ProductRow[]> {
  const { words } = search;
  if (words) {
    const found = await findByWords(db, words, partnerCondition(search), sortedWords);
    if (found)
      return sortMatches(db, search, allOf([isAmong(found), allMatches({ ...search, words: undefined })]));
  }
  return isKeyed(search) ? readByKey(db, search) : readByRow(db, search);
}
