import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { raw, sql, type Sql } from '../db/sql';
import { beginTransaction, inSnapshot } from '../db/transaction';
import { formatId } from '../shared/ids';
import { toPage, type Page } from '../shared/pagination';
import { productColumns, type ProductListing, type ProductRow } from './products.repository';
import { findByWords, isAmong } from './search-words.repository';
import {
  afterCursor,
  filterRange,
  isActive,
  isWholeKey,
  keyedRange,
  keySql,
  matches,
  ofPartners,
  partnersSql,
  rowRange,
  toSearch,
  withKey,
  type KeyedField,
  type Search,
} from './products.search';

/**
 * Reads a page of the catalog. Most pages are one statement, whose plan follows from its shape and not from estimates: each
 * part reads a bounded number of rows from a range of one index.
 *
 * - By time or number without filters: the first rows of the index of that order (`readInOrder`).
 * - With filters: if few products have the value of the first filter, they are sorted; otherwise the order is scanned for
 *   matches (`readFewOrScan`).
 * - By price, brand, category or name: each partner has an index of that order; their beginnings are merged (`readKeys`).
 *   Equal keys are in no order there. A group that is longer than the part that was read is listed like a filter.
 *
 * What is not found this way is sorted as a whole (`sortMatches`): slow if very many products match filters whose
 * matches are not at the beginning of the order.
 */

/** Lists one page of products. Nulls come last in both directions; ties are by product number. */
export async function listProducts(db: Database, listing: ProductListing): Promise<Page<ProductRow>> {
  // One more row shows whether there is a next page.
  const search = toSearch({ ...listing, limit: listing.limit + 1 });
  const rows = search ? await readProducts(db, search, listing.filter.words) : [];
  return toPage(rows, listing.limit, ({ product_id }) => formatId('PR', product_id));
}

async function readProducts(db: Database, search: Search, words?: readonly string[]): Promise<ProductRow[]> {
  if (isRange(search)) return readInOrder(db, search);
  const { field } = search.sort;
  if (words) {
    const found = await findByWords(
      db,
      words,
      search.partner ? ofPartners(search) : raw('true'),
      sortedWords,
    );
    if (found) return sortFound(db, { ...search, hasWords: isAmong(found) });
  }
  const page = await inSnapshot(
    db,
    (trx) =>
      field === 'created_at' || field === 'product_id'
        ? readMatches(trx, search)
        : readByKey(trx, search, field),
    indexScanSettingsSql,
  );
  return page ?? sortMatches(db, search);
}

/**
 * Allows index scans only. The planner knows the average size of partners and of values: it would sort all products of a
 * large partner for one page.
 */
const indexScanSettingsSql = `
  set local enable_sort = off;
  set local enable_incremental_sort = off;
  set local enable_seqscan = off;
  set local enable_bitmapscan = off;
  set local max_parallel_workers_per_gather = 0;
  set local jit = off;
`;

/** Whether an index contains just the products of the listing, in its order. */
function isRange({ filters, hasWords, sort: { field } }: Search): boolean {
  if (hasWords) return false;
  if (field !== 'created_at' && field !== 'product_id') return false;
  return (
    filters.length === 0 || (filters.length === 1 && filters[0]!.key === 'feed_id' && field === 'product_id')
  );
}

/** A product beside a state of the statement, or the state alone. */
type Joined<State> = State & (ProductRow | { product_id: null });

function isFound<State>(row: Joined<State>): row is State & ProductRow {
  return row.product_id !== null;
}

/** Page sizes, plus one row: the default and the maximum. */
const usualLimits = [11, 101];

/** A statement with a literal limit: a prepared one has a plan for a tenth of all rows otherwise. */
function read<Row>(db: Database, { limit, filters }: Search, statement: Sql): Promise<Row[]> {
  const isUsual = usualLimits.includes(limit) && filters.length <= 1;
  return queryRows<Row>(db, statement.sql, statement.bindings, isUsual);
}

