import type { Knex } from 'knex';
import { allOf, listOf, raw, sql, type Sql } from '../../base/db/sql';
import { parseId } from '../../base/ids';
import type { ProductListing, SortField, SortOrder } from './products.repository';
import { hasWords, isFoundByWords } from './search-words.repository';

/** Column or expression with an index of its own, in which it follows the partner. */
type Key = 'sku' | 'feed_id' | 'price' | 'brand' | 'category' | 'product_name' | 'availability';

/** Length of the beginning of a long text in the index, in characters. */
const indexedCharacters = { category: 600, product_name: 24 };

/** The expressions of the indexes. Prices are compared as integers, ten-thousandths of the currency. */
const indexedSql: Record<Key, string> = {
  sku: 'sku',
  feed_id: 'feed_id',
  price: 'cast(price * 10000 as bigint)',
  brand: 'brand',
  category: `left(category, ${indexedCharacters.category})`,
  product_name: `left(product_name, ${indexedCharacters.product_name})`,
  availability: 'availability',
};

/** Orders with cursors: an index over all products exists for each. */
type RowField = 'created_at' | 'product_id';

/** A field with an index of its order only within a partner. */
export type KeyedField = Exclude<SortField, RowField>;

/** Products with one value of a key. */
export interface Filter {
  key: Key;
  /** The value in the index; null selects products without one. */
  value: Knex.Value;
  /** Further condition, if the index contains only the beginning of the value. */
  exact?: Sql;
}

/** A listing in terms of the indexes. */
export type Search = RowSearch | KeyedSearch;
export type RowSearch = SearchBy<RowField>;
export type KeyedSearch = SearchBy<KeyedField>;

export const isKeyed = (search: Search): search is KeyedSearch =>
  search.sort.field !== 'created_at' && search.sort.field !== 'product_id';

interface SearchBy<Field extends SortField> {
  /** The only partner, as a scalar subquery; absent: all partners. */
  partner?: Sql;
  /** The first filter finds candidates: the others are usually less selective. */
  filters: readonly Filter[];
  words?: readonly string[];
  sort: { field: Field; order: SortOrder };
  afterProductId?: number;
  /** Whether that product must be one of the partner. */
  startsInPartner: boolean;
  /** Creation time of that product; only where products are distributed. */
  afterCreatedAt?: string;
  limit: number;
  includesWithdrawn: boolean;
}

/** The condition of the products of a search, besides its filters. */
export const isListed = ({ includesWithdrawn }: Pick<Search, 'includesWithdrawn'>): Sql =>
  raw(includesWithdrawn ? 'true' : isActive);

export const isActive = 'withdrawn_at is null';

/** The latest creation of visible products, or a later moment: see migration 20261122050000. */
const horizon = '(select max(created_at) from product_horizons)';

/** Excludes products of loads in progress, unless a load that began later has committed. */
const beforeHorizon = `created_at <= ${horizon}`;

/**
 * Translates a listing; undefined if nothing can match.
 * @param afterCreatedAt - creation time of the product that the page follows, a timestamp of PostgreSQL
 */
export function toSearch(listing: ProductListing, afterCreatedAt?: string): Search | undefined {
  const { scope, filter, sort, afterProductId, limit } = listing;
  const partnerName = scope ?? filter.partner_name;
  if (filter.partner_name !== undefined && filter.partner_name !== partnerName) return undefined;
  const feedId = filter.feed_id === undefined ? undefined : parseId('FD', filter.feed_id);
  if (filter.feed_id !== undefined && feedId === undefined) return undefined;

  const filters: Filter[] = [];
  if (filter.sku !== undefined) filters.push({ key: 'sku', value: filter.sku });
  if (feedId !== undefined) filters.push({ key: 'feed_id', value: feedId });
  if (filter.category !== undefined) filters.push(categoryFilter(filter.category));
  if (filter.brand !== undefined) filters.push({ key: 'brand', value: filter.brand });
  if (filter.availability !== undefined) filters.push({ key: 'availability', value: filter.availability });

  // Within one brand or category, that order is the order by number.
  const isOneValue =
    (sort.field === 'brand' || sort.field === 'category') && filter[sort.field] !== undefined;
  return {
    partner: partnerOf(partnerName, feedId),
    filters,
    words: filter.words,
    sort: { field: isOneValue ? 'product_id' : sort.field, order: sort.order },
    afterProductId,
    startsInPartner: scope !== null,
    afterCreatedAt,
    limit,
    includesWithdrawn: filter.include_withdrawn ?? false,
  } as Search;
}

function partnerOf(partnerName: string | undefined, feedId: number | undefined): Sql | undefined {
  if (partnerName !== undefined)
    return sql`(select partner_id from partners where partner_name = ${partnerName})`;
  return feedId === undefined ? undefined : sql`(select partner_id from feeds where feed_id = ${feedId})`;
}

