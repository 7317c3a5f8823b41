import type { Knex } from 'knex';
import { dropWorkingCopy, writeBack } from '../../base/db/layout/product-layout';
import { copyRows, formatValues, RepeatedSku, type CopyTarget, type RowSource } from './copy-rows';
import { productColumns } from '../../feed-format/columns';
import { defaultLoadOptions } from '../../feed-format/load-options';
import { isContention, skipManualChangeLog } from './apply-changes';
import { endManualVersions } from './manual-versions';
import { beginRunChange, type CatalogChange } from '../../catalog/changes/catalog-changes';
import { tryLockPartner } from '../../catalog/changes/partner-lock';
import type { FeedToRun } from './raw-file';
import { createStaging } from './staging';
import type { MergeResult } from './run-result';
import type { RunStats } from './run-stats';
import { withheldCounter } from './withdrawals';
import { copyNoProducts } from './working-products';

/**
 * Minimum size of a raw file that is copied straight into `products`. For smaller files it saves less than a second, and a
 * broken feed would leave dead rows.
 */
const firstLoadBytes = 16 * 1024 * 1024;

/** COPY into `products`. */
function productsTarget({ feedId, partnerId, collection }: FeedToRun, { runId }: CatalogChange): CopyTarget {
  const isDefault = collection === defaultLoadOptions.collection;
  return {
    table: `products (feed_id, run_id, partner_id, record_offset, ${isDefault ? '' : 'collection, '}${productColumns.join(', ')})`,
    allowsRepeatedSkus: false,
    formatRow: (_place, offset, values) =>
      `${feedId}\t${runId}\t${partnerId}\t${offset}${isDefault ? '' : `\t${collection}`}${formatValues(values)}\n`,
  };
}

/**
 * Copies a large feed straight into `products` if its partner has none.
 * There is nothing to compare with, and the file is read while PostgreSQL maintains the indexes, which takes longer.
 * Repeated skus need staging, because the last row wins; so does another run of the partner, which may load products.
 * @param markLoading - marks the feed as being loaded; called when the file is read, while PostgreSQL still copies
 * @returns the change and its result; undefined when nothing was loaded and the feed must be staged
 * @throws FeedFailure when the file cannot be read completely
 */
export async function loadFirstFeed(
  trx: Knex.Transaction,
  source: RowSource,
  stats: RunStats,
  markLoading: () => Promise<void>,
  bytesMin: number = firstLoadBytes,
): Promise<(MergeResult & { change: CatalogChange }) | undefined> {
  // It has no product to update, or none whose values it keeps: the merge knows these rules.
  if (source.feed.mode === 'update' || source.feed.format?.keep_when_empty) return undefined;
  if (source.feed.sizeBytes < bytesMin || !(await lockPartnerWithoutProducts(trx, source.feed)))
    return undefined;
  await source.digests?.applyManualChanges();
  const change = await beginRunChange(trx, source.feed.partnerId);
  await copyNoProducts(trx);
  const onRead = async () => {
    stats.phase = 'loading';
    await markLoading();
  };
  try {
    // The savepoint removes the rows that were copied before a sku repeated.
    await trx.transaction(async (savepoint) => {
      await skipManualChangeLog(savepoint);
      await copyRows(savepoint, source, { ...productsTarget(source.feed, change), onRead }, stats);
    });
  } catch (error) {
    // Digests detect repeated skus within their memory budget; beyond it, the unique index does.
    if (!(error instanceof RepeatedSku) && !isContention(error)) throw error;
    stats.reset();
    await dropWorkingCopy(trx);
    return undefined;
  }
  // Versions of products that were deleted by hand.
  const uncounted = await endManualVersions(trx, change);
  await stats.timed('write back', () => writeBack(trx, [change.partnerId]));
  await createStaging(trx);
  const { copied: inserted, skipped } = stats;
  const counters = {
    processed: inserted + skipped,
    inserted,
    updated: 0,
    unchanged: 0,
    skipped,
    withdrawn: 0,
    restored: 0,
    ...withheldCounter(source.feed, stats),
  };
  return { change, counters, uncounted };
}

/** Locks the partner unless it is locked already. @returns whether it is locked now and has no products */
async function lockPartnerWithoutProducts(trx: Knex.Transaction, { partnerId }: FeedToRun): Promise<boolean> {
  // Without an order, PostgreSQL would look for a product of a large partner through the whole table, from its beginning.
  const hasProducts = async () =>
    (await trx('products').where('partner_id', partnerId).orderBy('product_id').first('product_id')) !==
    undefined;
  if (await hasProducts()) return false;
  // Another run may have committed before the lock.
  return (await tryLockPartner(trx, partnerId)) && !(await hasProducts());
}
