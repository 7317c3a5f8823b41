import { queryRows, type Database } from '../../../base/db/database';
import { allOf, raw, sql, type Sql } from '../../../base/db/sql';
import { inSnapshot } from '../../../base/db/transaction';
import type { ProductOwner } from '../../../base/db/layout/shard-reads';
import { readNewest } from './newest-products';
import { namePartners, type ShardRow } from './shard-rows';
import { ownColumns, withoutExcessSql, type ProductRow } from '../products.repository';
import {
  isActive,
  isKeyed,
  isListed,
  isWholeKey,
  keySql,
  matches,
  orderOf,
  type KeyedField,
  type Search,
} from '../products.search';
import { hasWords, haveMany, haveWords } from '../search-words.repository';

/*
 * Pages of the catalog where Citus distributes `products`. A page of one partner names it by number, and reads only its shard. A page
 * of all partners is one statement for each shard, and the coordinator merges the beginnings. The indexes are as on a local
 * table, but the nodes' estimates decide the plans.
 */

/** Values that a statement needs besides the search; read before, because Citus cannot push look-ups in local tables down. */
interface Extent {
  /** The only partner, if there is one. */
  partner?: ProductOwner;
  /** The latest creation of visible products, or a later moment; null before the first one. */
  horizon: string | null;
}

export async function listOnShards(db: Database, search: Search): Promise<ProductRow[]> {
  if (isOfNewest(search)) {
    const where = allOf([raw(isActive), matches(search), isAfter(search)]);
    const newest = await readNewest(db, search, where);
    if (newest.products) return newest.products;
    return namePartners(db, await readRows(db, search, { horizon: newest.until }));
  }
  const extent = await findExtent(db, search);
  if (!extent || extent.horizon === null) return [];
  const { partner, horizon } = extent;
  const rows = await readRows(db, search, { partner, horizon });
  return partner
    ? rows.map((row) => ({ ...row, partner_name: partner.partner_name }))
    : namePartners(db, rows);
}

const isOfNewest = ({ partner, words, sort, includesWithdrawn }: Search) =>
  !partner && !words && !includesWithdrawn && sort.field === 'created_at' && sort.order === 'desc';

/** @returns undefined if the only partner does not exist */
async function findExtent(db: Database, { partner }: Pick<Search, 'partner'>): Promise<Extent | undefined> {
  const horizon = '(select cast(max(created_at) as text) from product_horizons) as horizon';
  const statement = partner
    ? sql`select partner_id, partner_name, ${raw(horizon)} from partners where partner_id = ${partner}`
    : raw(`select ${horizon}`);
  type Found = ProductOwner & { horizon: string | null };
  const [found] = await queryRows<Found>(db, statement, true);
  return found && { horizon: found.horizon, ...(partner && { partner: found }) };
}

/** Candidates for a page of the catalog: the products that a statement may return. */
interface Place {
  search: Search;
  partner?: ProductOwner;
  /** Conditions besides the partner. */
  where: readonly Sql[];
}

/** Maximum number of products with the words of a search that are looked up and sorted. */
const sortedWords = 5_000;

async function readRows(
  db: Database,
  search: Search,
  { partner, horizon }: Extent & { horizon: string },
): Promise<ShardRow[]> {
  const { words, sort, includesWithdrawn, limit } = search;
  const listed = [isListed(search), matches({ ...search, words: undefined }), isAfter(search)];
  if (words) {
    if (!(await haveMany(db, words, partner ? ofPartner(partner) : raw('true'), sortedWords)))
      return sortByWords(db, { search, partner, where: listed }, words);
    listed.push(hasWords(words));
  }
  const place = { search, partner, where: listed };
  if (isKeyed(search)) {
    if (includesWithdrawn) return sortAll(db, place);
    const { field } = search.sort;
    return isOfGroups(field)
      ? inShardSnapshot(db, (trx) => readKeyed(trx, place, field))
      : readKeyed(db, place, field);
  }
  if (sort.field === 'product_id') return readFlat(db, place, by(search, ['product_id']), limit);
  const isVisible = sql`created_at <= ${horizon}`;
  const orderBy = by(search, ['created_at', 'product_id']);
  return readFlat(db, { ...place, where: [...listed, isVisible] }, orderBy, limit);
}

/** The condition of the products after the cursor. */
function isAfter({ sort: { field, order }, afterProductId, afterCreatedAt }: Search): Sql {
  if (afterProductId === undefined) return raw('true');
  const compare = raw(order === 'asc' ? '>' : '<');
  return field === 'product_id'
    ? sql`product_id ${compare} ${afterProductId}`
    : sql`(created_at, product_id) ${compare} (cast(${afterCreatedAt!} as timestamptz), ${afterProductId})`;
}

const ofPartner = ({ partner_id: partnerId }: ProductOwner) => sql`partner_id = ${partnerId}`;

const columns = raw(`partner_id, ${ownColumns}`);

/**
 * Reads the first products in an order that the shards have an index for, or sort. For one partner, its shard omits long
 * descriptions; for all, the coordinator would store the page before.
 */
function readFlat(db: Database, { partner, where }: Place, orderBy: Sql, limit: number): Promise<ShardRow[]> {
  const condition = allOf(partner ? [ofPartner(partner), ...where] : where);
  const statement = sql`select ${columns} from products where ${condition} order by ${orderBy} limit ${raw(limit)}`;
  const page = partner ? withoutExcessSql(statement, limit, 'partner_id') : statement;
  return queryRows<ShardRow>(db, page);
}