function categoryFilter(category: string): Filter {
  const value = [...category].slice(0, indexedCharacters.category).join('');
  return {
    key: 'category',
    value,
    ...(isCut('category', category) && { exact: sql`category = ${category}` }),
  };
}

/** Whether an index may contain only the beginning of texts that begin like this one. */
const isCut = (key: keyof typeof indexedCharacters, text: string) =>
  [...text].length >= indexedCharacters[key];

/** The conditions of all filters and words, for the rows of a scan. */
export const matches = (search: Search): Sql => ofRows(search, bind);

/**
 * The same for a prepared scan. The planner does not know the values: with them, PostgreSQL would plan each execution, because it
 * expects less work for a frequent value, and always choose the same plan.
 */
export const scanMatches = (search: Search): Sql =>
  ofRows(search, (key, value) => sql`(select cast(${value} as ${raw(isNumber(key) ? 'bigint' : 'text')}))`);

/** Prices too: see `indexedSql`. */
const isNumber = (key: Key) => key === 'feed_id' || key === 'price';

/** The same for products in the range of the first filter. */
export function otherMatches(search: Search): Sql {
  const [first, ...others] = search.filters;
  return allOf([...(first!.exact ? [first!.exact] : []), matches({ ...search, filters: others })]);
}

/** The same conditions for a statement that reads all matches. */
export function allMatches({ filters, words }: Search): Sql {
  const conditions = filters.flatMap((filter) => [ofValue(filter), ...(filter.exact ? [filter.exact] : [])]);
  return allOf([...conditions, ...(words ? [isFoundByWords(words)] : [])]);
}

const ofRows = ({ filters, words }: Search, binding: Binding) =>
  allOf([...filters.map((filter) => ofRow(filter, binding)), ...(words ? [hasWords(words)] : [])]);

/** The condition on a row. Comparing a whole text is faster than comparing the indexed beginning. */
function ofRow(filter: Filter, binding: Binding): Sql {
  const { key, value, exact } = filter;
  if (exact) return exact;
  const isWhole = isLongText(key) && value !== null && isWholeKey(key, value);
  return isWhole ? sql`${raw(key)} = ${binding(key, value)}` : ofValue(filter, binding);
}

const ofValue = ({ key, value }: Filter, binding = bind) =>
  value === null ? raw(`${indexedSql[key]} is null`) : sql`${raw(indexedSql[key])} = ${binding(key, value)}`;

/** How a statement receives a value of a filter. */
type Binding = (key: Filter['key'], value: Knex.Value) => Sql;

const bind: Binding = (_, value) => sql`${value}`;

/** Selects the partners to look into. A first load in progress has many keys, and no visible product. */
export function partnersSql({ partner, includesWithdrawn }: Search): Sql {
  if (partner) return sql`select ${partner} as partner_id`;
  if (includesWithdrawn) return raw('select partner_id from partners');
  return raw(`
    select partner_id from ${horizon} as horizon (latest) cross join partners cross join lateral (
      select from products
      where products.partner_id >= partners.partner_id and products.partner_id <= partners.partner_id
        and created_at <= latest and ${isActive}
      order by products.partner_id, created_at limit 1
    ) as any_product
  `);
}

/** The condition that products belong to the only partner, if there is one. */
export function partnerCondition({ partner }: Search): Sql {
  return partner ? sql`partner_id = ${partner}` : raw('true');
}

/** The same for indexes that begin with the partner: without an only partner, all partners are named. */
export function ofPartners(search: Search): Sql {
  return search.partner
    ? partnerCondition(search)
    : raw('partner_id = any (array(select partner_id from partners))');
}

export interface IndexRange {
  where: Sql;
  orderBy: Sql;
}

/**
 * Limits the rows of an index in its order. For a limit in a subquery, the planner assumes a tenth of the rows: the index then
 * always costs less than a sort, independent of its estimate for a partner.
 */
export const firstRows = (rows: number): Sql => raw(`limit (select ${rows})`);

/** The products of table `partner` with the value of the first filter, in the order of its index. The index may be read for any value. */
export function candidates({ filters }: Search): IndexRange {
  const { key, value } = filters[0]!;
  const indexed = raw(indexedSql[key]);
  const isValue =
    value === null ? sql`${indexed} is null` : sql`${indexed} >= ${value} and ${indexed} <= ${value}`;
  return {
    where: sql`products.partner_id = partner.partner_id and ${isValue}`,
    orderBy: indexed,
  };
}

export const keySql = (field: KeyedField) => indexedSql[field];

