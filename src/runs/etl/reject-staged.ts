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

/** Reason for which the sku of a valid row is rejected. */
type SkuFault = 'duplicate_sku' | 'unknown_sku';

/** Reports a valid row that is rejected for its sku. @param columnNumber - position of the sku in the file, from 1 */
export function skuIssue(
  code: SkuFault,
  place: RecordPlace,
  sku: string,
  columnNumber: number | null,
): RowIssue {
  return rowIssue(place, sku, { code, field: 'sku', columnNumber, value: sku });
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
      case when length(feed_rows.sku) > ${issueValueCharacters} then left(feed_rows.sku, ${issueValueCharacters}) || '…'
        else feed_rows.sku end as value
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
  { skuColumnNumber }: Pick<StagedFeed, 'skuColumnNumber'>,
  { issues }: Pick<RunStats, 'issues'>,
  reason: SkuFault,
  selected: SelectedRows,
): Promise<number> {
  const anyPlace = { line: 0, lastLine: 0, row: 0 };
  const issue = skuIssue(reason, anyPlace, '', skuColumnNumber);
  const rows = await queryRows<FirstRow & { count: number }>(trx, rejectSql(selected, issue));
  const count = rows[0]?.count ?? 0;
  issues.count(reason, count, rows);
  return count;
}
