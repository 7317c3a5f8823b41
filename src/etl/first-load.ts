import type { Knex } from 'knex';
import { copyRows, formatValues, RepeatedSku, type CopyTarget, type RowSource } from './copy-rows';
import { productColumns } from '../feed-format/columns';
import { isContention, keepDigests } from './load';
import { tryLockPartner } from '../partners/partner-lock';
import type { FeedToRun } from './raw-file';
import { createStaging } from './staging';
import type { RunCounters } from './run-result';
import type { RunStats } from './run-stats';

/**
 * Minimum size of a raw file that is copied straight into `products`. For smaller files it saves less than a second, and a
 * broken feed would leave dead rows.
 */
const firstLoadBytes = 16 * 1024 * 1024;

/** COPY into `products`. */
function productsTarget({ feedId, partnerId }: FeedToRun): CopyTarget {
  return {
    table: `products (feed_id, partner_id, ${productColumns.join(', ')})`,
    allowsRepeatedSkus: false,
    formatRow: (_place, values) => `${feedId}\t${partnerId}${formatValues(values)}\n`,
  };
}

/**
 * Copies a large feed straight into `products` if its partner has none.
 *
 * There is nothing to compare with, and the file is read while PostgreSQL maintains the indexes, which takes longer.
 * Repeated skus need staging, because the last row wins; so does another run of the partner, which may load products.
 * @returns the counters; undefined when nothing was loaded and the feed must be staged
 * @throws FeedFailure when the file cannot be read completely
 */
export async function loadFirstFeed(
  trx: Knex.Transaction,
  source: RowSource,
  stats: RunStats,
  bytesMin: number = firstLoadBytes,
): Promise<RunCounters | undefined> {
  if (source.feed.sizeBytes < bytesMin || !(await lockPartnerWithoutProducts(trx, source.feed)))
    return undefined;
  await source.digests?.applyManualChanges();
  try {
    // The savepoint removes the rows that were copied before a sku repeated.
    await trx.transaction(async (savepoint) => {
      await keepDigests(savepoint);
      await copyRows(savepoint, source, productsTarget(source.feed), stats);
    });
  } catch (error) {
    // Digests detect repeated skus within their memory budget; beyond it the unique index does.
    if (!(error instanceof RepeatedSku) && !isContention(error)) throw error;
    stats.reset();
    return undefined;
  }
  stats.phase = 'loading';
  await createStaging(trx);
  const { copied: inserted, rejected: skipped } = stats;
  return { processed: inserted + skipped, inserted, updated: 0, unchanged: 0, skipped };
}

/** Locks the partner unless it is locked already. @returns whether it is locked now and has no products */
async function lockPartnerWithoutProducts(trx: Knex.Transaction, { partnerId }: FeedToRun): Promise<boolean> {
  const hasProducts = async () =>
    (await trx('products').where('partner_id', partnerId).first('product_id')) !== undefined;
  if (await hasProducts()) return false;
  // Another run may have committed before the lock.
  return (await tryLockPartner(trx, partnerId)) && !(await hasProducts());
}