/** The products of table `partner` that have a value, in its order, after the key `after`. */
export function keyedRange({ sort: { field, order } }: KeyedSearch, after?: Knex.Value): IndexRange {
  const key = raw(indexedSql[field]);
  const isAfter =
    after === undefined ? sql`${key} is not null` : sql`${key} ${raw(order === 'asc' ? '>' : '<')} ${after}`;
  return {
    where: sql`products.partner_id = partner.partner_id and ${isAfter}`,
    orderBy: sql`${key} ${raw(order)}`,
  };
}

/** Whether products with the same key have the same value. */
export const isWholeKey = (field: KeyedField, value: unknown): boolean =>
  !isLongText(field) || value === null || !isCut(field, value as string);

const isLongText = (key: Key): key is keyof typeof indexedCharacters => key in indexedCharacters;

/** The order of a page: nulls last, ties by product number. */
export function orderOf({ sort: { field, order } }: Search): Sql {
  return raw(`${field} ${order} nulls last, product_id ${order}`);
}

/**
 * The products in the orders with cursors, by time and by number, of the row of table `partner` if the search has a partner; by
 * number, a feed is a range too. Partner and feed are inequalities and a part of the order: for `partner_id = ?`, the planner may
 * read the index of all partners instead.
 */
export function rowRange(search: RowSearch): IndexRange {
  const { partner, filters, sort } = search;
  const { field, order } = sort;
  const feedId = filters.find(({ key }) => key === 'feed_id')?.value;
  const within: [string, Sql][] = partner ? [['partner_id', raw('partner.partner_id')]] : [];
  if (field === 'product_id' && feedId !== undefined) within.push(['feed_id', sql`${feedId}`]);
  const cursor = cursorOf(search);
  const [after, from, until] = order === 'asc' ? ['>', '>=', '<='] : ['<', '<=', '>='];
  // Start and end of the index range come first: after an inequality, PostgreSQL reads all further entries for another one.
  const conditions = [
    cursor.length > 0 ? compare([...within, ...cursor], after) : compare(within, from),
    compare(within, until),
    ...within.flatMap((one) => [compare([one], '>='), compare([one], '<=')]),
  ];
  if (field === 'created_at') {
    conditions.push(raw(beforeHorizon));
    if (feedId !== undefined) conditions.push(fromFeed(search, feedId));
  }
  return {
    where: allOf([...conditions, isListedIn(search)]),
    orderBy: raw([...within, ...keysOf(search)].map(([name]) => `${name} ${order}`).join(', ')),
  };
}

/** By number, the condition is written so that the index by time, of active products only, does not seem better. */
function isListedIn(search: RowSearch): Sql {
  const isByNumber = search.sort.field === 'product_id' && !search.includesWithdrawn;
  return isByNumber ? raw('num_nulls(withdrawn_at) = 1') : isListed(search);
}

/**
 * Skips the products of other feeds by their numbers, which the index by time has: a feed's products are mostly consecutive. For a
 * range of times, the planner expects few rows, so this index costs less than the index by number and a sort.
 */
function fromFeed({ sort: { order } }: RowSearch, feedId: Knex.Value): Sql {
  const number = sql`(
    select product_id from products as of_feed
    where of_feed.partner_id = partner.partner_id and of_feed.feed_id >= ${feedId} and of_feed.feed_id <= ${feedId}
    order by feed_id ${raw(order)}, product_id ${raw(order)} limit 1
  )`;
  return sql`created_at >= '-infinity' and product_id ${raw(order === 'asc' ? '>=' : '<=')} ${number}`;
}

const keysOf = ({ sort: { field } }: Search): [string][] =>
  field === 'created_at' ? [['created_at'], ['product_id']] : [['product_id']];

/** The condition of the products after the cursor's product, which may belong to a partner outside the filter. */
export function afterCursor(search: Search): Sql {
  const cursor = cursorOf(search);
  return cursor.length === 0 ? raw('true') : compare(cursor, search.sort.order === 'asc' ? '>' : '<');
}

/** The columns of the order with the values of the cursor's product; none for a first page. Without the product, its time is null. */
function cursorOf({ partner, sort: { field }, afterProductId, startsInPartner }: Search): [string, Sql][] {
  if (afterProductId === undefined) return [];
  const number = sql`${afterProductId}`;
  const inPartner = startsInPartner ? sql`and last.partner_id = ${partner!}` : raw('');
  const time = sql`(select created_at from products as last where last.product_id = ${afterProductId} ${inPartner})`;
  return [...(field === 'created_at' ? [['created_at', time] as [string, Sql]] : []), ['product_id', number]];
}

/** Compares columns with values, in their order; without any, true. */
function compare(columns: readonly [string, Sql][], operator: string): Sql {
  if (columns.length === 0) return raw('true');
  const names = columns.map(([name]) => name).join(', ');
  return sql`(${raw(names)}) ${raw(operator)} (${listOf(columns.map(([, value]) => value))})`;
}
