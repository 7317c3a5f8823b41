import type { Knex } from 'knex';
import { copyTexts, type RowTarget } from './copy-rows';
import { productColumns } from '../feed-format/columns';

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
