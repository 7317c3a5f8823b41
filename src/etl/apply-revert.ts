import type { Knex } from 'knex';
import { writeBack } from '../db/working-copy';
import type { CatalogChange } from '../partners/catalog-changes';
import { ProductsGone, skipManualChangeLog } from './apply-changes';
import { assignmentsSql, revertEffects, type RunChange } from './change-effects';
import { untilUncontended } from './merge-staged';
import { revertCountsSql, type RevertCounts } from './revert-counts';
import { etlWorkMemMegabytes, readColumn } from './staging';
import type { PartnerDigests } from './unchanged/partner-digests';
import { copyChangedProducts } from './working-products';

/** Products per row of the search backlog: one batch of the indexer. */
const backlogProducts = 2_000;

/** The products that are written: the others are as before the change already, or were changed since. */
const writtenSql = '(select * from reverted_products where is_needed and not is_changed_since)';

/** A product that was changed after it was compared is not written: the count tells, and it is compared again. */
const updateSql = `
  update products set run_id = :revertId, ${assignmentsSql('written')}
  from ${writtenSql} as written
  where (products.partner_id, products.sku, products.product_id) = (written.partner_id, written.sku, written.product_id)
    and products.xmin = written.seen_version`;

/**
 * Undoes a change of a catalog, by another one: its products are as before, and keep their numbers. The caller holds the partner's
 * lock. Waits for manual transactions as a merge does.
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
    const tables = [writtenSql];
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

/** Replaces the stored effects. */
async function storeEffects(trx: Knex.Transaction, undone: RunChange): Promise<RevertCounts> {
  await copyChangedProducts(trx, undone);
  await trx.raw(`set local work_mem = '${etlWorkMemMegabytes}MB'`);
  const { sql, bindings } = await revertEffects(trx, undone, 'xmin');
  // A utility statement takes no parameters: the bindings are numbers.
  const inlined = Object.entries(bindings).reduce(
    (text, [name, value]) =>
      text.replaceAll(`:${name}`, Array.isArray(value) ? `'{${value.join()}}'` : String(value)),
    sql,
  );
  await trx.raw(`
    drop table if exists pg_temp.reverted_products;
    create temporary table reverted_products on commit drop as ${inlined};
    analyze reverted_products`);
  const { rows } = await trx.raw<{ rows: [RevertCounts] }>(revertCountsSql('reverted_products'));
  return rows[0];
}

async function writeProducts(
  trx: Knex.Transaction,
  { runId }: CatalogChange,
  { updated, withdrawn }: RevertCounts,
  lockProducts: () => Promise<void>,
): Promise<void> {
  if (updated + withdrawn === 0) return;
  await lockProducts();
  const { rowCount } = await trx.raw<{ rowCount: number }>(updateSql, { revertId: runId });
  if (rowCount !== updated + withdrawn) throw new ProductsGone();
}

/** Drops the digests of the products that `applyRevert` has written, and enqueues the products for the search index. */
export async function forgetReverted(
  trx: Knex.Transaction,
  partnerId: number,
  digests: PartnerDigests,
): Promise<void> {
  await digests.loadToForget();
  for await (const skus of readColumn<string>(trx, `select sku from ${writtenSql} as written`)) {
    digests.forget(skus);
  }
  await digests.save();
  await trx.raw(
    `insert into search_backlog (partner_id, product_ids)
     select :partnerId, array_agg(product_id)
     from (
       select product_id, (row_number() over (order by product_id) - 1) / :backlogProducts as batch from ${writtenSql} as written
     ) as numbered
     group by batch`,
    { partnerId, backlogProducts },
  );
}
