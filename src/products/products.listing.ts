import { queryRows, type Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { formatId } from '../shared/ids';
import { toPage, type Page } from '../shared/pagination';
import { productColumns, type ProductListing, type ProductRow } from './products.repository';
import { indexedCharacters, indexedKey, toSearch, type Condition, type Search } from './products.search';

/**
 * Reads a page of the catalog. Each order has an index, and two orders have one within some filters: such a page is an
 * index scan (`readInOrder`). For other filters, `findIdRange` first bounds the product numbers, which are close together
 * if one load inserted them. Then there are two ways:
 *
 * - `indexScan` scans the index of the order and filters a bounded number of rows: fast if many match;
 * - `bitmapSort` finds matching rows by bitmap scans and sorts them: fast if few match.
 *
 * The scan comes first; the sort follows if the scan does not fill the page. The planner's own choice scans the whole
 * catalog if filters exclude each other or the beginning of the order (a brand that is never out of stock, a category of
 * low prices only): statistics do not cover every combination. Slow case: a filter that matches many products, but few at
 * the beginning of the order.
 */

/** A range of an index, in the requested order. */
interface IndexRange {
  where: Condition;
  orderBy: string;
}

interface IdRange {
  from: number;
  to: number;
}

/** With fewer products than this, sorting needs no comparison with a scan. */
const fewProducts = 5_000;

/**
 * Bounds a filtered scan: enough rows for a page if 1 % match, or half of the estimated matches, as a sort of those takes
 * longer. Rows are stored by time and number: in these orders a row costs a tenth.
 */
function scannedRowsMax({ sort: { field }, limit }: Search, matching: number): number {
  const isStorageOrder = field === 'created_at' || field === 'product_id';
  return Math.max((isStorageOrder ? 4 : 1) * (2_000 + 100 * limit), Math.ceil(matching / 2));
}

/** Lists one page of products. Nulls come last in both directions; ties are by product number. */
export async function listProducts(db: Database, listing: ProductListing): Promise<Page<ProductRow>> {
  // One more row shows whether there is a next page.
  const rows = await readProducts(db, { ...listing, limit: listing.limit + 1 });
  return toPage(rows, listing.limit, ({ product_id }) => formatId('PR', product_id));
}

async function readProducts(db: Database, listing: ProductListing): Promise<ProductRow[]> {
  const search = await toSearch(db, listing);
  if (!search) return [];
  if (search.isFew) return bitmapSort(db, search);
  const read = (isCut: boolean) =>
    search.rest.length === 0
      ? readInOrder(db, search, indexRanges(search, isCut))
      : inTransaction(db, 'request', (trx) => readFiltered(trx, search, isCut));
  const rows = await read(false);
  // The index contains only the beginning of long texts, which do not determine the order.
  const mayBeCut = ({ [search.sort.field]: value }: ProductRow) =>
    typeof value === 'string' && value.length >= indexedCharacters;
  return rows.some(mayBeCut) ? read(true) : rows;
}

/** Reads a page with filters that the index of the order does not contain. */
async function readFiltered(trx: Database, search: Search, isCut: boolean): Promise<ProductRow[]> {
  await trx.raw(indexScanSettingsSql(isCut));
  const idRange = await findIdRange(trx, search);
  if (!idRange) return [];
  if (idRange.to - idRange.from >= fewProducts) {
    const rowsMax = scannedRowsMax(search, await estimate(trx, search));
    const page = await indexScan(trx, search, indexRanges(search, isCut, idRange), rowsMax);
    if (page) return page;
  }
  await trx.raw(bitmapSortSettingsSql);
  return bitmapSort(trx, search, idRange.to - idRange.from < fewProducts ? idRange : undefined);
}

/** Bounds the numbers of matching products; undefined if none matches. */
async function findIdRange(trx: Database, { numbered }: Search): Promise<IdRange | undefined> {
  if (numbered.length === 0) return { from: 0, to: Number.MAX_SAFE_INTEGER };
  const ends = numbered.map(({ key }, at) => {
    const end = (order: string) => `(
      select product_id from products where ${key} >= :value${at} and ${key} <= :value${at}
      order by ${key} ${order}, product_id ${order} limit 1
    )`;
    return `select ${end('asc')} as first, ${end('desc')} as last`;
  });
  const { rows } = await trx.raw<{ rows: [{ from: number | null; to: number | null; all: boolean }] }>(
    `select max(first) as from, min(last) as to, bool_and(first is not null) as all
     from (${ends.join(' union all ')}) as each_filter`,
    Object.fromEntries(numbered.map(({ value }, at) => [`value${at}`, value])) as never,
  );
  const [{ from, to, all }] = rows;
  return all && from! <= to! ? { from: from!, to: to! } : undefined;
}

/** Estimates the matches from statistics: about right for one filter, unreliable for several. */
async function estimate(trx: Database, search: Search): Promise<number> {
  const { sql, bindings } = conjunction(search.filters);
  const [row] = await select<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    trx,
    `explain (format json) select from products where ${sql}`,
    bindings,
  );
  return row!['QUERY PLAN'][0].Plan['Plan Rows'];
}

