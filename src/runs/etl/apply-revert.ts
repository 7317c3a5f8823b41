import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { writeBack } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import type { CatalogChange } from '../../catalog/changes/catalog-changes';
import { ProductsGone, skipManualChangeLog } from './apply-changes';
import { assignmentsSql, revertEffects, type RunChange } from './change-effects';
import { isProductOf, lookUpProducts } from './look-ups';
import { untilUncontended } from './merge-staged';
import { revertCountsSql, type RevertCounts } from './revert-counts';
import { etlWorkMemMegabytes, readColumn } from './staging';
import type { PartnerDigests } from './unchanged/partner-digests';
import { copyChangedProducts } from './working-products';

/** Products per row of the search backlog: one batch of the indexer. */
const backlogProducts = 2_000;

/** The products to write: the others are already as before the change, or were changed since. */
const written = sql`(select * from reverted_products where is_needed and not is_changed_since)`;

/** Skips products that were changed after the comparison: the count shows it, and they are compared again. */
const updateSql = (revertId: number) => sql`
  update products set run_id = ${revertId}, ${assignmentsSql('written')}
  from ${written} as written
  where ${isProductOf(raw('written'))}
    and products.xmin = written.seen_version`;

/**
 * Undoes a change of a catalog by another change: its products are as before, and keep their numbers. The caller holds the
 * partner's lock. Waits for manual transactions as a merge does.
 * @param signal - aborted when the revert is cancelled
 * @param check - throws if the effects must not be applied
 */
export async function applyRevert(
  trx: Knex.Transaction,
  undone: RunChange,
  change: CatalogChange,
  signal: AbortSignal,
  check: (counts: RevertCounts) => void,
): Promise<RevertCounts> {
  await skipManualChangeLog(trx);
  return untilUncontended(trx, change.partnerId, signal, async () => {
    const counts = await storeEffects(trx, undone);
    check(counts);
    const tables = [written];
    return {
      tables,
      apply: async (savepoint, lockProducts) => {
        await writeProducts(savepoint, change, counts, lockProducts);
        await writeBack(savepoint, [change.partnerId]);
        return counts;
      },
    };
  });
}

async function storeEffects(trx: Knex.Transaction, undone: RunChange): Promise<RevertCounts> {
  await copyChangedProducts(trx, undone);
  await queryRows(
    trx,
    sql`set local work_mem = '${raw(etlWorkMemMegabytes)}MB'; drop table if exists pg_temp.reverted_products`,
  );
  const effects = await revertEffects(trx, undone, 'to write');
  await queryRows(trx, sql`create temporary table reverted_products on commit drop as ${effects}`);
  await queryRows(trx, raw('analyze reverted_products'));
  const [counts] = await queryRows<RevertCounts>(trx, revertCountsSql(raw('reverted_products')));
  return counts!;
}

async function writeProducts(
  trx: Knex.Transaction,
  { runId }: CatalogChange,
  { updated, withdrawn }: RevertCounts,
  lockProducts: () => Promise<void>,
): Promise<void> {
  if (updated + withdrawn === 0) return;
  await lookUpProducts(trx, async () => {
    await lockProducts();
    if ((await changeRows(trx, updateSql(runId))) !== updated + withdrawn) throw new ProductsGone();
  });
}

/** Drops the digests of the products that `applyRevert` has written, and enqueues these products for the search index. */
export async function forgetReverted(
  trx: Knex.Transaction,
  partnerId: number,
  digests: PartnerDigests,
): Promise<void> {
  await digests.loadToForget();
  for await (const skus of readColumn<string>(trx, sql`select sku from ${written} as written`)) {
    digests.forget(skus);
  }
  await digests.save();
  await queryRows(
    trx,
    sql`insert into search_backlog (partner_id, product_ids)
     select ${partnerId}, array_agg(product_id)
     from (
       select product_id, (row_number() over (order by product_id) - 1) / ${raw(backlogProducts)} as batch from ${written} as written
     ) as numbered
     group by batch`,
  );
}
