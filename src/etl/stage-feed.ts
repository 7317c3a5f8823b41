import type { Knex } from 'knex';
import { copyRows, type RowSource, type RunTally } from './copy-rows';
import type { ProductColumn } from '../feed-format/columns';
import { compareProducts, type MergeTarget, type ProductCounts } from './load';
import { createStaging, stagingTarget } from './staging';
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

/**
 * Notes what the staged rows would change, in place of what was noted before.
 * @param superseded - what `rejectSupersededRows` has returned
 * @returns what every row of the feed comes to
 */
export async function compareFeed(
  trx: Knex.Transaction,
  feed: StagedFeed,
  tally: RunTally,
  superseded: number,
): Promise<{ counters: RunCounters; changes: ProductCounts }> {
  const staged = await tally.time('compare', () => compareProducts(trx, feed));
  const changes = { ...staged, unchanged: staged.unchanged + tally.known };
  const skipped = tally.rejected + superseded;
  const processed = changes.inserted + changes.updated + changes.unchanged + skipped;
  return { counters: { processed, ...changes, skipped }, changes };
}
