import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { from as copyFrom, type CopyStreamQuery } from 'pg-copy-streams';
import { limits } from '../config';
import { productColumns } from './feed-format';
import { rowIssue, type FirstRow, type RecordPlace } from './row-issues';
import type { ProductValues } from './transform';

/**
 * The staged rows of one run, and its issues, both gone with the transaction. `line` tells rows apart: two records never
 * start on the same line. `last_line` is null where it is the same.
 */
const createStagingSql = `
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

/**
 * A backend whose client was killed must give up the claim on the job soon, also amid a long statement; not every system
 * can look for that.
 */
const prepareTransactionSql = `
  set local work_mem = '${limits.etlWorkMemMegabytes}MB';
  do $$
  begin
    perform set_config('client_connection_check_interval', '${limits.clientCheckMilliseconds}', true);
  exception when invalid_parameter_value then
    null;
  end $$;
`;

/** Prepares the staging tables in the run's transaction, and gives its joins and sorts room. */
export async function createStaging(trx: Knex.Transaction): Promise<void> {
  await trx.raw(prepareTransactionSql);
  await trx.raw(createStagingSql);
}

/** A stream that takes the text of `stagedRow` and copies it into the staging table. */
export async function stageRows(trx: Knex.Transaction): Promise<CopyStreamQuery> {
  // Within a transaction this is its own connection.
  const knexClient = trx.client as { acquireConnection(): Promise<ClientBase> };
  const client = await knexClient.acquireConnection();
  return client.query(
    copyFrom(`copy feed_rows (line, last_line, row_number, ${productColumns.join(', ')}) from stdin`),
  );
}

/** One row in the text form of COPY. */
export function stagedRow({ line, lastLine, row }: RecordPlace, values: ProductValues): string {
  let text = `${line}\t${lastLine === line ? '\\N' : lastLine}\t${row}`;
  for (const column of productColumns) text += `\t${copyText(values[column])}`;
  return `${text}\n`;
}

const copySpecial = /[\\\t\n\r]/;
const copyEscapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copyText(value: string | null): string {
  if (value === null) return '\\N';
  return copySpecial.test(value) ? value.replace(/[\\\t\n\r]/g, (special) => copyEscapes[special]!) : value;
}

/**
 * Removes the staged rows that a later row of the same sku replaces, files an issue for each, and gives the first.
 * The aggregate is the whole cost of a feed without repeated skus.
 */
const foldRepeatedSkusSql = `
  with repeated as (
    select sku, max(line) as winner from feed_rows group by sku having count(*) > 1
  ), superseded as (
    delete from feed_rows using repeated
    where feed_rows.sku = repeated.sku and feed_rows.line < repeated.winner
    returning line, coalesce(last_line, line) as last_line, row_number, feed_rows.sku,
      case when length(feed_rows.sku) > :valueCharacters then left(feed_rows.sku, :valueCharacters) || '…'
        else feed_rows.sku end as value
  ), filed as (
    insert into feed_issues
      (line, last_line, row_number, position, sku, field, column_number, code, severity, message, value)
    select line, last_line, row_number, 0, sku, :field, :columnNumber, :code, :severity, :message, value
    from superseded
  )
  select line, row_number as row, sku, value, count(*) over () as count
  from superseded
  order by line
  limit :firstRows
`;

/**
 * Lets the last row of each sku win.
 * @param columnNumber - where the sku stands in the file
 * @returns how many rows were removed, and the first of them
 */
export async function foldRepeatedSkus(
  trx: Knex.Transaction,
  columnNumber: number,
): Promise<{ count: number; first: FirstRow[] }> {
  const nowhere = { line: 0, lastLine: 0, row: 0 };
  const { field, code, severity, message } = rowIssue(nowhere, null, { code: 'duplicate_sku', field: 'sku' });
  const { rows } = await trx.raw<{ rows: (FirstRow & { count: number })[] }>(foldRepeatedSkusSql, {
    field,
    columnNumber,
    code,
    severity,
    message,
    firstRows: limits.issueFirstRows,
    valueCharacters: limits.issueValueCharacters,
  });
  return { count: rows[0]?.count ?? 0, first: rows };
}