/**
 * Conditions and order as in the index, where nulls are last: a backward scan reads them first.
 * @param isCut - whether the index contains only the beginning of a value
 */
function indexRanges(search: Search, isCut: boolean, idRange?: IdRange): IndexRange[] {
  const { range, sort } = search;
  const { field, order } = sort;
  const key = indexedKey(field);
  const fields = [range?.key, key, isCut ? field : undefined, 'product_id'].filter(
    (each) => each !== undefined,
  );
  const orderBy = [...new Set(fields)].map((each) => `${each} ${order}`).join(', ');
  const within = conjunction([
    ...rangeBounds(search),
    ...afterCursor(search),
    ...inIdRange(idRange),
    ...belowVisibilityWatermark(search),
  ]);
  const isNullable = field === 'price' || field === 'brand' || field === 'category';
  if (order === 'asc' || !isNullable) return [{ where: within, orderBy }];
  return ['is not null', 'is null'].map((presence) => ({
    where: { sql: `${within.sql} and ${key} ${presence}`, bindings: within.bindings },
    orderBy,
  }));
}

/**
 * Bounds of the range. With `key = ?` the planner drops the key from the order, and may scan all products instead of the
 * range.
 */
function rangeBounds({ range, sort: { order }, afterProductId }: Search): Condition[] {
  if (!range) return [];
  const bindings = [range.value];
  const [end, begin] = order === 'asc' ? ['<=', '>='] : ['>=', '<='];
  const conditions = [{ sql: `${range.key} ${end} ?`, bindings }];
  if (afterProductId === undefined) conditions.push({ sql: `${range.key} ${begin} ?`, bindings });
  return conditions;
}

/** Starts after the cursor's product, by one row comparison on all index columns. */
function afterCursor({ range, sort: { field, order }, afterProductId }: Search): Condition[] {
  if (afterProductId === undefined) return [];
  const last = '(select created_at from products as last where last.product_id = ?)';
  const parts = [
    range && { column: range.key, sql: '?', bindings: [range.value] },
    field === 'created_at' && { column: 'created_at', sql: last, bindings: [afterProductId] },
    { column: 'product_id', sql: '?', bindings: [afterProductId] },
  ].filter((each) => !!each);
  const list = (of: 'column' | 'sql') => parts.map((part) => part[of]).join(', ');
  return [
    {
      sql: `(${list('column')}) ${order === 'asc' ? '>' : '<'} (${list('sql')})`,
      bindings: parts.flatMap(({ bindings }) => bindings),
    },
  ];
}

function inIdRange(idRange: IdRange | undefined): Condition[] {
  return idRange ? [{ sql: 'product_id between ? and ?', bindings: [idRange.from, idRange.to] }] : [];
}

/** Starts the scan below the products of loads in progress. Has no effect if a load that began later has committed. */
function belowVisibilityWatermark({ sort: { field } }: Search): Condition[] {
  if (field !== 'created_at') return [];
  return [{ sql: 'created_at <= (select max(created_at) from product_horizons)', bindings: [] }];
}

/** Page sizes, plus one row: the default and the maximum. */
const usualLimits = [11, 101];

