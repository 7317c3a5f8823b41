import { queryRows, type Database } from '../../../base/db/database';
import { raw, sql, type Sql } from '../../../base/db/sql';
import { ownColumns, usualLimit, type ProductRow } from '../products.repository';
import type { Search } from '../products.search';
import { withNames, type ShardRow } from './shard-rows';

/*
 * The newest products of all partners where Citus distributes `products`. A local table has the time and number of each partner's
 * insertions: usually one partner, and one shard, is read.
 */

/** Maximum number of insertions that are considered, the newest ones. */
const insertionsMax = 16;

interface Insertion {
  partner_id: number;
  /** Null: the partner was removed since. */
  partner_name: string | null;
  created_at: Date;
  created_text: string;
  products: number;
}

/** The products of a page; or the time up to which all shards must be read for it. */
type Newest = { products: ProductRow[] } | { products?: undefined; until: string };

/** Number of a partner's products to read for each row of a page with a filter. */
const readForEach = 100;

/**
 * Reads the newest products up to the cursor, if the last inserted products fill the page. Without a cursor, up to the last
 * insertion: products of loads in progress are not scanned.
 * @param where - further conditions, with the cursor and the filters
 */
export async function readNewest(
  db: Database,
  { filters, limit, afterCreatedAt }: Search,
  where: Sql,
): Promise<Newest> {
  const insertions = await queryRows<Insertion>(
    db,
    sql`select partner_id, partner_name, created_at, cast(created_at as text) as created_text, products
     from product_insertions left join partners using (partner_id)
     where created_at <= cast(${afterCreatedAt ?? 'infinity'} as timestamptz) order by created_at desc
     limit ${raw(insertionsMax)}`,
    true,
  );
  const [latest] = insertions;
  if (!latest) return { products: [] };
  const until = afterCreatedAt ?? latest.created_text;
  const isFiltered = filters.length > 0;
  const { partnerIds, next } = choosePartners(insertions, isFiltered ? readForEach * limit : limit);
  const [first, ...others] = partnerIds;
  if (isFiltered && others.length > 0) return { until };
  // A page that reaches the moment of the next insertion may include its products.
  const isBeforeNext = (createdAt: Date) => next === undefined || createdAt.getTime() > next.getTime();
  if (!isBeforeNext(latest.created_at)) return { until };
  const ofPartners =
    others.length === 0 ? sql`partner_id = ${first!}` : sql`partner_id = any (${partnerIds})`;
  const statement = sql`
    select partner_id, ${raw(ownColumns)} from products
    where ${ofPartners} and created_at <= cast(${until} as timestamptz) and ${where}
    order by created_at desc, product_id desc limit ${raw(limit)}`;
  const isUsual = others.length === 0 && filters.length <= 1 && limit === usualLimit;
  const rows = await queryRows<ShardRow>(db, statement, isUsual);
  const isWhole = next === undefined || (rows.length === limit && isBeforeNext(rows.at(-1)!.created_at));
  const names = new Map(insertions.map(({ partner_id, partner_name }) => [partner_id, partner_name]));
  return isWhole ? { products: withNames(rows, names) } : { until };
}

/** Chooses the partners with enough recent products. `next`: the latest insertion of another one; undefined if all are chosen. */
function choosePartners(
  insertions: readonly Insertion[],
  limit: number,
): { partnerIds: number[]; next: Date | undefined } {
  const chosen = new Set<number>();
  let count = 0;
  for (const { partner_id, created_at, products } of insertions) {
    if (count >= limit && !chosen.has(partner_id)) return { partnerIds: [...chosen], next: created_at };
    chosen.add(partner_id);
    count += products;
  }
  const isWhole = insertions.length < insertionsMax;
  return { partnerIds: [...chosen], next: isWhole ? undefined : insertions.at(-1)!.created_at };
}
