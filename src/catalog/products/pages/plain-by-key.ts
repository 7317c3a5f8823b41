import type { Knex } from 'knex';
import { queryRows, type Database } from '../../../base/db/database';
import { raw, sql, type Sql } from '../../../base/db/sql';
import { inSnapshot } from '../../../base/db/transaction';
import { rowColumns, withoutExcessSql, type ProductRow } from '../products.repository';
import { isFewSql, isUsual, readByRow, sortMatches } from './plain-by-row';
import {
  candidates,
  firstRows,
  isListed,
  isWholeKey,
  keyedRange,
  keySql,
  matches,
  orderOf,
  otherMatches,
  partnersSql,
  type KeyedSearch,
  type RowSearch,
} from '../products.search';

/** Pages by price, brand, category or name. */
export async function readByKey(db: Database, search: KeyedSearch): Promise<ProductRow[]> {
  if (search.filters.length > 0) {
    const rows = await sortFew(db, search);
    if (rows) return rows;
  }
  // Few products share a price or name: one statement finds the page. Many share a brand or category.
  const { field } = search.sort;
  if (field === 'price' || field === 'product_name') {
    const { page, boundary } = await readKeys(db, search);
    // Every product has a name.
    if (page.length === search.limit || (boundary === null && field === 'product_name')) return page;
  }
  // The page takes several statements, which must agree: the first one is repeated.
  return inSnapshot(db, (trx) => readGroups(trx, search));
}

/** Maximum number of products that are sorted instead of merging keys: some milliseconds. */
const fewProducts = 5_000;

/** @returns undefined if more products have the value of the first filter */
async function sortFew(db: Database, search: KeyedSearch): Promise<ProductRow[] | undefined> {
  const tables = sql`${isFewSql(search, fewProducts)}, page as materialized (${sortFewSql(search, fewProducts)})`;
  const { state, products } = await readPage(db, search, tables);
  return state === 'true' ? products : undefined;
}

/**
 * The first products, by partner and number, that have the value of the first filter, if `state` says that these are few.
 * @param max - their maximum number; the limit tells the planner
 */
function sortFewSql(search: KeyedSearch, max: number): Sql {
  const { where, orderBy } = candidates(search);
  const columns = [...new Set(['partner_id', 'product_id', search.sort.field])].join(', ');
  const limit = raw(`limit ${max}`);
  return sql`
    select partner_id, product_id
    from (
      select candidate.* from partner cross join lateral (
        select ${raw(columns)}, ${otherMatches(search)} as is_match from products
        where ${where} and ${isListed(search)} order by ${orderBy} ${limit}
      ) as candidate
      where (select state from state)
      ${limit}
    ) as products
    where is_match
    order by ${orderOf(search)} limit ${raw(search.limit)}`;
}

async function readGroups(trx: Database, search: KeyedSearch): Promise<ProductRow[]> {
  const { field, order } = search.sort;
  const rows: ProductRow[] = [];
  const rest = () => ({ ...search, limit: search.limit - rows.length });
  const readGroup = (value: Knex.Value): Promise<ProductRow[]> => {
    const group: KeyedSearch = { ...rest(), filters: [{ key: field, value }, ...search.filters] };
    const byNumber: RowSearch = { ...group, sort: { field: 'product_id', order } };
    return isWholeKey(field, value) ? readByRow(trx, byNumber) : sortMatches(trx, group);
  };
  let after: Knex.Value | undefined;
  while (rows.length < search.limit) {
    const { page, boundary } = await readKeys(trx, rest(), after);
    rows.push(...page);
    if (boundary === null || rows.length === search.limit) break;
    // Without filters, the first group fills the page.
    if (after !== undefined) return sortMatches(trx, search);
    rows.push(...(await readGroup(boundary)));
    after = boundary;
  }
  if (rows.length < search.limit && field !== 'product_name') {
    rows.push(...(await readGroup(null)));
  }
  return rows;
}

