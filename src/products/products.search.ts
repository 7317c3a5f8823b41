import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { parseId } from '../shared/ids';
import type { ProductListing } from './products.repository';

export interface Condition {
  sql: string;
  bindings: Knex.Value[];
}

interface IndexedValue {
  key: string;
  value: Knex.Value;
}

/** A listing in terms of the indexes. */
export interface Search {
  sort: ProductListing['sort'];
  afterProductId?: number;
  limit: number;
  /** The index contains the order within this value. */
  range?: IndexedValue;
  /** Filters that this index does not contain. */
  rest: Condition[];
  filters: Condition[];
  /** Filters whose index continues with the product number. */
  numbered: IndexedValue[];
  /** Few enough matches to sort. */
  isFew: boolean;
}

type Filter = 'partner' | 'feed' | 'sku' | 'brand' | 'category' | 'availability';

/** Filters within which an index has an order, the most selective first. */
const ranges: Partial<Record<ProductListing['sort']['field'], readonly Filter[]>> = {
  created_at: ['partner'],
  product_id: ['feed', 'category', 'brand', 'partner'],
};

/** Indexes contain only the beginning of longer texts. */
export const indexedCharacters = 600;

export const indexedKey = (field: string) =>
  field === 'product_name' || field === 'category' ? `left(${field}, ${indexedCharacters})` : field;

/** Translates a listing; undefined if nothing can match. */
export async function toSearch(
  db: Database,
  { scope, filter, sort, afterProductId, limit }: ProductListing,
): Promise<Search | undefined> {
  const partnerName = scope ?? filter.partner_name;
  if (filter.partner_name !== undefined && filter.partner_name !== partnerName) return undefined;
  const feedId = filter.feed_id === undefined ? undefined : parseId('FD', filter.feed_id);
  if (filter.feed_id !== undefined && feedId === undefined) return undefined;
  const partnerId = await findPartner(db, partnerName, feedId);
  if (partnerId === null) return undefined;

  // Within one brand or category, that order is the order by number.
  const isOneValue =
    (sort.field === 'brand' || sort.field === 'category') && filter[sort.field] !== undefined;
  const field = isOneValue ? 'product_id' : sort.field;

  const filters = new Map<Filter, IndexedValue>();
  if (filter.sku !== undefined) filters.set('sku', { key: 'sku', value: filter.sku });
  if (feedId !== undefined) filters.set('feed', { key: 'feed_id', value: feedId });
  // The partner of a feed is no further filter, but only indexes by partner contain the order by time.
  if (partnerId !== undefined && (feedId === undefined || field === 'created_at')) {
    filters.set('partner', { key: 'partner_id', value: partnerId });
  }
  for (const name of ['brand', 'category', 'availability'] as const) {
    const value = filter[name];
    if (value === undefined) continue;
    const indexed = name === 'category' ? [...value].slice(0, indexedCharacters).join('') : value;
    filters.set(name, { key: indexedKey(name), value: indexed });
  }

  const isLong = filter.category !== undefined && filter.category.length >= indexedCharacters;
  const more = isLong ? [equal({ key: 'category', value: filter.category! })] : [];
  const range = ranges[field]?.find((name) => filters.has(name));
  return {
    sort: { field, order: sort.order },
    afterProductId,
    limit,
    range: range && filters.get(range),
    rest: [...filters]
      .filter(([name]) => name !== range)
      .map(([, value]) => equal(value))
      .concat(more),
    filters: [...filters.values()].map(equal).concat(more),
    numbered: ranges.product_id!.flatMap((name) => filters.get(name) ?? []),
    // At most one product per partner has a sku.
    isFew: filters.has('sku'),
  };
}

function equal({ key, value }: IndexedValue): Condition {
  return { sql: `${key} = ?`, bindings: [value] };
}

/**
 * Finds the partner by name or feed.
 * @returns null if there is none, or if they differ; undefined if neither is given
 */
async function findPartner(
  db: Database,
  partnerName: string | undefined,
  feedId: number | undefined,
): Promise<number | null | undefined> {
  if (partnerName === undefined && feedId === undefined) return undefined;
  const { rows } = await db.raw<{ rows: [{ by_name: number | null; by_feed: number | null }] }>(
    `select (select partner_id from partners where partner_name = :partnerName) as by_name,
       (select partner_id from feeds where feed_id = :feedId) as by_feed`,
    { partnerName: partnerName ?? null, feedId: feedId ?? null },
  );
  const [{ by_name, by_feed }] = rows;
  if (partnerName === undefined) return by_feed;
  return feedId === undefined || by_feed === by_name ? by_name : null;
}
