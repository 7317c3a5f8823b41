import { queryRows, type Database } from '../db/database';
import { productsFor, type ProductSource } from '../db/products-by-number';
import { allOf, raw, sql, type Sql } from '../db/sql';
import { formatMicros, microsSql, type Micros } from './point-in-time';
import { productColumns, type ProductRow } from './products.repository';
import { versionColumns } from './versions.repository';

/** A moment in the history of a partner. */
export interface Moment {
  /** The time of the database. */
  now: Micros;
  /** Null: unknown. */
  partnerId: number | null;
  /** The lowest number that a later change of the partner has; the lowest that one can get if there is none. */
  nextRunId: number;
  /** From when on all versions of the partner are there. */
  begins: Micros;
}

/** @param partner - a scalar subquery of the partner's number */
export async function findMoment(db: Database, partner: Sql, at: Micros): Promise<Moment> {
  const statement = sql`
    select ${microsSql('clock_timestamp()')} as now, asked.partner_id as "partnerId",
      ${microsSql('greatest(began.effective_at, pruned.effective_at)')} as begins,
      coalesce(
        (
          select min(run_id) from catalog_versions as change
          where change.partner_id = asked.partner_id and change.effective_at > asked_at
        ),
        (select max(run_id) + 1 from catalog_versions as change where change.partner_id = asked.partner_id),
        0
      ) as "nextRunId"
    from (select ${partner} as partner_id, cast(${formatMicros(at)} as timestamptz) as asked_at) as asked
      cross join catalog_versions as began
      cross join lateral (
        select max(effective_at) as effective_at from catalog_versions as change
        where change.partner_id = asked.partner_id and change.pruned_at is not null
      ) as pruned
    where began.run_id = 0`;
  const [moment] = await queryRows<Moment>(db, statement.sql, statement.bindings);
  return moment!;
}

/** Values that products had; an absent one matches all. */
export interface FilterAsOf {
  feed_id?: number;
  sku?: string;
  brand?: string;
  category?: string;
  availability?: string;
  includesWithdrawn: boolean;
}

/** A moment of a partner with a kept history. */
interface KnownMoment {
  partnerId: number;
  nextRunId: number;
  at: Micros;
}

export async function findProductAt(
  db: Database,
  moment: KnownMoment,
  productId: number,
): Promise<ProductRow | undefined> {
  const isAsked = (asked: Sql) => sql`${asked} = ${productId}`;
  const products = await productsFor(db, moment.partnerId, isAsked(raw('product_id')));
  const statement = productsAt(moment, products, isAsked, raw('true'), 1);
  const [row] = await queryRows<ProductRow>(db, statement.sql, statement.bindings);
  return row;
}

/** Lists products as they were, by number. */
export async function findProductsAt(
  db: Database,
  moment: KnownMoment,
  { includesWithdrawn, sku, ...values }: FilterAsOf,
  page: { afterProductId: number; limit: number },
): Promise<ProductRow[]> {
  const conditions = Object.entries(values).map(
    ([name, value]: [string, string | number]) => sql`in_force.${raw(name)} = ${value}`,
  );
  if (!includesWithdrawn) conditions.push(raw('in_force.withdrawn_at is null'));
  if (sku !== undefined) conditions.push(sql`in_force.sku = ${sku}`);
  const withSku = sku === undefined ? undefined : await everWithSku(db, moment.partnerId, sku);
  const isAfter = (afterProductId: number) => (productId: Sql) =>
    allOf([
      sql`${productId} > ${afterProductId}`,
      ...(withSku === undefined ? [] : [sql`${productId} = any (${withSku})`]),
    ]);
  const rows: ProductRow[] = [];
  // Shards are read in parts of the page's size, and then in larger ones, until it is full.
  for (let after = page.afterProductId, size = 2 * page.limit; ; size = Math.min(2 * size, partMax)) {
    const limit = page.limit - rows.length;
    const isNext = isAfter(after);
    const products = await productsFor(db, moment.partnerId, isNext(raw('product_id')), size);
    const { lastId } = products;
    const isInPart = (productId: Sql) =>
      lastId === undefined ? isNext(productId) : sql`${isNext(productId)} and ${productId} <= ${lastId}`;
    const statement = productsAt(moment, products, isInPart, allOf(conditions), limit);
    rows.push(...(await queryRows<ProductRow>(db, statement.sql, statement.bindings)));
    if (lastId === undefined || rows.length === page.limit) return rows;
    after = lastId;
  }
}

/** Maximum number of products that are read at once from a shard. */
const partMax = 5_000;

/** An array of the products that have the sku or had it: only a manual change gives a product another one. */
async function everWithSku(db: Database, partnerId: number, sku: string): Promise<Sql> {
  const hasSku = sql`(partner_id, sku) = (${partnerId}, ${sku})`;
  const products = await productsFor(db, partnerId, sql`sku = ${sku}`);
  return sql`array(
    select product_id from ${products.as('products')} where ${hasSku}
    union all select product_id from product_versions where ${hasSku} and is_external
  )`;
}

const columns = versionColumns.join(', ');

/**
 * Selects products of a partner as they were. For each product, one look-up finds the version that ended next, or else the
 * product itself is in force; both may have begun later. Numbers of changes only narrow that down: those of partners that were
 * merged are not in the order of their times. In the order of the primary key, so that a page reads hardly more
 * products than it has. Deleted products have only versions, of which one is external; they are looked for within the page.
 */
function productsAt(
  { partnerId, nextRunId, at }: KnownMoment,
  products: ProductSource,
  isAsked: (productId: Sql) => Sql,
  matches: Sql,
  limit: number,
): Sql {
  const time = sql`cast(${formatMicros(at)} as timestamptz)`;
  const isLater = sql`coalesce((select effective_at from catalog_versions where run_id = until_run_id), 'infinity') > ${time}`;
  const version = sql`
    select ${raw(columns)}, coalesce(version.run_id, 0) as began_with, until_run_id
    from product_versions as version
    where (version.partner_id, version.product_id) = (now.partner_id, now.product_id)
      and until_run_id >= ${nextRunId} and ${isLater}
    order by version.until_run_id limit 1`;
  const existed = sql`in_force.created_at <= ${time}
    and (select effective_at from catalog_versions where run_id = began_with) <= ${time}`;
  return sql`
    with page as materialized (
      select in_force.*
      from ${products.as('now')} cross join lateral (
        select * from (
          (${version})
          union all
          select ${raw(versionColumns.map((name) => `now.${name}`).join(', '))}, coalesce(now.run_id, 0), null
        ) as version_or_product
        order by until_run_id nulls last limit 1
      ) as in_force
      where now.partner_id = ${partnerId} and ${isAsked(raw('now.product_id'))} and ${existed} and ${matches}
      order by now.product_id limit ${raw(limit)}
    ), deleted as (
      select partner_id, product_id from product_versions
      where partner_id = ${partnerId} and ${isAsked(raw('product_id'))} and is_external
        and product_id <= (select case when count(*) < ${raw(limit)} then 9223372036854775807 else max(product_id) end from page)
        and not exists (
          select from ${products.as('products')}
          where (products.partner_id, products.product_id) = (product_versions.partner_id, product_versions.product_id)
        )
      group by partner_id, product_id
    )
    select ${raw(productColumns)}
    from (
      select * from page
      union all
      select in_force.* from deleted as now cross join lateral (${version}) as in_force where ${existed} and ${matches}
    ) as products
    order by product_id limit ${raw(limit)}`;
}
