import { queryRows, type Database } from '../db/database';
import { allOf, raw, sql, withArray, type Sql } from '../db/sql';
import { beginTransaction } from '../db/transaction';
import { rowColumns, usualLimits, withoutExcessSql, type ProductRow } from './products.repository';
import {
  afterCursor,
  allMatches,
  filterRange,
  isActive,
  isKeyed,
  isListed,
  matches,
  ofPartners,
  orderOf,
  otherMatches,
  partnersSql,
  rowRange,
  type RowSearch,
  type Search,
} from './products.search';

/** A row of `page_of_products`: a product of the page beside a state of the statement, or the state alone. */
type PageRow = { state: string | null } & (ProductRow | { product_id: null });

function hasProduct(row: PageRow): row is { state: string | null } & ProductRow {
  return row.product_id !== null;
}

/**
 * Reads a page, its keys with index scans only: see migration 20261123030000.
 * @param keys - returns a state, the same in all rows, beside partner and number of each product
 */
export async function readPage(
  db: Database,
  search: Search,
  keys: Sql,
): Promise<{ state: string | null; products: ProductRow[] }> {
  const { sql: statement, bindings } = withArray(keys);
  const page = withoutExcessSql(
    sql`
      select state, ${raw(rowColumns)}
      from page_of_products(${statement}, ${bindings}) as page left join products using (partner_id, product_id)
      order by ${orderOf(search)}`,
    search.limit,
    'state, partner_name',
  );
  const rows = await queryRows<PageRow>(db, page.sql, page.bindings, true);
  return {
    state: rows[0]?.state ?? null,
    products: rows.filter(hasProduct).map(({ state: _, ...product }) => product),
  };
}

/** @returns undefined if all matches must be sorted */
export async function readMatches(db: Database, search: RowSearch): Promise<ProductRow[] | undefined> {
  if (search.filters.length === 0) return scan(db, search, scannedRows(search.limit));
  const first = await scanBriefly(db, search);
  if (first) return first;
  const page = await readFewOrScan(db, search, scannedRows(search.limit));
  // Of several filters, a sort uses all indexes.
  if (page || search.filters.length > 1 || (await isSortable(db, search))) return page;
  return readFewOrScan(db, search, longScanRows);
}

/** Rows of a first scan, which takes a millisecond: enough for a page if half a percent matches. */
const brieflyScannedRows = (limit: number) => 2_000 + 100 * limit;

/**
 * Scans the beginning of the order for matches of frequent values. A sku has few; to look for words in each row takes longer than to
 * look them up. Of all partners, it is a plain statement: there is no other index. Of one, the planner would sort all its products.
 * @returns undefined if the page is not full
 */
async function scanBriefly(db: Database, search: RowSearch): Promise<ProductRow[] | undefined> {
  const { partner, filters, words, limit, afterProductId } = search;
  if (words || filters[0]!.key === 'sku') return undefined;
  if (partner) return scan(db, search, brieflyScannedRows(limit));
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select ${raw(rowColumns)}
    from (
      select * from products where ${where} and ${raw(isActive)}
      order by ${orderBy} limit ${raw(brieflyScannedRows(limit))}
    ) as products
    where ${matches(search)} order by ${orderBy} limit ${raw(limit)}`;
  const page = withoutExcessSql(statement, limit);
  const isUsual = usualLimits.includes(limit) && filters.length === 1 && afterProductId === undefined;
  const rows = await queryRows<ProductRow>(db, page.sql, page.bindings, isUsual);
  return rows.length === limit ? rows : undefined;
}

/** Scans the beginning of the order for matches. @returns undefined if the page is not full */
async function scan(db: Database, search: RowSearch, rows: number): Promise<ProductRow[] | undefined> {
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select cast(null as text), partner_id, product_id
    from (
      select * from products where ${where} and ${raw(isActive)}
      order by ${orderBy} limit ${raw(rows)}
    ) as products
    where ${matches(search)} order by ${orderBy} limit ${raw(search.limit)}`;
  const { products } = await readPage(db, search, statement);
  return products.length === search.limit ? products : undefined;
}

/**
 * Maximum number of candidates that are sorted rather than found by a scan of the order. A scan by time or number is quick if
 * there are more; at most one product of each partner has a sku.
 */
function fewProducts(search: Search): number {
  if (search.filters[0]!.key === 'sku') return 1_000_000;
  return isKeyed(search) ? 8_000 : 500;
}

