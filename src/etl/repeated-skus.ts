import type { Knex } from 'knex';
import {
  issueFirstRows,
  issueValueCharacters,
  rowIssue,
  type FirstRow,
  type RecordPlace,
  type RowIssue,
} from './row-issues';
import type { RunStats } from './run-stats';
import type { StagedFeed } from './staging';

/*
 * The last valid row of a sku wins: it is loaded, and the valid rows before it are rejected as `duplicate_sku`.
 *
 * The rule exists in SQL for staged rows (runs, plans and rejects) and in memory for an inspection, which has no database.
 * Two shortcuts of a run have no rule of their own: digests stage all rows of a repeated sku (`RecordDigests.markStaged`),
 * and a first load with a repeated sku is rolled back and staged (`RepeatedSku`).
 */

/** Last row of each repeated sku. For a feed without repeated skus, this aggregate is the only cost. */
const winnersSql =
  '(select sku, max(line) as line from feed_rows group by sku having count(*) > 1) as winner';
const isSupersededSql = 'feed_rows.sku = winner.sku and feed_rows.line < winner.line';

/** Keeps the last row of each sku, in the order of the file. @returns the superseded row */
export function keepLastRow<T>(rows: Map<string, T>, sku: string, row: T): T | undefined {
  const superseded = rows.get(sku);
  rows.delete(sku);
  rows.set(sku, row);
  return superseded;
}

/** Reports a superseded row. @param columnNumber - position of the sku in the file, from 1 */
export function supersededIssue(place: RecordPlace, sku: string, columnNumber: number | null): RowIssue {
  return rowIssue(place, sku, { code: 'duplicate_sku', field: 'sku', columnNumber, value: sku });
}

/** Deletes the superseded rows, stores an issue for each, and returns the first. */
const rejectSupersededSql = `
  with superseded as (
    delete from feed_rows using ${winnersSql}
    where ${isSupersededSql}
    returning feed_rows.line, coalesce(last_line, feed_rows.line) as last_line, row_number, feed_rows.sku,
      case when length(feed_rows.sku) > :valueCharacters then left(feed_rows.sku, :valueCharacters) || '…'
        else feed_rows.sku end as value
  ), issue as (
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

/** Deletes the superseded rows among the staged ones, and reports them. Call it once per staging. */
export async function rejectSupersededRows(
  trx: Knex.Transaction,
  { skuColumnNumber: columnNumber }: StagedFeed,
  stats: RunStats,
): Promise<void> {
  const { field, code, severity, message } = supersededIssue(
    { line: 0, lastLine: 0, row: 0 },
    '',
    columnNumber,
  );
  const { rows } = await stats.timed('duplicates', () =>
    trx.raw<{ rows: (FirstRow & { count: number })[] }>(rejectSupersededSql, {
      field,
      columnNumber,
      code,
      severity,
      message,
      firstRows: issueFirstRows,
      valueCharacters: issueValueCharacters,
    }),
  );
  stats.superseded = rows[0]?.count ?? 0;
  stats.issues.count('duplicate_sku', stats.superseded, rows);
}

const rowsPerFetch = 10_000;

/** Lists the numbers of the superseded rows among the staged ones, unordered, in batches. */
export async function* listSupersededRows(trx: Knex.Transaction): AsyncGenerator<number[]> {
  await trx.raw(
    `declare superseded no scroll cursor for
     select row_number from feed_rows join ${winnersSql} on ${isSupersededSql}`,
  );
  for (;;) {
    const { rows } = await trx.raw<{ rows: { row_number: number }[] }>(
      `fetch ${rowsPerFetch} from superseded`,
    );
    if (rows.length === 0) return;
    yield rows.map(({ row_number }) => row_number);
  }
}