function readInOrder(db: Database, search: Search): Promise<ProductRow[]> {
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select ${raw(productColumns)} from products where ${where} and ${raw(isActive)}
    order by ${orderBy} limit ${raw(search.limit)}`;
  return read(db, search, statement);
}

/** Maximum number of products with the words of a search that are read by their keys and sorted, in about 20 ms. */
const sortedWords = 5_000;

/** Sorts the matches among the products with the words of a search. */
function sortFound(db: Database, search: Search): Promise<ProductRow[]> {
  const { field, order } = search.sort;
  const after = field === 'created_at' || field === 'product_id' ? afterCursor(search) : raw('true');
  const statement = sql`
    select ${raw(productColumns)}
    from (select * from products where ${matches(search)} and ${raw(isActive)} offset 0) as products
    where ${after}
    order by ${raw(`${field} ${order} nulls last, product_id ${order}`)}
    limit ${raw(search.limit)}`;
  return queryRows<ProductRow>(db, statement.sql, statement.bindings);
}

/** @returns undefined if all matches must be sorted */
async function readMatches(trx: Database, search: Search): Promise<ProductRow[] | undefined> {
  if (search.filters.length === 0) return scanForWords(trx, search);
  const page = await readFewOrScan(trx, search, scannedRows(search.limit));
  // Of several filters, a sort uses all indexes.
  if (page || search.filters.length > 1 || (await isSortable(trx, search))) return page;
  return readFewOrScan(trx, search, longScanRows);
}

/** Scans the order for words that many products have. @returns undefined if the page is not full */
async function scanForWords(trx: Database, search: Search): Promise<ProductRow[] | undefined> {
  const { where, orderBy } = rowRange(search);
  const statement = sql`
    select ${raw(productColumns)}
    from (
      select * from products where ${where} and ${raw(isActive)}
      order by ${orderBy} limit ${raw(scannedRows(search.limit))}
    ) as products
    where ${matches(search)} limit ${raw(search.limit)}`;
  const page = await read<ProductRow>(trx, search, statement);
  return page.length === search.limit ? page : undefined;
}

/**
 * Maximum number of candidates that are sorted rather than found by a scan of the order. A scan by time or number is quick if
 * there are more; at most one product of each partner has a sku.
 */
function fewProducts({ sort: { field }, filters }: Search): number {
  if (filters[0]!.key === 'sku') return 1_000_000;
  return field === 'created_at' || field === 'product_id' ? 500 : 8_000;
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
    select count(*) <= ${raw(sortableRows)} as is_sortable
    from (
      select from (${partnersSql(search)}) as partner cross join lateral (
        select from products where ${where} and ${raw(isActive)}
        order by ${orderBy} limit ${raw(sortableRows + 1)}
      ) as candidate
      limit ${raw(sortableRows + 1)}
    ) as candidates`;
  const [row] = await read<{ is_sortable: boolean }>(db, search, statement);
  return row!.is_sortable;
}

/**
 * Sorts the products with the value of the first filter if they are few; otherwise scans the order, if it is by time or number.
 * @returns undefined if the page is not full and more rows may match
 */