async function readInOrder(
  db: Database,
  { limit, range }: Search,
  order: IndexRange[],
): Promise<ProductRow[]> {
  const rows: ProductRow[] = [];
  for (const { where, orderBy } of order) {
    const rowsMax = limit - rows.length;
    const sql = `select ${productColumns} from products where ${where.sql} order by ${orderBy} limit`;
    // Prepared statements get a generic plan: it assumes that an unknown limit is a tenth of all rows.
    const next =
      range === undefined && usualLimits.includes(rowsMax)
        ? await queryRows<ProductRow>(db, `${sql} ${rowsMax}`, where.bindings, true)
        : await select(db, `${sql} ?`, [...where.bindings, rowsMax]);
    rows.push(...next);
    if (rows.length === limit) break;
  }
  return rows;
}

/**
 * Allows index scans only.
 * @param isCut - whether rows with equal beginnings must be sorted
 */
const indexScanSettingsSql = (isCut: boolean) => `
  set local enable_sort = off;
  set local enable_incremental_sort = ${isCut ? 'on' : 'off'};
  set local enable_seqscan = off;
  set local enable_bitmapscan = off;
  set local max_parallel_workers_per_gather = 0;
  set local jit = off;
`;

/** @returns undefined if the page is not full and more rows may match */
async function indexScan(
  trx: Database,
  search: Search,
  order: IndexRange[],
  rowsMax: number,
): Promise<ProductRow[] | undefined> {
  const rows: ProductRow[] = [];
  for (const indexRange of order) {
    const { found, isWhole } = await scanFiltered(trx, search.rest, indexRange, {
      limit: search.limit - rows.length,
      rowsMax,
    });
    rows.push(...found);
    if (rows.length === search.limit) return rows;
    if (!isWhole) return undefined;
  }
  return rows;
}

/** Filters the first rows of a range. `isWhole`: the range has no more rows. */
async function scanFiltered(
  trx: Database,
  rest: Condition[],
  { where, orderBy }: IndexRange,
  { limit, rowsMax }: { limit: number; rowsMax: number },
): Promise<{ found: ProductRow[]; isWhole: boolean }> {
  const match = conjunction(rest);
  const rows = await select<ProductRow & { is_match: boolean | null; is_last: boolean }>(
    trx,
    `select ${productColumns}, is_match, is_last
     from (
       select *, ${match.sql} as is_match, row_number() over () = ? as is_last
       from (select * from products where ${where.sql} order by ${orderBy} limit ?) as scanned
     ) as products
     where is_match or is_last
     limit ?`,
    [...match.bindings, rowsMax, ...where.bindings, rowsMax, limit],
  );
  return {
    found: rows.filter(({ is_match }) => is_match).map(({ is_match: _, is_last: __, ...row }) => row),
    isWhole: rows.length < limit && !rows.some(({ is_last }) => is_last),
  };
}

/** Makes the planner use every index that saves table pages, whatever it estimates for combined filters. */
const bitmapSortSettingsSql = `
  set local enable_sort = on;
  set local enable_bitmapscan = on;
  set local enable_indexscan = off;
  set local seq_page_cost = 1000;
  set local random_page_cost = 1000;
  set local work_mem = '16MB';
`;

function bitmapSort(db: Database, search: Search, idRange?: IdRange): Promise<ProductRow[]> {
  const { field, order } = search.sort;
  const filters = conjunction([...search.filters, ...inIdRange(idRange)]);
  const after = conjunction(afterCursor({ ...search, range: undefined }));
  // `offset 0` makes the filters alone decide how rows are found.
  return select(
    db,
    `select ${productColumns}
     from (select * from products where ${filters.sql} offset 0) as products
     where ${after.sql}
     order by ${field} ${order} nulls last, product_id ${order}
     limit ?`,
    [...filters.bindings, ...after.bindings, search.limit],
  );
}

function conjunction(conditions: Condition[]): Condition {
  if (conditions.length === 0) return { sql: 'true', bindings: [] };
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(' and '),
    bindings: conditions.flatMap(({ bindings }) => bindings),
  };
}

function select<Row = ProductRow>(
  db: Database,
  sql: string,
  bindings: Condition['bindings'],
): Promise<Row[]> {
  return queryRows<Row>(db, sql, bindings);
}
