import { queryRows, type Database } from '../../../base/db/database';
import { allOf, raw, sql, type Sql } from '../../../base/db/sql';
import { rowColumns, usualLimit, withoutExcessSql, type ProductRow } from '../products.repository';
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
} from '../products.search';

/**
 * Number of rows, by time or number, that are scanned for the matches of a page. They are stored together: ten products take a
 * millisecond, and it is enough if a fifth of a percent matches.
 */
const scannedRows = (limit: number): number => 8_000 + 150 * limit;

/** Number of rows of a second scan for a value of more products, whose sort takes longer. */
const manyProducts = 100_000;

/** Pages by time or number. */
export async function readByRow(db: Database, search: RowSearch): Promise<ProductRow[]> {
  const { filters, words, sort, includesWithdrawn, limit } = search;
  const isRange = !words && filters.every(({ key }) => key === 'feed_id' && sort.field === 'product_id');
  // The index by time has no withdrawn products, and few products share a sku.
  const isScanned = (!includesWithdrawn || sort.field === 'product_id') && filters[0]?.key !== 'sku';
  if (isScanned) {
    const page = await scan(db, search, isRange ? limit : scannedRows(limit));
    if (isRange || page.length === limit) return page;
    // Without any match, there are either hardly any, or many that come late.
    const comeLate = page.length === 0 && filters.length === 1 && !words;
    if (comeLate && !(await areFew(db, search, manyProducts))) {
      const longer = await scan(db, search, manyProducts);
      if (longer.length === limit) return longer;
    }
  }
  return sortMatches(db, search);
}

/** The table `state`: whether few products have the value of the first filter. Its index counts them, also invisible ones. */
export function isFewSql(search: Search, max: number): Sql {
  const { where, orderBy } = candidates(search);
  const limit = raw(`limit ${max + 1}`);
  return sql`
    state as materialized (
      select count(*) <= ${raw(max)} as state
      from (
        select from partner
        cross join lateral (select from products where ${where} order by ${orderBy} ${limit}) as candidate
        ${limit}
      ) as candidates
    )`;
}

async function areFew(db: Database, search: RowSearch, max: number): Promise<boolean> {
  const statement = sql`
    with partner as materialized (${partnersSql(search)}), ${isFewSql(search, max)} select state from state`;
  const [row] = await queryRows<{ state: boolean }>(db, statement);
  return row!.state;
}

/** Whether the statements of a search are prepared: only ordinary first and later pages, which have few texts. */
export const isUsual = ({ filters, words, includesWithdrawn, limit }: Search): boolean =>
  filters.length <= 1 && !words && !includesWithdrawn && limit === usualLimit;

/** Reads the matches among the first `rows` of an order by time or number. */
function scan(db: Database, search: RowSearch, rows: number): Promise<ProductRow[]> {
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select ${raw(rowColumns)}
    from (
      select * from products where ${where} order by ${orderBy} ${firstRows(rows)}
    ) as products
    where ${matches(search)} order by ${orderBy} limit ${raw(search.limit)}`;
  const page = withoutExcessSql(statement, search.limit);
  return queryRows<ProductRow>(db, page, isUsual(search) && rows < manyProducts);
}

/**
 * Sorts all products of a condition, with any plan: `offset 0` keeps the planner from an index of the order, which it would read
 * to the end if the matches are less even than it expects. Not prepared: it needs the values.
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
  return queryRows<ProductRow>(db, page);
}