async function readFewOrScan(db: Database, search: Search, scanned = 0): Promise<ProductRow[] | undefined> {
  const { filters, sort, limit } = search;
  const { field, order } = sort;
  const few = fewProducts(search);
  const candidates = filterRange(filters[0]!);
  const match = matches(search);
  const isByRow = field === 'created_at' || field === 'product_id';
  const range = isByRow ? rowRange(search) : undefined;
  const scan = range
    ? sql`
      union all (
        select * from (
          select * from products where ${range.where} and ${raw(isActive)}
          order by ${range.orderBy} limit ${raw(scanned)}
        ) as products
        where not is_few and ${match} limit ${raw(limit)}
      )`
    : raw('');
  const after = isByRow ? afterCursor(search) : raw('true');
  const orderBy = raw(`${field} ${order} nulls last, product_id ${order}`);
  const statement = sql`
    with partner as materialized (${partnersSql(search)}), candidate as materialized (
      select candidate.*
      from partner cross join lateral (
        select * from products where ${candidates.where} and ${raw(isActive)}
        order by ${candidates.orderBy} limit ${raw(few + 1)}
      ) as candidate
      limit ${raw(few + 1)}
    )
    select is_few, ${raw(productColumns)}
    from (select count(*) <= ${raw(few)} as is_few from candidate) as state left join lateral (
      (select * from candidate as products where is_few and ${match} and ${after} order by ${orderBy} limit ${raw(limit)})
      ${scan}
    ) as products on true
    order by ${orderBy}`;
  const rows = await read<Joined<{ is_few: boolean }>>(db, search, statement);
  const [first] = rows;
  const page = rows.filter(isFound).map(({ is_few: _, ...row }) => row);
  return first!.is_few || page.length === limit ? page : undefined;
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
async function sortMatches(db: Database, search: Search): Promise<ProductRow[]> {
  const { field, order } = search.sort;
  const after = field === 'created_at' || field === 'product_id' ? afterCursor(search) : raw('true');
  // `offset 0` makes the filters alone decide how rows are found.
  const statement = sql`
    select ${raw(productColumns)}
    from (
      select * from products where ${ofPartners(search)} and ${matches(search)} and ${raw(isActive)} offset 0
    ) as products
    where ${after}
    order by ${raw(`${field} ${order} nulls last, product_id ${order}`)}
    limit ${raw(search.limit)}`;
  const trx = await beginTransaction(db, 'request');
  try {
    await trx.raw(sortSettingsSql);
    return await queryRows<ProductRow>(trx, statement.sql, statement.bindings);
  } finally {
    // Also of a savepoint: the settings end with it.
    await trx.rollback();
  }
}

/** Pages by price, brand, category or name. @returns undefined if all matches must be sorted */
async function readByKey(
  trx: Database,
  search: Search,
  field: KeyedField,
): Promise<ProductRow[] | undefined> {
  if (search.filters.length > 0) {
    const rows = await readFewOrScan(trx, search);
    if (rows) return rows;
  }
  return readGroups(trx, search, field);
}

/** Maximum number of groups of equal keys in one page that are longer than what `readKeys` reads. */
const groupsMax = 3;

/** @returns undefined after too many groups */
async function readGroups(
  trx: Database,
  search: Search,
  field: KeyedField,
): Promise<ProductRow[] | undefined> {
  const rows: ProductRow[] = [];
  const rest = () => ({ ...search, limit: search.limit - rows.length });
  const group = (value: Knex.Value): Search => ({
    ...rest(),
    filters: [withKey(field, value), ...search.filters],
    sort: { field: isWholeKey(field, value) ? 'product_id' : field, order: search.sort.order },
  });
  const readGroup = async (value: Knex.Value) =>
    (await readMatches(trx, group(value))) ?? (await sortMatches(trx, group(value)));
  let after: Knex.Value | undefined;
  for (let groups = 0; rows.length < search.limit; groups++) {
    const { page, boundary } = await readKeys(trx, rest(), field, after);
    rows.push(...page);
    if (boundary === null || rows.length >= search.limit) break;
    if (groups === (search.filters.length > 0 ? 1 : groupsMax)) return undefined;
    rows.push(...(await readGroup(boundary)));
    after = boundary;
  }
  if (rows.length < search.limit && field !== 'product_name') {
    rows.push(...(await readGroup(null)));
  }
  return rows;
}

/** Rows of each partner's index that `readKeys` reads. Without filters, more than a page only for the last group. */
function keysOfPartner({ partner, filters, limit }: Search): number {
  if (filters.length === 0) return limit + 40;
  return partner ? 2_000 + 100 * limit : 100 + 8 * limit;
}

/**
 * Merges the beginnings of the partners' indexes after a key.
 * @returns the products before the boundary, a key from which on something is missing; null if nothing is
 */
async function readKeys(
  db: Database,
  search: Search,
  field: KeyedField,
  after?: Knex.Value,
): Promise<{ page: ProductRow[]; boundary: string | null }> {
  const { order } = search.sort;
  const { where, orderBy } = keyedRange({ field, order }, after);
  const keys = keysOfPartner(search);
  const [last, first, before] = order === 'asc' ? ['max', 'min', '<'] : ['min', 'max', '>'];
  const statement = sql`
    with partner as materialized (${partnersSql(search)}), read as materialized (
      select read.*
      from partner cross join lateral (
        select partner_id, product_id, ${raw(keySql(field))} as key, ${raw(field)} as value, ${matches(search)} as is_match
        from products where ${where} and ${raw(isActive)}
        order by ${orderBy} limit ${raw(keys)}
      ) as read
    ), boundary as materialized (
      select ${raw(first)}(key) as boundary
      from (select ${raw(last)}(key) as key from read group by partner_id having count(*) = ${raw(keys)}) as last
    ), page as materialized (
      select partner_id, product_id
      from read cross join boundary
      where is_match and (boundary is null or key ${raw(before)} boundary)
      order by value ${raw(order)}, product_id ${raw(order)} limit ${raw(search.limit)}
    )
    select cast(boundary as text) as boundary, ${raw(productColumns)}
    from boundary left join (page join products using (partner_id, product_id)) on true
    order by ${raw(`${field} ${order} nulls last, product_id ${order}`)}`;
  const rows = await read<Joined<{ boundary: string | null }>>(db, search, statement);
  return {
    page: rows.filter(isFound).map(({ boundary: _, ...row }) => row),
    boundary: rows[0]!.boundary,
  };
}
