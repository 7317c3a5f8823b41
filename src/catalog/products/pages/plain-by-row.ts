import { queryRows, type Database } from '../../../base/db/database';
import { raw, sql } from '../../../base/db/sql';
import { ownColumns, rowColumns, withoutExcessSql, type ProductRow } from '../products.repository';
import { firstRows, orderOf, partnersSql, rowRange, scanMatches, type RowSearch } from '../products.search';
import { isFewSql, isUsual, sortFew, sortFound, sortMatches } from './plain-sorted';

/**
 * Number of rows, by time or number, that are scanned for the matches of a page. They are stored together: ten products take a
 * millisecond, and it is enough if a fifth of a percent matches. The words of a product are in another table: they take longer.
 */
const scannedRows = ({ words, limit }: RowSearch): number => (words ? 500 + 50 * limit : 8_000 + 150 * limit);

/** Number of rows of a longer scan for a value of more products, whose sort takes longer. */
const manyProducts = 100_000;

/** The same for words of more products than are sorted. */
const rowsForWords = 20_000;

/** Pages by time or number. */
export async function readByRow(db: Database, search: RowSearch): Promise<ProductRow[]> {
  const { filters, words, sort, includesWithdrawn, limit } = search;
  const isRange = !words && filters.every(({ key }) => key === 'feed_id' && sort.field === 'product_id');
  // The index by time has no withdrawn products, and few products share a sku.
  const isScanned = (!includesWithdrawn || sort.field === 'product_id') && filters[0]?.key !== 'sku';
  if (isScanned) {
    const page = await scan(db, search, isRange ? limit : scannedRows(search));
    if (isRange || page.length === limit) return page;
  }
  const sorted = (await sortFound(db, search)) ?? (await sortFew(db, search));
  if (sorted) return sorted;
  const longer = isScanned ? await rowsOfLongerScan(db, search) : 0;
  if (longer > 0) {
    const page = await scan(db, search, longer);
    if (page.length === limit) return page;
  }
  return sortMatches(db, search);
}

/** @returns 0 if the matches are sorted faster */
async function rowsOfLongerScan(db: Database, search: RowSearch): Promise<number> {
  if (search.words) return rowsForWords;
  return search.filters.length > 1 || (await areFew(db, search, manyProducts)) ? 0 : manyProducts;
}

async function areFew(db: Database, search: RowSearch, max: number): Promise<boolean> {
  const statement = sql`
    with partner as materialized (${partnersSql(search)}), ${isFewSql(search, max)} select state from state`;
  const [row] = await queryRows<{ state: boolean }>(db, statement);
  return row!.state;
}

/** Reads the matches among the first `rows` of an order by time or number. */
function scan(db: Database, search: RowSearch, rows: number): Promise<ProductRow[]> {
  const { partner, limit } = search;
  const { where, orderBy } = rowRange(search);
  const products = sql`
    select * from (select * from products where ${where} order by ${orderBy} ${firstRows(rows)}) as products
    where ${scanMatches(search)} order by ${orderBy} limit ${raw(limit)}`;
  // The number and the name of a partner are looked up once.
  const statement = partner
    ? sql`
      select partner_name, ${raw(ownColumns)}
      from (select partner_id, partner_name from partners where partner_id = ${partner}) as partner
      cross join lateral (${products}) as products
      order by ${orderOf(search)}`
    : sql`select ${raw(rowColumns)} from (${products}) as products order by ${orderBy}`;
  return queryRows<ProductRow>(db, withoutExcessSql(statement, limit), isUsual(search));
}
