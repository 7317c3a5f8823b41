import type { Knex } from 'knex';
import { copyByKey } from '../../base/db/layout/copy-products';
import { takeWorkingCopy } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import { keptValue } from '../../feed-format/rows/transform';
import { rejectStaged } from './reject-staged';
import type { RunStats } from './run-stats';
import { readColumn, type StagedFeed } from './staging';

const keptName = raw(`'${keptValue('product_name')}'`);

/** Compared rows without a product, which are no changes. */
const unknown = {
  expression: sql`unknown as (delete from feed_changes where product_id is null returning line)`,
  table: sql`unknown`,
  condition: sql`feed_rows.line = unknown.line`,
};

/** Rejects the staged rows of a feed with mode `update` that have no product. The caller has compared them. */
export async function rejectUnknownRows(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
): Promise<void> {
  // A repeated comparison can find further ones.
  stats.unknown += await rejectStaged(trx, feed, stats, 'unknown_sku', unknown);
}

/** Compared rows without a product and a name, which are no changes. */
const unnamed = {
  expression: sql`unnamed as (
    delete from feed_changes using feed_rows
    where feed_changes.product_id is null and feed_rows.line = feed_changes.line and feed_rows.product_name = ${keptName}
    returning feed_changes.line
  )`,
  table: sql`unnamed`,
  condition: sql`feed_rows.line = unnamed.line`,
};

/** Rejects the staged rows without a name that have no product, in a feed whose empty names keep the stored ones. */
export async function rejectUnnamedRows(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
): Promise<void> {
  stats.unknown += await rejectStaged(trx, feed, stats, 'missing_required', unnamed);
}

/** Copies the products that staged rows name, if `products` is distributed: for `listUnknownRows`. */
export const prepareUnknownRows = (trx: Knex.Transaction, { partnerId }: Pick<StagedFeed, 'partnerId'>) =>
  takeWorkingCopy(trx, [copyByKey(partnerId, 'sku', raw('select sku from pg_temp.feed_rows'))], {
    isWritten: false,
  });

/**
 * Lists the numbers of the staged rows without a product, unordered, in batches.
 * @param isUnnamed - lists only rows without a name, which keep the stored one
 */
export function listUnknownRows(
  trx: Knex.Transaction,
  { partnerId }: Pick<StagedFeed, 'partnerId'>,
  isUnnamed: boolean,
): AsyncGenerator<number[]> {
  return readColumn(
    trx,
    sql`select row_number from feed_rows
     where ${isUnnamed ? sql`product_name = ${keptName} and` : raw('')} not exists (select from products where partner_id = ${raw(partnerId)} and products.sku = feed_rows.sku)`,
  );
}
