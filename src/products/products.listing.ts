import { queryRows, type Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { formatId } from '../shared/ids';
import { toPage, type Page } from '../shared/pagination';
import { productColumns, type ProductListing, type ProductRow } from './products.repository';
import { indexedCharacters, indexedKey, toSearch, type Condition, type Search } from './products.search';

/**
 * How a page of the catalog is read. Each order has an index, and two orders have one within some filters: such a page is
 * read from it (`follow`). Other filters first tell between which product numbers their products lie (`findSpan`), which
 * is not far where they came in one load; then there are two ways:
 *
 * - `walk` follows the order within that span and leaves out what does not match, for so many rows: right where much
 *   matches;
 * - `gather` finds what matches by the indexes of the filters, and sorts it: right where little does.
 *
 * The walk is tried, and gathering follows where it does not fill the page. The planner, which would choose one by its
 * estimate, walks through the whole catalog where filters exclude each other, or the order (a brand that is never out of
 * stock, a category that is all cheap): no statistics tell that of every combination. What is left slow is a filter that
 * much of the catalog matches, but little of the beginning of the order: all of that is sorted.
 */

/** Rows that an index has in one piece, in the order that is wanted. */
interface Stretch {
  where: Condition;
  orderBy: string;
}

/** The lowest and the highest number of a product. */
interface Span {
  from: number;
  to: number;
}

/** So many products are sorted without a look at other ways. */
const fewProducts = 5_000;

/**
 * How many rows are walked: enough for a page where one in a hundred matches; or half as many as are thought to match, for
 * to gather those takes longer. Rows are stored by time and by number: in these orders each takes a tenth of the time.
 */
function walkedRows({ sort: { field }, limit }: Search, matching: number): number {
  const isStoredSo = field === 'created_at' || field === 'product_id';
  return Math.max((isStoredSo ? 4 : 1) * (2_000 + 100 * limit), Math.ceil(matching / 2));
}

/** One page of products. Nulls are last in both directions, ties are by product number. */
export async function listProducts(db: Database, listing: ProductListing): Promise<Page<ProductRow>> {
  // One more than asked for, which tells whether more exist.
  const rows = await readProducts(db, { ...listing, limit: listing.limit + 1 });
  return toPage(rows, listing.limit, ({ product_id }) => formatId('PR', product_id));
}

async function readProducts(db: Database, listing: ProductListing): Promise<ProductRow[]> {
  const search = await toSearch(db, listing);
  if (!search) return [];
  if (search.isFew) return sort(db, search);
  const read = (isCut: boolean) =>
    search.rest.length === 0
      ? follow(db, search, stretches(search, isCut))
      : inTransaction(db, 'request', (trx) => find(trx, search, isCut));
  const rows = await read(false);
  // Texts that an index has no room for may begin alike and end differently.
  const mayBeCut = ({ [search.sort.field]: value }: ProductRow) =>
    typeof value === 'string' && value.length >= indexedCharacters;
  return rows.some(mayBeCut) ? read(true) : rows;
}

/** Reads a page with filters that the index of its order does not have. */
async function find(trx: Database, search: Search, isCut: boolean): Promise<ProductRow[]> {
  await trx.raw(walkSettingsSql(isCut));
  const span = await findSpan(trx, search);
  if (!span) return [];
  if (span.to - span.from >= fewProducts) {
    const rowsMax = walkedRows(search, await estimate(trx, search));
    const page = await walk(trx, search, stretches(search, isCut, span), rowsMax);
    if (page) return page;
  }
  await trx.raw(gatherSettingsSql);
  return sort(trx, search, span.to - span.from < fewProducts ? span : undefined);
}

/** Between which numbers all products lie that match; undefined when none does. */
async function findSpan(trx: Database, { numbered }: Search): Promise<Span | undefined> {
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

/** How many products match, as far as the statistics tell: about right for one filter, anything for several. */
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
 * The order as indexes have it: nulls are last in them, hence first when they are read backwards.
 * @param isCut - whether the index may hold only the beginning of a value
 */
function stretches(search: Search, isCut: boolean, span?: Span): Stretch[] {
  const { range, sort } = search;
  const { field, order } = sort;
  const key = indexedKey(field);
  const fields = [range?.key, key, isCut ? field : undefined, 'product_id'].filter(
    (each) => each !== undefined,
  );
  const orderBy = [...new Set(fields)].map((each) => `${each} ${order}`).join(', ');
  const within = conjunction([...ends(search), ...start(search), ...inSpan(span), ...beforeHorizon(search)]);
  const isNullable = field === 'price' || field === 'brand' || field === 'category';
  if (order === 'asc' || !isNullable) return [{ where: within, orderBy }];
  return ['is not null', 'is null'].map((presence) => ({
    where: { sql: `${within.sql} and ${key} ${presence}`, bindings: within.bindings },
    orderBy,
  }));
}

/**
 * Where the range ends, and where it begins unless the page starts within it. For `key = ?` the planner would take an
 * order by the key away, and might then follow the order through all products instead of the range.
 */
function ends({ range, sort: { order }, afterProductId }: Search): Condition[] {
  if (!range) return [];
  const bindings = [range.value];
  const [end, begin] = order === 'asc' ? ['<=', '>='] : ['>=', '<='];
  const conditions = [{ sql: `${range.key} ${end} ?`, bindings }];
  if (afterProductId === undefined) conditions.push({ sql: `${range.key} ${begin} ?`, bindings });
  return conditions;
}

/** After the product that the page starts after: one comparison of all that the index has, which is sought in it. */
function start({ range, sort: { field, order }, afterProductId }: Search): Condition[] {
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

function inSpan(span: Span | undefined): Condition[] {
  return span ? [{ sql: 'product_id between ? and ?', bindings: [span.from, span.to] }] : [];
}

/**
 * True of every product that can be seen, and where an index is begun at: behind it are those of loads that go on. It says
 * nothing where another load that began later has ended since.
 */
function beforeHorizon({ sort: { field } }: Search): Condition[] {
  if (field !== 'created_at') return [];
  return [{ sql: 'created_at <= (select max(created_at) from product_horizons)', bindings: [] }];
}

/** Those of a page, by default and at most, and the one that tells whether more exist. */
const usualLimits = [11, 101];

/** The first rows. */
async function follow(db: Database, { limit, range }: Search, order: Stretch[]): Promise<ProductRow[]> {
  const rows: ProductRow[] = [];
  for (const { where, orderBy } of order) {
    const rowsMax = limit - rows.length;
    const sql = `select ${productColumns} from products where ${where.sql} order by ${orderBy} limit`;
    // The planner keeps a plan for a limit that it knows, and thinks a tenth of all rows of one that it does not.
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
 * Only an index has the order then.
 * @param isCut - whether it has but the beginning of it, and those that begin alike are still to be sorted
 */
const walkSettingsSql = (isCut: boolean) => `
  set local enable_sort = off;
  set local enable_incremental_sort = ${isCut ? 'on' : 'off'};
  set local enable_seqscan = off;
  set local enable_bitmapscan = off;
  set local max_parallel_workers_per_gather = 0;
  set local jit = off;
`;

/** @returns undefined when there may be more than was found */
async function walk(
  trx: Database,
  search: Search,
  order: Stretch[],
  rowsMax: number,
): Promise<ProductRow[] | undefined> {
  const rows: ProductRow[] = [];
  for (const stretch of order) {
    const { found, isWhole } = await pick(trx, search.rest, stretch, {
      limit: search.limit - rows.length,
      rowsMax,
    });
    rows.push(...found);
    if (rows.length === search.limit) return rows;
    if (!isWhole) return undefined;
  }
  return rows;
}

/** The rows that match among the first ones of a stretch, and whether it has no others. */
async function pick(
  trx: Database,
  rest: Condition[],
  { where, orderBy }: Stretch,
  { limit, rowsMax }: { limit: number; rowsMax: number },
): Promise<{ found: ProductRow[]; isWhole: boolean }> {
  const match = conjunction(rest);
  const rows = await select<ProductRow & { is_match: boolean | null; is_last: boolean }>(
    trx,
    `select ${productColumns}, is_match, is_last
     from (
       select *, ${match.sql} as is_match, row_number() over () = ? as is_last
       from (select * from products where ${where.sql} order by ${orderBy} limit ?) as walked
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

/**
 * Has the planner take every index of a filter that spares it pages of the table, whatever it makes of the filters taken
 * together: pages are all that counts.
 */
const gatherSettingsSql = `
  set local enable_sort = on;
  set local enable_bitmapscan = on;
  set local enable_indexscan = off;
  set local seq_page_cost = 1000;
  set local random_page_cost = 1000;
  set local work_mem = '16MB';
`;

/** Finds all that matches, and sorts it. */
function sort(db: Database, search: Search, span?: Span): Promise<ProductRow[]> {
  const { field, order } = search.sort;
  const filters = conjunction([...search.filters, ...inSpan(span)]);
  const after = conjunction(start({ ...search, range: undefined }));
  // `offset 0`: the filters decide how rows are found, and neither the order nor the start does.
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
