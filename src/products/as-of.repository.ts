import { queryRows, type Database } from '../db/database';
import { isDistributed } from '../db/layout';
import { localTable, productsFor, readPart, type ProductSource } from '../db/products-by-number';
import { allOf, raw, sql, type Sql } from '../db/sql';
import { formatMicros, microsSql, type Micros } from './point-in-time';
import { rowColumns, withoutExcessSql, type ProductRow } from './products.repository';
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
  const [moment] = await queryRows<Moment>(db, statement);
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
  const [row] = await queryRows<ProductRow>(db, statement);
  return row;
}

/** Lists products as they were, by number. */
export async function findProductsAt(
  db: Database,
  moment: KnownMoment,
  filter: FilterAsOf,
  page: { afterProductId: number; limit: number },
): Promise<ProductRow[]> {
  const { sku } = filter;
  const withSku = sku === undefined ? undefined : await everWithSku(db, moment.partnerId, sku);
  const isAfter = (afterProductId: number) => (productId: Sql) =>
    allOf([
      sql`${productId} > ${afterProductId}`,
      ...(withSku === undefined ? [] : [sql`${productId} = any (${withSku})`]),
    ]);
  if (await isDistributed(db)) return findOnShard(db, moment, filter, { ...page, isAfter });
  const statement = withoutExcessSql(
    productsAt(moment, localTable, isAfter(page.afterProductId), valuesOf(filter, 'in_force'), page.limit),
    page.limit,
  );
  return queryRows<ProductRow>(db, statement);
}

/** The condition that a row has the values of a filter. */
function valuesOf({ includesWithdrawn, ...values }: FilterAsOf, table: string): Sql {
  const conditions = Object.entries(values).map(
    ([name, value]: [string, string | number]) => sql`${raw(`${table}.${name}`)} = ${value}`,
  );
  if (!includesWithdrawn) conditions.push(raw(`${table}.withdrawn_at is null`));
  return allOf(conditions);
}

/** Maximum number of products that a shard looks at in one statement. */
const partMax = 200_000;

/**
 * Lists products of one shard. It is read in parts by number until the page is full, and before their versions: a product
 * that changes in between is then in both, and the version counts.
 */
async function findOnShard(
  db: Database,
  moment: KnownMoment,
  filter: FilterAsOf,
  page: {
    afterProductId: number;
    limit: number;
    isAfter: (afterProductId: number) => (productId: Sql) => Sql;
  },
): Promise<ProductRow[]> {
  const isUnchanged = allOf([valuesOf(filter, 'products'), await begunBefore(db, moment)]);
  const rows: ProductRow[] = [];
  for (let after = page.afterProductId, size = 2 * page.limit; ; size = Math.min(4 * size, partMax)) {
    const limit = page.limit - rows.length;
    const isNext = page.isAfter(after);
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

/** The condition that a change of the partner up to the moment wrote a product last. */
async function begunBefore(db: Database, { partnerId, nextRunId, at }: KnownMoment): Promise<Sql> {
  // Numbers of partners that were merged are not in the order of their times.
  const statement = sql`
    select run_id from catalog_versions
    where partner_id = ${partnerId} and run_id >= ${nextRunId} and effective_at <= cast(${formatMicros(at)} as timestamptz)`;
  const earlier = await queryRows<{ run_id: number }>(db, statement);
  const runIds = earlier.map(({ run_id }) => run_id);
  return sql`(run_id is null or run_id < ${nextRunId} or run_id = any (${runIds}))
    and created_at <= cast(${formatMicros(at)} as timestamptz)`;
}

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

/** Parts of a statement about the time of a moment: whether a version ended later, and whether what is `in_force` had begun. */
function timesOf(at: Micros): { isLater: Sql; existed: Sql } {
  const time = sql`cast(${formatMicros(at)} as timestamptz)`;
  return {
    isLater: sql`coalesce((select effective_at from catalog_versions where run_id = until_run_id), 'infinity') > ${time}`,
    existed: sql`in_force.created_at <= ${time}
      and (select effective_at from catalog_versions where run_id = began_with) <= ${time}`,
  };
}

/**
 * Selects products of a part as they were, by number.
 * @param unchanged - those that match and have not changed since; one that has changed meanwhile also has a version
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
