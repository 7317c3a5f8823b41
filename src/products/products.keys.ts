import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { raw, sql } from '../db/sql';
import { inSnapshot } from '../db/transaction';
import { readFewOrScan, readMatches, readPage, sortMatches } from './products.matches';
import type { ProductRow } from './products.repository';
import {
  isActive,
  isWholeKey,
  keyedRange,
  keySql,
  matches,
  partnersSql,
  type KeyedSearch,
  type RowSearch,
  type Search,
} from './products.search';

/** Pages by price, brand, category or name. @returns undefined if all matches must be sorted */
export async function readByKey(db: Database, search: KeyedSearch): Promise<ProductRow[] | undefined> {
  if (search.filters.length > 0) {
    const rows = await readFewOrScan(db, search);
    if (rows) return rows;
  }
  // Most prices and names are of few products: one statement finds the page. Most brands and categories are of many.
  const { field } = search.sort;
  if (field === 'price' || field === 'product_name') {
    const { page, boundary } = await readKeys(db, search);
    // Every product has a name.
    if (page.length === search.limit || (boundary === null && field === 'product_name')) return page;
  }
  // The page takes several statements, which must agree: the first one is repeated.
  return inSnapshot(db, (trx) => readGroups(trx, search));
}

/** Maximum number of groups of equal keys in one page that are longer than what `readKeys` reads. */
const groupsMax = 3;

/** @returns undefined after too many groups */
async function readGroups(trx: Database, search: KeyedSearch): Promise<ProductRow[] | undefined> {
  const { field, order } = search.sort;
  const rows: ProductRow[] = [];
  const rest = () => ({ ...search, limit: search.limit - rows.length });
  const readGroup = async (value: Knex.Value): Promise<ProductRow[]> => {
    const group: KeyedSearch = { ...rest(), filters: [{ key: field, value }, ...search.filters] };
    if (!isWholeKey(field, value)) return (await readFewOrScan(trx, group)) ?? sortMatches(trx, group);
    const byNumber: RowSearch = { ...group, sort: { field: 'product_id', order } };
    return (await readMatches(trx, byNumber)) ?? sortMatches(trx, byNumber);
  };
  let after: Knex.Value | undefined;
  for (let groups = 0; rows.length < search.limit; groups++) {
    const { page, boundary } = await readKeys(trx, rest(), after);
    rows.push(...page);
    if (boundary === null || rows.length >= search.limit) break;
    if (groups === (isSelective(search) ? 1 : groupsMax)) return undefined;
    rows.push(...(await readGroup(boundary)));
    after = boundary;
  }
  if (rows.length < search.limit && field !== 'product_name') {
    rows.push(...(await readGroup(null)));
  }
  return rows;
}

/** Whether not all products of an order match. */
const isSelective = ({ filters, words }: Search) => filters.length > 0 || words !== undefined;

/** Rows of each partner's index that `readKeys` reads. If all match, more than a page only for the last group. */
function keysOfPartner(search: Search): number {
  const { partner, limit } = search;
  if (!isSelective(search)) return limit + 40;
  return partner ? 2_000 + 100 * limit : 100 + 8 * limit;
}

/**
 * Merges the beginnings of the partners' indexes after a key.
 * @returns the products before the boundary, a key from which on something is missing; null if nothing is
 */
async function readKeys(
  db: Database,
  search: KeyedSearch,
  after?: Knex.Value,
): Promise<{ page: ProductRow[]; boundary: Knex.Value }> {
  const { field, order } = search.sort;
  const { where, orderBy } = keyedRange(search.sort, after);
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
    select cast(boundary as text), partner_id, product_id from boundary left join page on true`;
  const { state, products } = await readPage(db, search, statement);
  // A price, as an integer, can exceed the safe integers.
  const boundary = field === 'price' && state !== null ? BigInt(state) : state;
  return { page: products, boundary: boundary as Knex.Value };
}
