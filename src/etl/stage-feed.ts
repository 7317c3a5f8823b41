import type { Knex } from 'knex';
import { copyRows, type RowSource, type RunTally } from './copy-rows';
import type { ProductColumn } from '../feed-format/columns';
import { compareProducts, type MergeTarget, type ProductCounts } from './load';
import { createStaging, foldRepeatedSkus, stagingTarget } from './staging';
import type { RunCounters } from './summary';

/** A feed whose good rows are staged. */
export interface StagedFeed extends MergeTarget {
  /** Where the sku stands in the file, from 1. */
  skuColumnNumber: number;
}

/**
 * Reads a feed into the staging table.
 * @throws FeedFailure when the file cannot be read to its end
 */
export async function stageFeed(
  trx: Knex.Transaction,
  source: RowSource,
  tally: RunTally,
): Promise<StagedFeed> {
  await createStaging(trx);
  const { positions } = await copyRows(trx, source, stagingTarget, tally);
  const { feedId, partnerId } = source.feed;
  return {
    feedId,
    partnerId,
    columns: new Set(Object.keys(positions) as ProductColumn[]),
    skuColumnNumber: positions.sku! + 1,
  };
}

/** Lets the last staged row of each sku win. @returns how many rows that has removed */
export async function foldFeed(trx: Knex.Transaction, feed: StagedFeed, tally: RunTally): Promise<number> {
  const repeated = await tally.time('fold', () => foldRepeatedSkus(trx, feed.skuColumnNumber));
  tally.issues.count('duplicate_sku', repeated.count, repeated.first);
  return repeated.count;
}

/**
 * Notes what the staged rows would change, in place of what was noted before.
 * @param folded - what `foldFeed` has returned
 * @returns what every row of the feed comes to
 */
export async function compareFeed(
  trx: Knex.Transaction,
  feed: StagedFeed,
  tally: RunTally,
  folded: number,
): Promise<{ counters: RunCounters; changes: ProductCounts }> {
  const staged = await tally.time('compare', () => compareProducts(trx, feed));
  const changes = { ...staged, unchanged: staged.unchanged + tally.known };
  const skipped = tally.rejected + folded;
  const processed = changes.inserted + changes.updated + changes.unchanged + skipped;
  return { counters: { processed, ...changes, skipped }, changes };
}
