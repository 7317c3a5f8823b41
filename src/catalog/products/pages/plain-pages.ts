import type { Database } from '../../../base/db/database';
import type { ProductRow } from '../products.repository';
import { isKeyed, type Search } from '../products.search';
import { readByKey } from './plain-by-key';
import { readByRow } from './plain-by-row';

/*
 * How a page of a plain catalog is read: by an index in its order; with filters, by a bounded scan of that order for matches; if that
 * does not suffice, by a sort of the products with words or the value of the first filter, if these are few; and at last, by a longer
 * scan or a sort of all matches (`plain-sorted.ts`).
 * - By time or number (`plain-by-row.ts`): an index has the order, of all products and of each partner.
 * - By price, brand, category or name (`plain-by-key.ts`): each partner has an index of the order; their beginnings are merged.
 * Products with equal keys are unordered there: a longer group of them is listed like a filter, by number. Few products are sorted
 * before anything is scanned.
 * The shape of the statements decides their plans, not the planner's estimates about partners. It only decides how the last sort
 * finds the matches: see docs/decisions/0059-partner-led-indexes-and-plain-statements.md.
 */

export function listPlain(db: Database, search: Search): Promise<ProductRow[]> {
  return isKeyed(search) ? readByKey(db, search) : readByRow(db, search);
}
