import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import { copyRows, formatValue, formatValues, type CopyTarget, type RowSource } from './copy-rows';
import { productColumns, type ProductColumn } from '../../feed-format/columns';
import type { FeedHeader } from '../../feed-format/read/header-columns';
import type { LoadOptions } from '../../feed-format/load-options';
import type { FeedToRun } from './raw-file';
import type { RunStats } from './run-stats';

/**
 * Memory of PostgreSQL per sort or hash of a run: the sort keys of a million products fit. With the default of 4 MB, a first
 * load of a million rows took 27 s instead of 20.
 */
export const etlWorkMemMegabytes = 64;

/**
 * Creates the staged rows and the issues of a run, until the end of its transaction.
 *
 * `line` is unique: a record starts on a new line. `last_line` is null where it equals `line`, `record_offset` in a row that only
 * names a sku.
 */
const rowColumnsSql = sql`
    line bigint not null,
    last_line bigint,
    row_number bigint not null,
    record_offset bigint,
    sku text collate "C" not null,
    product_name text collate "C",
    description text,
    brand text collate "C",
    category text collate "C",
    price numeric(16, 4),
    currency text collate "C",
    availability text collate "C"`;

const createRowsSql = sql`create temporary table feed_rows (${rowColumnsSql}) on commit drop;`;

/** One COPY writes the rows, and the skus of all other rows for a feed that withdraws products that it does not name. */
const createNamedRowsSql = sql`
  create temporary table feed_records (${rowColumnsSql}, is_name boolean not null)
    partition by list (is_name) on commit drop;
  create temporary table feed_rows partition of feed_records for values in (false) on commit drop;
  create temporary table feed_names partition of feed_records for values in (true) on commit drop;
`;

const createIssuesSql = sql`
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

/**
 * Creates empty staging tables, and raises the memory limit of the transaction.
 * @param keepsNames - whether the skus of unstaged rows are needed
 */
export async function createStaging(trx: Knex.Transaction, keepsNames = false): Promise<void> {
  await queryRows(trx, sql`set local work_mem = '${raw(etlWorkMemMegabytes)}MB'`);
  await queryRows(
    trx,
    sql`
    drop table if exists pg_temp.feed_records, pg_temp.feed_rows, pg_temp.feed_names, pg_temp.feed_issues;
    ${keepsNames ? createNamedRowsSql : createRowsSql}
    ${createIssuesSql}
  `,
  );
}

/** COPY into the staging table. */
const stagingTarget: CopyTarget = {
  table: `feed_rows (line, last_line, row_number, record_offset, ${productColumns.join(', ')})`,
  allowsRepeatedSkus: true,
  formatRow: ({ line, lastLine, row }, offset, values) =>
    `${line}\t${lastLine === line ? '\\N' : lastLine}\t${row}\t${offset}${formatValues(values)}\n`,
};

const noValues = '\t\\N'.repeat(productColumns.length - 1);

/** The same for a feed that withdraws products that it does not name. `sku` is the first column. */
const namingTarget: CopyTarget = {
  ...stagingTarget,
  table: `feed_records (is_name, line, last_line, row_number, record_offset, ${productColumns.join(', ')})`,
  formatRow: (place, offset, values) => `f\t${stagingTarget.formatRow(place, offset, values)}`,
  formatName: ({ line, row }, sku) => `t\t${line}\t\\N\t${row}\t\\N\t${formatValue(sku)}${noValues}\n`,
};

/** A feed whose valid rows are staged. */
export interface StagedFeed
  extends
    Pick<LoadOptions, 'mode' | 'collection' | 'isCollectionNamed'>,
    Pick<FeedToRun, 'maxWithdrawn' | 'maxWithdrawnPercent'> {
  feedId: number;
  partnerId: number;
  columns: ReadonlySet<ProductColumn>;
  /** Columns that may have `keptValue`. */
  keptColumns: ReadonlySet<ProductColumn>;
  /** Position of the first cell of each column in the file, from 0. */
  positions: FeedHeader['positions'];
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
  const { feedId, partnerId, mode, collection, isCollectionNamed, maxWithdrawn, maxWithdrawnPercent } =
    source.feed;
  const replaces = mode === 'replace';
  await createStaging(trx, replaces);
  const header = await copyRows(trx, source, replaces ? namingTarget : stagingTarget, stats);
  return {
    feedId,
    partnerId,
    mode,
    collection,
    isCollectionNamed,
    maxWithdrawn,
    maxWithdrawnPercent,
    columns: header.reading.columns,
    keptColumns: mode === 'update' ? header.reading.columns : new Set(header.reading.keptColumns),
    positions: header.positions,
  };
}

/** Rows per batch of `readColumn`. */
const rowsPerFetch = 10_000;

/** Reads the only column of a query without bindings, in batches. One query at a time in a transaction. */
export async function* readColumn<Value>(trx: Knex.Transaction, query: Sql): AsyncGenerator<Value[]> {
  await queryRows(trx, sql`declare batches no scroll cursor for ${query}`);
  for (;;) {
    const rows = await queryRows<Record<string, Value>>(trx, sql`fetch ${raw(rowsPerFetch)} from batches`);
    if (rows.length === 0) break;
    yield rows.flatMap((row) => Object.values(row));
  }
  await queryRows(trx, sql`close batches`);
}
