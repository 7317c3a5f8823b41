import { queryRows, type Database } from '../../base/db/database';
import { productsFor } from '../../base/db/layout/product-layout';
import { raw, sql, type Sql } from '../../base/db/sql';
import { catalogPages } from './pages/catalog-pages';
import { productsAt, type FilterAsOf, type KnownMoment } from './pages/pages-as-of';
import { formatMicros, microsSql, type Micros } from './point-in-time';
import type { ProductRow } from './products.repository';

/** A moment in the history of a partner. */
export interface Moment {
  /** The time of the database. */
  now: Micros;
  /** Null: unknown. */
  partnerId: number | null;
  /** The lowest number of a later change of the partner; without one, the lowest possible number. */
  nextRunId: number;
  /** Time from which all versions of the partner exist. */
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
  return (await catalogPages(db)).listAsOf(db, moment, filter, { ...page, withSku });
}

/** An array of the products that have or had the sku: only a manual change gives a product another one. */
async function everWithSku(db: Database, partnerId: number, sku: string): Promise<Sql> {
  const hasSku = sql`(partner_id, sku) = (${partnerId}, ${sku})`;
  const products = await productsFor(db, partnerId, sql`sku = ${sku}`);
  return sql`array(
    select product_id from ${products.as('products')} where ${hasSku}
    union all select product_id from product_versions where ${hasSku} and is_external
  )`;
}
