import type { Knex } from 'knex';
import { copyByKey, copyUnnamed, copyWhere } from '../../base/db/layout/copy-products';
import { takeWorkingCopy } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import type { RunChange } from './change-effects';
import { pendingVersion } from './manual-versions';
import type { StagedFeed } from './staging';

/*
 * Fills of the working copy of a distributed `products`, for each kind of work (see src/base/db/layout/working-copy.ts). On plain
 * PostgreSQL, these functions do nothing.
 */

/** Copies products with versions that no change has ended yet: the next change ends them. */
const copyPending = (partnerId: number) =>
  copyByKey(
    partnerId,
    'product_id',
    sql`select product_id from product_versions where partner_id = ${raw(partnerId)} and until_run_id = ${raw(pendingVersion)}`,
  );

/** Copies the products that the staged rows name, and the withdrawn ones. @param isWritten - false for a plan */
export async function copyStagedProducts(
  trx: Knex.Transaction,
  { partnerId, collection }: StagedFeed,
  withdraws: boolean,
  isWritten = true,
): Promise<void> {
  await takeWorkingCopy(
    trx,
    [
      copyByKey(partnerId, 'sku', raw('select sku from pg_temp.feed_rows')),
      copyPending(partnerId),
      ...(withdraws
        ? [
            copyUnnamed(
              partnerId,
              sql`products.collection = ${collection} and products.withdrawn_at is null`,
              raw('select sku from pg_temp.feed_rows union all select sku from pg_temp.feed_names'),
            ),
          ]
        : []),
    ],
    { isWritten },
  );
}

/** Prepares the load of a partner without products. */
export const copyNoProducts = (trx: Knex.Transaction) => takeWorkingCopy(trx, []);

/** Copies the products that a change has written or inserted. */
export async function copyChangedProducts(
  trx: Knex.Transaction,
  { partnerId, feedId, runId }: RunChange,
): Promise<void> {
  const ofPartner = raw(`select product_id from product_versions where partner_id = ${partnerId}`);
  await takeWorkingCopy(trx, [
    copyWhere(partnerId, sql`feed_id = ${feedId} and run_id = ${runId}`),
    copyByKey(
      partnerId,
      'product_id',
      sql`${ofPartner} and until_run_id = ${raw(runId)} union ${ofPartner} and run_id = ${raw(runId)}`,
    ),
  ]);
}
