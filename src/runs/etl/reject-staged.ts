import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { sql, type Sql } from '../../base/db/sql';
import { fieldAtFault, rejectedRowIssue, type RowRejection } from '../../feed-format/check/rejected-row';
import {
  issueFirstRows,
  issueValueCharacters,
  type FirstRow,
  type RowIssue,
} from '../../feed-format/rows/row-issues';
import type { RunStats } from './run-stats';
import type { StagedFeed } from './staging';

/** Staged rows for which `condition` is true, joined with a row of `table`. */
interface SelectedRows {
  /** Common table expression of `table`. */
  expression: Sql;
  table: Sql;
  condition: Sql;
}

/** Deletes the rows, stores an issue for each, and returns the first. */
const rejectSql = (
  { expression, table, condition }: SelectedRows,
  { field, columnNumber, code, severity, message }: RowIssue,
) => sql`
  with ${expression}, rejected as (
    delete from feed_rows using ${table} where ${condition}
    returning feed_rows.line, coalesce(last_line, feed_rows.line) as last_line, row_number, feed_rows.sku,
      ${
        field === 'sku'
          ? sql`case when length(feed_rows.sku) > ${issueValueCharacters}
              then left(feed_rows.sku, ${issueValueCharacters}) || '…' else feed_rows.sku end`
          : sql`cast(null as text)`
      } as value
  ), issue as (
    insert into feed_issues
      (line, last_line, row_number, position, sku, field, column_number, code, severity, message, value)
    select line, last_line, row_number, 0, sku, ${field}, ${columnNumber}, ${code}, ${severity}, ${message}, value from rejected
  )
  select line, row_number as row, sku, value, count(*) over () as count
  from rejected order by line limit ${issueFirstRows}
`;

/** Deletes staged rows, and reports each. @returns their number */
export async function rejectStaged(
  trx: Knex.Transaction,
  { positions }: Pick<StagedFeed, 'positions'>,
  { issues }: Pick<RunStats, 'issues'>,
  reason: RowRejection,
  selected: SelectedRows,
): Promise<number> {
  const anyPlace = { line: 0, lastLine: 0, row: 0 };
  const position = positions[fieldAtFault(reason)];
  const issue = rejectedRowIssue(reason, anyPlace, '', position === undefined ? null : position + 1);
  const rows = await queryRows<FirstRow & { count: number }>(trx, rejectSql(selected, issue));
  const count = rows[0]?.count ?? 0;
  issues.count(reason, count, rows);
  return count;
}
