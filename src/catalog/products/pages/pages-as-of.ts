import { queryRows, type Database } from '../../../base/db/database';
import type { ProductSource } from '../../../base/db/layout/layout-interface';
import { plainProducts } from '../../../base/db/layout/plain';
import { readPart } from '../../../base/db/layout/shard-reads';
import { allOf, raw, sql, type Sql } from '../../../base/db/sql';
import { formatMicros, type Micros } from '../point-in-time';
import { rowColumns, withoutExcessSql, type ProductRow } from '../products.repository';
import { versionColumns } from '../versions.repository';

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
export interface KnownMoment {
  partnerId: number;
  nextRunId: number;
  at: Micros;
}

/** A page by product number. */
export interface PageAsOf {
  afterProductId: number;
  limit: number;
  /** An array of the products that have or had the sku of the filter. */
  withSku?: Sql;
}

/** The condition of the products of a page after a number. */
const isAfter =
  (afterProductId: number, { withSku }: PageAsOf) =>
  (productId: Sql) =>
    allOf([
      sql`${productId} > ${afterProductId}`,
      ...(withSku === undefined ? [] : [sql`${productId} = any (${withSku})`]),
    ]);

/** Lists products of a plain table. */
export function listPlainAsOf(
  db: Database,
  moment: KnownMoment,
  filter: FilterAsOf,
  page: PageAsOf,
): Promise<ProductRow[]> {
  const { afterProductId, limit } = page;
  const statement = productsAt(
    moment,
    plainProducts,
    isAfter(afterProductId, page),
    valuesOf(filter, 'in_force'),
    limit,
  );
  return queryRows<ProductRow>(db, withoutExcessSql(statement, limit));
}

/** Maximum number of products that a shard examines in one statement. */
const partMax = 200_000;

/**
 * Lists products of one shard. It is read in parts by number until the page is full, and before their versions: a product
 * that changes in between is then in both, and the version counts.
 */
export async function listShardAsOf(
  db: Database,
  moment: KnownMoment,
  filter: FilterAsOf,
  page: PageAsOf,
): Promise<ProductRow[]> {
  const isUnchanged = allOf([valuesOf(filter, 'products'), await begunBefore(db, moment)]);
  const rows: ProductRow[] = [];
  for (let after = page.afterProductId, size = 2 * page.limit; ; size = Math.min(4 * size, partMax)) {
    const limit = page.limit - rows.length;
    const isNext = isAfter(after, page);
    const { products, lastId } = await readPart(db, moment.partnerId, {
      isNext: isNext(raw('product_id')),
      matches: isUnchanged,
      size,
      limit,
    });
    const isInPart = (productId: Sql) =>
      lastId === undefined ? isNext(productId) : sql`${isNext(productId)} and ${productId} <= ${lastId}`;
    const statement = withoutExcessSql(
      partAt(moment, products, isInPart, valuesOf(filter, 'in_force'), limit),
      limit,
    );
    rows.push(...(await queryRows<ProductRow>(db, statement)));
    if (lastId === undefined || rows.length === page.limit) return rows;
    after = lastId;
  }
}

/** Returns the condition that the last change of a product took effect by the moment. */
async function begunBefore(db: Database, { partnerId, nextRunId, at }: KnownMoment): Promise<Sql> {
  // After a merge of partners, numbers of changes are not in the order of their times.
  const statement = sql`
    select run_id from catalog_versions
    where partner_id = ${partnerId} and run_id >= ${nextRunId} and effective_at <= cast(${formatMicros(at)} as timestamptz)`;
  const earlier = await queryRows<{ run_id: number }>(db, statement);
  const runIds = earlier.map(({ run_id }) => run_id);
  return sql`(run_id is null or run_id < ${nextRunId} or run_id = any (${runIds}))
    and created_at <= cast(${formatMicros(at)} as timestamptz)`;
}

/** The condition that a row has the values of a filter. */
function valuesOf({ includesWithdrawn, ...values }: FilterAsOf, table: string): Sql {
  const conditions = Object.entries(values).map(
    ([name, value]: [string, string | number]) => sql`${raw(`${table}.${name}`)} = ${value}`,
  );
  if (!includesWithdrawn) conditions.push(raw(`${table}.withdrawn_at is null`));
  return allOf(conditions);
}

const columns = versionColumns.join(', ');

/** Conditions for the time of a moment: a version ended later (`isLater`), and the row in force had begun (`existed`). */
function timesOf(at: Micros): { isLater: Sql; existed: Sql } {
  const time = sql`cast(${formatMicros(at)} as timestamptz)`;
  return {
    isLater: sql`coalesce((select effective_at from catalog_versions where run_id = until_run_id), 'infinity') > ${time}`,
    existed: sql`in_force.created_at <= ${time}
      and (select effective_at from catalog_versions where run_id = began_with) <= ${time}`,
  };
}

/**
 * Selects products of a part at a moment, by number.
 * @param unchanged - matches that have not changed since; a product that has changed meanwhile also has a version
 */
function partAt(
  { partnerId, nextRunId, at }: KnownMoment,
  unchanged: ProductSource,
  isInPart: (productId: Sql) => Sql,
  matches: Sql,
  limit: number,
): Sql {
  const { isLater, existed } = timesOf(at);
  const ended = sql`until_run_id >= ${nextRunId} and ${isLater}`;
  return sql`
    select ${raw(rowColumns)}
    from (
      select ${raw(columns)} from ${unchanged.as('now')}
      where not exists (
        select from product_versions as version
        where (version.partner_id, version.product_id) = (now.partner_id, now.product_id) and ${ended}
      )
      union all (
        select ${raw(columns)}
        from (
          select distinct on (product_id) ${raw(columns)}, coalesce(run_id, 0) as began_with
          from product_versions as version
          where partner_id = ${partnerId} and ${isInPart(raw('product_id'))} and ${ended}
          order by product_id, until_run_id
        ) as in_force
        where ${existed} and ${matches}
        order by product_id limit ${raw(limit)}
      )
    ) as products
    order by product_id limit ${raw(limit)}`;
}

/**
 * Selects products of a partner at a moment. For each product, one look-up finds the version that ended next, or else the
 * product itself is in force; both may have begun later. Numbers of changes only narrow the search: after a merge of partners they
 * are not in the order of their times. In the order of the primary key, so that a page reads hardly more products than it has.
 * Deleted products have only versions, of which one is external; they are searched within the page.
 */
export function productsAt(
  { partnerId, nextRunId, at }: KnownMoment,
  products: ProductSource,
  isAsked: (productId: Sql) => Sql,
  matches: Sql,
  limit: number,
): Sql {
  const { isLater, existed } = timesOf(at);
  const version = sql`
    select ${raw(columns)}, coalesce(version.run_id, 0) as began_with, until_run_id
    from product_versions as version
    where (version.partner_id, version.product_id) = (now.partner_id, now.product_id)
      and until_run_id >= ${nextRunId} and ${isLater}
    order by version.until_run_id limit 1`;
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
    select ${raw(rowColumns)}
    from (
      select * from page
      union all
      select in_force.* from deleted as now cross join lateral (${version}) as in_force where ${existed} and ${matches}
    ) as products
    order by product_id limit ${raw(limit)}`;
}
