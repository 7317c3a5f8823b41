import type { Knex } from 'knex';
import type { Database } from '../../../base/db/database';
import { raw, sql, type Sql } from '../../../base/db/sql';
import { inSnapshot } from '../../../base/db/transaction';
import type { ProductRow } from '../products.repository';
import {
  firstRows,
  isListed,
  isWholeKey,
  keyedRange,
  keySql,
  matches,
  type KeyedSearch,
  type RowSearch,
} from '../products.search';
import { readByRow } from './plain-by-row';
import { readPage, sortFew, sortFound, sortMatches } from './plain-sorted';

/** Pages by price, brand, category or name. */
export async function readByKey(db: Database, search: KeyedSearch): Promise<ProductRow[]> {
  const sorted = (await sortFound(db, search)) ?? (await sortFew(db, search));
  if (sorted) return sorted;
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
