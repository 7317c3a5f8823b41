import { queryRows, type Database } from '../../../base/db/database';
import { allOf, raw, sql, type Sql } from '../../../base/db/sql';
import { rowColumns, usualLimit, withoutExcessSql, type ProductRow } from '../products.repository';
import {
  afterCursor,
  allMatches,
  candidates,
  isListed,
  ofPartners,
  orderOf,
  otherMatches,
  partnerCondition,
  partnersSql,
  type Search,
} from '../products.search';
import { findByWords, isAmong } from '../search-words.repository';

/* Pages that are sorted: of the few products with a value or with words, or of all matches. */

/** Whether the statements of a search are prepared: only ordinary first and later pages, which have few texts. */
export const isUsual = ({ filters, words, includesWithdrawn, limit }: Search): boolean =>
  filters.length <= 1 && !words && !includesWithdrawn && limit === usualLimit;

/** Maximum number of products that are sorted instead of merging keys: some milliseconds. */
const fewProducts = 5_000;

/**
 * Sorts the products with the value of the first filter, if these are few.
 * @returns undefined if more products have it, or without a filter
 */
export async function sortFew(db: Database, search: Search): Promise<ProductRow[] | undefined> {
  if (search.filters.length === 0) return undefined;
  const tables = sql`${isFewSql(search, fewProducts)}, page as materialized (${sortFewSql(search, fewProducts)})`;
  const { state, products } = await readPage(db, search, tables);
  return state === 'true' ? products : undefined;
}

/**
 * The first products, by partner and number, that have the value of the first filter, if `state` says that these are few.
 * @param max - their maximum number; the limit tells the planner
 */
function sortFewSql(search: Search, max: number): Sql {
  const { where, orderBy } = candidates(search);
  const columns = [...new Set(['partner_id', 'product_id', search.sort.field])].join(', ');
  const limit = raw(`limit ${max}`);
  return sql`
    select partner_id, product_id
    from (
      select candidate.* from partner cross join lateral (
        select ${raw(columns)}, ${allOf([otherMatches(search), afterCursor(search)])} as is_match from products
        where ${where} and ${isListed(search)} order by ${orderBy} ${limit}
      ) as candidate
      where (select state from state)
      ${limit}
    ) as products
    where is_match
    order by ${orderOf(search)} limit ${raw(search.limit)}`;
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

/** Maximum number of products with the words of a search that are read by their keys and sorted, in about 20 ms. */
const sortedWords = 5_000;

/**
 * Sorts the products with the words of a search, if these are few.
 * @returns undefined if more products have them, or without words
 */
export async function sortFound(db: Database, search: Search): Promise<ProductRow[] | undefined> {
  const { words } = search;
  if (!words) return undefined;
  const found = await findByWords(db, words, partnerCondition(search), sortedWords);
  return (
    found && sortMatches(db, search, allOf([isAmong(found), allMatches({ ...search, words: undefined })]))
  );
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
export async function readPage(db: Database, search: Search, tables: Sql): Promise<Page> {
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
