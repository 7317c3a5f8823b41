import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { sql, type Sql } from '../../base/db/sql';
import type { RecordPlace } from '../../feed-format/read/extract';
import {
  issueFirstRows,
  issueValueCharacters,
  rowIssue,
  type FirstRow,
  type RowIssue,
} from '../../feed-format/rows/row-issues';
import type { RunStats } from './run-stats';
import type { StagedFeed } from './staging';

/** Reason for which a valid row is rejected: its sku, or the lack of a name. */
type StagedFault = 'duplicate_sku' | 'unknown_sku' | 'missing_required';

const fieldOf = (code: StagedFault) => (code === 'missing_required' ? 'product_name' : 'sku');

/** Reports a valid row that is rejected. @param columnNumber - position of the column at fault in the file, from 1 */
export function stagedIssue(
  code: StagedFault,
  place: RecordPlace,
  sku: string,
  columnNumber: number | null,
): RowIssue {
  const field = fieldOf(code);
  return rowIssue(place, sku, { code, field, columnNumber, value: field === 'sku' ? sku : null });
}

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
  reason: StagedFault,
  selected: SelectedRows,
): Promise<number> {
  const anyPlace = { line: 0, lastLine: 0, row: 0 };
  const position = positions[fieldOf(reason)];
  const issue = stagedIssue(reason, anyPlace, '', position === undefined ? null : position + 1);
  const rows = await queryRows<FirstRow & { count: number }>(trx, rejectSql(selected, issue));
  const count = rows[0]?.count ?? 0;
  issues.count(reason, count, rows);
  return count;
}
