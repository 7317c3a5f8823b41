import type { Knex } from 'knex';
import { copyTexts, type RowTarget, copyRows, type RowSource, type RunTally } from './copy-rows';
import { productColumns, type ProductColumn } from '../feed-format/columns';
import { compareProducts, type MergeTarget, type ProductCounts } from './load';
import type { RunCounters } from './run-result';

/**
 * Memory that PostgreSQL may take per sort or hash of a run: the sort keys of a million products fit. With its default
 * of 4 MB, a first load of a million rows took 27 s instead of 20.
 */
const etlWorkMemMegabytes = 64;

/**
 * The staged rows of one run, and its issues, both gone with the transaction. `line` tells rows apart: two records never
 * start on the same line. `last_line` is null where it is the same.
 */
const createStagingSql = `
  drop table if exists pg_temp.feed_rows, pg_temp.feed_issues;
  create temporary table feed_rows (
    line bigint not null,
    last_line bigint,
    row_number bigint not null,
    sku text collate "C" not null,
    product_name text collate "C" not null,
    description text,
    brand text collate "C",
    category text collate "C",
    price numeric(16, 4),
    currency text collate "C",
    availability text collate "C"
  ) on commit drop;
  create temporary table feed_issues (
    line bigint not null,
    last_line bigint not null,
    row_number bigint not null,
    position integer not null,
    sku text,
    field text,
    column_number integer,
    code text not null,
    severity text not null,
    message text not null,
    value text
  ) on commit drop;
`;

/** Prepares the staging tables in the run's transaction, empty ones also if it has some already, and gives its joins and sorts room. */
export async function createStaging(trx: Knex.Transaction): Promise<void> {
  await trx.raw(`set local work_mem = '${etlWorkMemMegabytes}MB'`);
  await trx.raw(createStagingSql);
}

/** The staging table as the target of a COPY. */
export const stagingTarget: RowTarget = {
  table: `feed_rows (line, last_line, row_number, ${productColumns.join(', ')})`,
  takesRepeatedSkus: true,
  text: ({ line, lastLine, row }, values) =>
    `${line}\t${lastLine === line ? '\\N' : lastLine}\t${row}${copyTexts(values)}\n`,
};

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