const by = ({ sort: { order } }: Search, keys: readonly string[]) =>
  raw(keys.map((key) => `${key} ${order}`).join(', '));

/** Sorts all products: for few, or without an index. */
const sortAll = (db: Database, place: Place) =>
  readFlat(db, place, orderOf(place.search), place.search.limit);

/** Sorts the products with words. Looks up the product of each match, independent of the shard's estimate. */
function sortByWords(db: Database, place: Place, words: readonly string[]): Promise<ShardRow[]> {
  const { search, partner, where } = place;
  const ofOne = partner ? ofPartner(partner) : raw('true');
  const order = orderOf(search);
  const statement = sql`
    select page.*
    from (select partner_id, product_id from product_words where ${haveWords(words)} and ${ofOne}) as found cross join lateral (
      select ${columns} from products
      where products.partner_id = found.partner_id and products.product_id = found.product_id and ${allOf([ofOne, ...where])}
      limit 1
    ) as page
    order by ${order} limit ${raw(search.limit)}`;
  return queryRows<ShardRow>(db, statement);
}

/**
 * Reads the first products in an order that the shards have an index for, per partner. For all partners, each shard merges the
 * beginnings of its partners' indexes.
 */
function readMerged(
  db: Database,
  place: Place,
  { where, keys, limit }: { where: Sql; keys: readonly string[]; limit: number },
): Promise<ShardRow[]> {
  const conditions = [...place.where, where];
  const order = by(place.search, keys);
  if (place.partner) return readFlat(db, { ...place, where: conditions }, order, limit);
  const statement = sql`
    select page.* from product_partners as partner cross join lateral (
      select ${columns} from products where products.partner_id = partner.partner_id and ${allOf(conditions)}
      order by ${order} limit ${raw(limit)}
    ) as page
    order by ${order} limit ${raw(limit)}`;
  return queryRows<ShardRow>(db, statement);
}

/** Fields whose values many products share: a page takes several statements. */
const isOfGroups = (field: KeyedField) => field === 'brand' || field === 'category';

/** Runs statements that must agree about each product. A node uses one connection for them, and so one snapshot. */
function inShardSnapshot<T>(db: Database, read: (trx: Database) => Promise<T>): Promise<T> {
  return inSnapshot(db, async (trx) => {
    await queryRows(trx, raw('set local citus.max_adaptive_executor_pool_size = 1'));
    return read(trx);
  });
}

/** Reads a page by price, brand, category or name. Products without a value come last. */
async function readKeyed(db: Database, place: Place, field: KeyedField): Promise<ShardRow[]> {
  const { limit } = place.search;
  const key = keySql(field);
  const hasKey = raw(`${key} is not null`);
  const rows = isOfGroups(field)
    ? await readGroups(db, place, field)
    : await readMerged(db, place, { where: hasKey, keys: keyOrder(field), limit });
  if (rows.length === limit || field === 'product_name') return rows;
  const without = [...place.where, raw(`${key} is null`)];
  rows.push(
    ...(await readFlat(
      db,
      { ...place, where: without },
      by(place.search, ['product_id']),
      limit - rows.length,
    )),
  );
  return rows;
}

/** The order of a key with its complete value: the index contains the beginning of long texts. */
const keyOrder = (field: KeyedField) => [...new Set([keySql(field), field]), 'product_id'];

/**
 * Reads a page by a field whose values many products share. Reads the keys of the page first; of the last key's products, only the
 * first ones by number.
 */
async function readGroups(db: Database, place: Place, field: KeyedField): Promise<ShardRow[]> {
  const { search } = place;
  const key = keySql(field);
  const keys = await listKeys(db, place, key);
  const last = keys.at(-1);
  const isBefore = raw(search.sort.order === 'asc' ? '<' : '>');
  const before = keys.length < search.limit ? keys.length : keys.findIndex((value) => value === last);
  const rows =
    before === 0
      ? []
      : await readMerged(db, place, {
          where:
            keys.length < search.limit ? raw(`${key} is not null`) : sql`${raw(key)} ${isBefore} ${last!}`,
          keys: keyOrder(field),
          limit: before,
        });
  if (keys.length < search.limit) return rows;
  const ofLast = [...place.where, sql`${raw(key)} = ${last!}`];
  const orderBy = by(search, isWholeKey(field, last) ? ['product_id'] : [field, 'product_id']);
  rows.push(...(await readFlat(db, { ...place, where: ofLast }, orderBy, search.limit - rows.length)));
  return rows;
}

/** Lists the keys of the first products, in their order. */
async function listKeys(db: Database, place: Place, key: string): Promise<string[]> {
  const { search, partner, where } = place;
  const order = raw(`key ${search.sort.order} limit ${search.limit}`);
  const condition = allOf([...where, raw(`${key} is not null`)]);
  const statement = partner
    ? sql`select ${raw(key)} as key from products where ${ofPartner(partner)} and ${condition} order by ${order}`
    : sql`
      select first_key.key from product_partners as partner cross join lateral (
        select ${raw(key)} as key from products where products.partner_id = partner.partner_id and ${condition} order by ${order}
      ) as first_key
      order by ${order}`;
  const rows = await queryRows<{ key: string }>(db, statement);
  return rows.map((row) => row.key);
}
