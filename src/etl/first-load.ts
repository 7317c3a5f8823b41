import type { Knex } from 'knex';
import { copyRows, copyTexts, RepeatedSku, type RowSource, type RowTarget, type RunTally } from './copy-rows';
import { productColumns } from '../feed-format/columns';
import { isContention, keepDigests } from './load';
import type { FeedToRun } from './raw-file';
import { createStaging } from './staging';
import type { RunCounters } from './run-result';

/**
 * A file of this size or more is copied straight into the products of a partner who has none. Of a smaller one it saves
 * less than a second, and a feed that turns out to be broken would leave rows to be cleaned up.
 */
const firstLoadBytes = 16 * 1024 * 1024;

/** The products of the feed's partner as the target of a COPY. */
function productsTarget({ feedId, partnerId }: FeedToRun): RowTarget {
  return {
    table: `products (feed_id, partner_id, ${productColumns.join(', ')})`,
    takesRepeatedSkus: false,
    text: (_place, values) => `${feedId}\t${partnerId}${copyTexts(values)}\n`,
  };
}

/**
 * Copies a large feed of a partner who has no products straight into them. There is nothing to compare, so that reading
 * the file costs no time: the indexes take longer.
 *
 * Not for every first load: where a sku comes again, the last row must win, which only all of them show; and where another
 * run of the partner goes on, it may be loading products.
 * @returns what every row of the feed comes to; undefined when nothing was loaded, and the feed is to be staged
 * @throws FeedFailure when the file cannot be read to its end
 */
export async function loadFirstFeed(
  trx: Knex.Transaction,
  source: RowSource,
  tally: RunTally,
  bytesMin: number = firstLoadBytes,
): Promise<RunCounters | undefined> {
  if (source.feed.sizeBytes < bytesMin || !(await lockPartnerWithoutProducts(trx, source.feed)))
    return undefined;
  await source.digests?.accountForManualChanges();
  try {
    // A savepoint: rows that were copied before a sku came again go.
    await trx.transaction(async (savepoint) => {
      await keepDigests(savepoint);
      await copyRows(savepoint, source, productsTarget(source.feed), tally);
    });
  } catch (error) {
    // Skus are told apart by digests, for as many as there is room; beyond that PostgreSQL finds the second one.
    if (!(error instanceof RepeatedSku) && !isContention(error)) throw error;
    tally.startOver();
    return undefined;
  }
  tally.phase = 'loading';
  await createStaging(trx);
  const { copied: inserted, rejected: skipped } = tally;
  return { processed: inserted + skipped, inserted, updated: 0, unchanged: 0, skipped };
}

/** Locks the partner unless it is locked or has products. @returns whether it is locked now and has none */
async function lockPartnerWithoutProducts(trx: Knex.Transaction, { partnerId }: FeedToRun): Promise<boolean> {
  const hasProducts = async () =>
    (await trx('products').where('partner_id', partnerId).first('product_id')) !== undefined;
  if (await hasProducts()) return false;
  const { rows } = await trx.raw<{ rows: unknown[] }>(
    'select from partners where partner_id = ? for no key update skip locked',
    [partnerId],
  );
  // Another run may have ended in between.
  return rows.length > 0 && !(await hasProducts());
}
