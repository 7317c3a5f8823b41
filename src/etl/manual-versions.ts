import type { Knex } from 'knex';
import type { CatalogChange } from '../partners/catalog-changes';

/** The end of a version that no change has ended yet: its product was changed by hand. */
export const pendingVersion = '9223372036854775807';

/** Makes the change that of the products. A trigger ends their versions. What an open transaction has locked stays pending. */
const changedSql = `
  with free as materialized (
    select products.partner_id, products.product_id
    from product_versions as version join products
      on (products.partner_id, products.product_id) = (version.partner_id, version.product_id)
    where version.partner_id = :partnerId and version.until_run_id = ${pendingVersion}
    for no key update of products skip locked
  )
  update products set run_id = :runId from free
  where (products.partner_id, products.product_id) = (free.partner_id, free.product_id)`;

const deletedSql = `
  update product_versions as version set until_run_id = :runId
  where partner_id = :partnerId and until_run_id = ${pendingVersion} and not exists (
    select from products where (products.partner_id, products.product_id) = (version.partner_id, version.product_id)
  )`;

/**
 * Makes manual changes of products part of the change, except of those that it has changed itself. The caller holds the
 * partner's lock. Waits for no product.
 * @returns the number of products
 */
export async function endManualVersions(trx: Knex.Transaction, change: CatalogChange): Promise<number> {
  const bindings = { ...change };
  const changed = await trx.raw<{ rowCount: number }>(changedSql, bindings);
  const deleted = await trx.raw<{ rowCount: number }>(deletedSql, bindings);
  return changed.rowCount + deleted.rowCount;
}
