import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { raw, sql } from '../../base/db/sql';
import type { CatalogChange } from '../../catalog/changes/catalog-changes';

/** The end of a version that no change has ended yet: its product was changed by hand. */
export const pendingVersion = '9223372036854775807';

/**
 * The product of a version. As sorting is off, only an index by number has the order that a row needs. For a partner without
 * statistics, an equality could use any index, and read all products for each row.
 */
const productSql = (partnerId: number) => sql`
  from products
  where products.partner_id = ${partnerId} and products.product_id between version.product_id and version.product_id
  order by products.product_id limit 1`;

const pendingSql = (partnerId: number) =>
  sql`partner_id = ${partnerId} and until_run_id = ${raw(pendingVersion)}`;

/** Assigns the change to the products, and a trigger ends their versions. Products locked by an open transaction stay pending. */
const changedSql = ({ partnerId, runId }: CatalogChange) => sql`
  with free as materialized (
    select product.*
    from (select product_id from product_versions where ${pendingSql(partnerId)}) as version
    cross join lateral (select products.tableoid, products.ctid ${productSql(partnerId)} for no key update skip locked) as product
  )
  update products set run_id = ${runId} from free
  where products.ctid = free.ctid and products.tableoid = free.tableoid`;

const deletedSql = ({ partnerId, runId }: CatalogChange) => sql`
  update product_versions as version set until_run_id = ${runId}
  where ${pendingSql(partnerId)} and (select product_id ${productSql(partnerId)}) is null`;

/**
 * Makes manual changes of products part of the change, except for products that it has changed itself. The caller holds the
 * partner's lock. Waits for no product.
 * @returns the number of products
 */
export async function endManualVersions(trx: Knex.Transaction, change: CatalogChange): Promise<number> {
  await queryRows(trx, sql`set local enable_sort = off`);
  const changed = await changeRows(trx, changedSql(change));
  const deleted = await changeRows(trx, deletedSql(change));
  await queryRows(trx, sql`set local enable_sort to default`);
  return changed + deleted;
}