/** Rows of each partner's index that `readKeys` reads. If all match, the rest of a longer group of equal keys fills the page. */
function rowsOfPartner(search: KeyedSearch): number {
  const { partner, filters, words, limit } = search;
  if (filters.length === 0 && !words) return usualRows(limit);
  return partner ? 2_000 + 100 * limit : 200;
}

const usualRows = (limit: number) => limit + 40;

/**
 * Merges the beginnings of the partners' indexes after a key.
 * @returns the products before the boundary, the first key with missing products; null if none are missing
 */
async function readKeys(
  db: Database,
  search: KeyedSearch,
  after?: Knex.Value,
): Promise<{ page: ProductRow[]; boundary: Knex.Value }> {
  const { partner, sort } = search;
  const { where, orderBy } = keyedRange(search, after);
  const rows = rowsOfPartner(search);
  // Further partners have no product among the first ones.
  const partners = usualRows(search.limit);
  const isAscending = sort.order === 'asc';
  const [first, last] = (isAscending ? ['min', 'max'] : ['max', 'min']).map(raw) as [Sql, Sql];
  const order = raw(sort.order);
  const inOrder = (values: Sql, limit: Sql) => sql`
    select ${values} from products where ${where} and ${isListed(search)} order by ${orderBy} ${limit}`;
  const key = sql`${raw(keySql(sort.field))} as key`;
  const tables = sql`
    first_key as materialized (
      select partner_id, key from partner cross join lateral (${inOrder(key, raw('limit 1'))}) as first_key
      order by key ${order} limit ${raw(partners + 1)}
    ), read as materialized (
      select read.*
      from (select partner_id from first_key order by key ${order} limit ${raw(partners)}) as partner
      cross join lateral (${inOrder(
        sql`partner_id, product_id, ${raw(sort.field)} as value, ${key}, ${matches(search)} as is_match`,
        // The limit of all partners is small. With the estimate of a tenth of all products, the statement would be compiled first.
        partner ? firstRows(rows) : raw(`limit ${rows}`),
      )}) as read
    ), state as materialized (
      select ${first}(key) as state
      from (
        select ${last}(key) as key from read group by partner_id having count(*) = ${raw(rows)}
        union all (select key from first_key order by key ${order} offset ${raw(partners)})
      ) as missing
    ), page as materialized (
      select partner_id, product_id from read cross join state
      where is_match and (state is null or key ${raw(isAscending ? '<' : '>')} state)
      order by value ${order}, product_id ${order} limit ${raw(search.limit)}
    )`;
  const { state, products } = await readPage(db, search, tables);
  // A price, as an integer, can exceed the safe integers.
  const boundary = sort.field === 'price' && state !== null ? BigInt(state) : state;
  return { page: products, boundary: boundary as Knex.Value };
}

/** Products with the state of their statement. */
interface Page {
  state: string | null;
  products: ProductRow[];
}

/** A product of a page with the state, which is the same in all rows, or the state alone. */
type PageRow = { state: string | null } & (ProductRow | { product_id: null });

function hasProduct(row: PageRow): row is { state: string | null } & ProductRow {
  return row.product_id !== null;
}

/**
 * Reads the products of a page.
 * @param tables - `page`, partner and number of each, and `state`, one value; from `partner`, the partners to look into
 */
async function readPage(db: Database, search: KeyedSearch, tables: Sql): Promise<Page> {
  const statement = sql`
    with partner as materialized (${partnersSql(search)}), ${tables}
    select cast(state as text) as state, ${raw(rowColumns)}
    from state left join page on true left join products using (partner_id, product_id)
    order by ${orderOf(search)}`;
  const page = withoutExcessSql(statement, search.limit, 'state, partner_name');
  const rows = await queryRows<PageRow>(db, page, isUsual(search));
  return {
    state: rows[0]?.state ?? null,
    products: rows.filter(hasProduct).map(({ state: _, ...product }) => product),
  };
}
