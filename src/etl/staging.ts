import type { Knex } from 'knex';
import { copyRows, formatValues, type CopyTarget, type RowSource } from './copy-rows';
import { productColumns, type ProductColumn } from '../feed-format/columns';
import type { RunStats } from './run-stats';

/**
 * Memory of PostgreSQL per sort or hash of a run: the sort keys of a million products fit. With the default of 4 MB, a first
 * load of a million rows took 27 s instead of 20.
 */
const etlWorkMemMegabytes = 64;

/**
 * Creates the staged rows and the issues of a run, until the end of its transaction.
 *
 * `line` is unique: a record starts on a new line. `last_line` is null where it equals `line`.
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

/** Creates empty staging tables, and raises the memory limit of the transaction. */
export async function createStaging(trx: Knex.Transaction): Promise<void> {
  await trx.raw(`set local work_mem = '${etlWorkMemMegabytes}MB'`);
  await trx.raw(createStagingSql);
}

/** COPY into the staging table. */
const stagingTarget: CopyTarget = {
  table: `feed_rows (line, last_line, row_number, ${productColumns.join(', ')})`,
  allowsRepeatedSkus: true,
  formatRow: ({ line, lastLine, row }, values) =>
    `${line}\t${lastLine === line ? '\\N' : lastLine}\t${row}${formatValues(values)}\n`,
};

/** A feed whose valid rows are staged. */
export interface StagedFeed {
  feedId: number;
  partnerId: number;
  /** Product columns of the feed. */
  columns: ReadonlySet<ProductColumn>;
  /** Position of the sku in the file, from 1. */
  skuColumnNumber: number;
}

/**
 * Reads the valid rows of a feed into the staging table.
 * @throws FeedFailure when the file cannot be read completely
 */
export async function stageFeed(
  trx: Knex.Transaction,
  source: RowSource,
  stats: RunStats,
): Promise<StagedFeed> {
  await createStaging(trx);
  const { positions } = await copyRows(trx, source, stagingTarget, stats);
  const { feedId, partnerId } = source.feed;
  return {
    feedId,
    partnerId,
    columns: new Set(Object.keys(positions) as ProductColumn[]),
    skuColumnNumber: positions.sku! + 1,
  };
}
