import { queryRows, type Database } from '../db/database';
import { allOf, raw, sql } from '../db/sql';
import { rowColumns, usualLimits, withoutExcessSql, type ProductRow } from './products.repository';
import {
  afterCursor,
  allMatches,
  candidates,
  firstRows,
  isListed,
  matches,
  ofPartners,
  orderOf,
  partnersSql,
  rowRange,
  type RowSearch,
  type Search,
} from './products.search';

/** Rows that are scanned for the matches of a page: some milliseconds, and enough if half a percent matches. */
export const scannedRows = (limit: number): number => 2_000 + 100 * limit;

/** Maximum number of products that are sorted without a look at the order: some milliseconds. */
export const sortedMax = 5_000;

/** Whether a search is one of some hundreds of statements, which are prepared. */
export const isUsual = ({ filters, words, limit }: Search): boolean =>
  filters.length <= 1 && !words && usualLimits.includes(limit);

/** Pages by time or number. */
export async function readByRow(db: Database, search: RowSearch): Promise<ProductRow[]> {
  const { filters, words, sort, includesWithdrawn, limit } = search;
  const isRange = !words && filters.every(({ key }) => key === 'feed_id' && sort.field === 'product_id');
  // The index by time has no withdrawn products, and of a sku there are few.
  const isScanned = (!includesWithdrawn || sort.field === 'product_id') && filters[0]?.key !== 'sku';
  if (isScanned) {
    const page = await scan(db, search, isRange ? limit : scannedRows(limit));
    if (isRange || page.length === limit) return page;
    if (filters.length === 1 && !words && (await areMany(db, search))) {
      const longer = await scan(db, search, manyRows);
      if (longer.length === limit) return longer;
    }
  }
  return sortMatches(db, search);
}

/** Rows of a second scan for a value that more products have: to sort these takes longer. */
const manyRows = 100_000;

/** Whether many products have the value of the first filter. They are counted in its index, whether or not they can be seen. */
async function areMany(db: Database, search: RowSearch): Promise<boolean> {
  const limit = raw(`limit ${manyRows + 1}`);
  const statement = sql`
    select count(*) > ${raw(manyRows)} as many
    from (
      select from (${partnersSql(search)}) as partner
      cross join lateral (select from products where ${candidates(search)} ${limit}) as candidate
      ${limit}
    ) as candidates`;
  const [row] = await queryRows<{ many: boolean }>(db, statement.sql, statement.bindings, true);
  return row!.many;
}

/** Reads the matches among the first `rows` of an order by time or number, up to the limit of the search. */
function scan(db: Database, search: RowSearch, rows: number): Promise<ProductRow[]> {
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select ${raw(rowColumns)}
    from (
      select * from products where ${where} and ${isListed(search)} order by ${orderBy} ${firstRows(rows)}
    ) as products
    where ${matches(search)} order by ${orderBy} limit ${raw(search.limit)}`;
  const page = withoutExcessSql(statement, search.limit);
  return queryRows<ProductRow>(db, page.sql, page.bindings, isUsual(search));
}

/**
 * Sorts all products of a condition, which the planner finds as it sees fit: `offset 0` keeps it from an index of the order, which it
 * would read to the end where the matches are not as even as it supposes. Not prepared: it needs the values.
 * @param where - by default, all matches of the search
 */
export function sortMatches(
  db: Database,
  search: Search,
  where = allOf([ofPartners(search), allMatches(search)]),
): Promise<ProductRow[]> {
  const statement = sql`
    select ${raw(rowColumns)}
    from (select * from products where ${where} and ${isListed(search)} offset 0) as products
    where ${afterCursor(search)}
    order by ${orderOf(search)}
    limit ${raw(search.limit)}`;
  const page = withoutExcessSql(statement, search.limit);
  return queryRows<ProductRow>(db, page.sql, page.bindings);
}