/** Rows of a scan by time or number, in which rows are stored: enough for a page if a quarter of a percent matches. */
const scannedRows = (limit: number) => 4 * (2_000 + 100 * limit);

/** Rows of a second scan, and the number of candidates from which on it is quicker than to sort them. */
const longScanRows = 150_000;
const sortableRows = 30_000;

/** Whether few enough products have the value of the first filter. */
async function isSortable(db: Database, search: Search): Promise<boolean> {
  const { where, orderBy } = filterRange(search.filters[0]!);
  const statement = sql`
    select cast(count(*) <= ${raw(sortableRows)} as text), cast(null as bigint), cast(null as bigint)
    from (
      select from (${partnersSql(search)}) as partner cross join lateral (
        select from products where ${where} and ${raw(isActive)}
        order by ${orderBy} limit ${raw(sortableRows + 1)}
      ) as candidate
      limit ${raw(sortableRows + 1)}
    ) as candidates`;
  const { state } = await readPage(db, search, statement);
  return state === 'true';
}

/** The columns of candidates that other filters and the order need: thousands of candidates are copied. */
function candidateColumns({ filters: [first, ...others], words, sort, afterProductId }: Search): string {
  if (words) return '*';
  const columns = ['partner_id', 'product_id', sort.field, ...others.map(({ key }) => key)];
  if (first!.exact) columns.push(first!.key);
  if (afterProductId !== undefined) columns.push('created_at');
  return [...new Set(columns)].join(', ');
}

/**
 * Sorts the products with the value of the first filter if they are few; otherwise scans the order, if it is by time or number.
 * @returns undefined if the page is not full and more rows may match
 */
export async function readFewOrScan(
  db: Database,
  search: Search,
  scannedMax = 0,
): Promise<ProductRow[] | undefined> {
  const { filters, limit } = search;
  const few = fewProducts(search);
  const candidates = filterRange(filters[0]!);
  const range = isKeyed(search) ? undefined : rowRange(search);
  const scanned = range
    ? sql`
      union all (
        select partner_id, product_id from (
          select * from products where ${range.where} and ${raw(isActive)}
          order by ${range.orderBy} limit ${raw(scannedMax)}
        ) as products
        where not is_few and ${matches(search)} order by ${range.orderBy} limit ${raw(limit)}
      )`
    : raw('');
  const orderBy = orderOf(search);
  const statement = sql`
    with partner as materialized (${partnersSql(search)}), candidate as materialized (
      select candidate.*
      from partner cross join lateral (
        select ${raw(candidateColumns(search))} from products where ${candidates.where} and ${raw(isActive)}
        order by ${candidates.orderBy} limit ${raw(few + 1)}
      ) as candidate
      limit ${raw(few + 1)}
    )
    select cast(is_few as text), partner_id, product_id
    from (select count(*) <= ${raw(few)} as is_few from candidate) as state left join lateral (
      (select partner_id, product_id from candidate as products where is_few and ${otherMatches(search)} and ${afterCursor(search)} order by ${orderBy} limit ${raw(limit)})
      ${scanned}
    ) as products on true`;
  const { state, products } = await readPage(db, search, statement);
  return state === 'true' || products.length === limit ? products : undefined;
}

/** Sorts the products of a condition, which alone decides how they are found: `offset 0` keeps the order apart. */
export function sortWhere(db: Database, search: Search, where: Sql): Promise<ProductRow[]> {
  const statement = sql`
    select ${raw(rowColumns)}
    from (select * from products where ${where} and ${isListed(search)} offset 0) as products
    where ${afterCursor(search)}
    order by ${orderOf(search)}
    limit ${raw(search.limit)}`;
  const page = withoutExcessSql(statement, search.limit);
  return queryRows<ProductRow>(db, page.sql, page.bindings);
}

/** Makes the planner use every index that saves table pages, whatever it estimates for combined filters. */
const sortSettingsSql = `
  set local enable_indexscan = off;
  set local seq_page_cost = 1000;
  set local random_page_cost = 1000;
  set local work_mem = '16MB';
  set local jit = off;
`;

/** Sorts all matches, which bitmap scans find. */
export async function sortMatches(db: Database, search: Search): Promise<ProductRow[]> {
  const trx = await beginTransaction(db, 'request');
  try {
    await trx.raw(sortSettingsSql);
    return await sortWhere(trx, search, allOf([ofPartners(search), allMatches(search)]));
  } finally {
    // Also of a savepoint: the settings end with it.
    await trx.rollback();
  }
}
