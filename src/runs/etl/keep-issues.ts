import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { issuesKept, type RowIssue, type RowIssueLog } from '../../feed-format/rows/row-issues';
import { FeedFailure } from './run-result';

/** Errors take precedence over warnings; numbers follow the order of the file. */
const keepIssuesSql = (jobId: number) => sql`
  insert into row_issues
    (job_id, issue_number, line, last_line, row_number, sku, field, column_number, code, severity, message, value)
  select ${jobId}, row_number() over (order by line, position),
    line, last_line, row_number, sku, field, column_number, code, severity, message, value
  from (select * from feed_issues order by severity, line, position limit ${issuesKept}) as kept
`;

const listStagedSql = sql`
  select line, last_line as "lastLine", row_number as row, sku, field, column_number as "columnNumber", code, severity, message,
    value
  from feed_issues order by line, position limit ${issuesKept}
`;

/** Batch size: all issues in one statement would be in memory several times. */
const issuesPerInsert = 500;

/** Replaces the stored issues of a job by `issues` and the rows of `feed_issues`. */
export async function replaceRowIssues(
  trx: Knex.Transaction,
  jobId: number,
  issues: readonly RowIssue[],
): Promise<void> {
  await trx('row_issues').where('job_id', jobId).delete();
  for (let at = 0; at < issues.length; at += issuesPerInsert) {
    const rows = issues
      .slice(at, at + issuesPerInsert)
      .map(({ lastLine, row, columnNumber, ...same }, position) => ({
        ...same,
        last_line: lastLine,
        row_number: row,
        // Behind the issue of a row that PostgreSQL rejects.
        position: at + position + 1,
        column_number: columnNumber,
      }));
    await changeRows(
      trx,
      sql`insert into feed_issues select * from json_populate_recordset(null::feed_issues, ${JSON.stringify(rows)})`,
    );
  }
  await changeRows(trx, keepIssuesSql(jobId));
}

/** Checks a run before it applies anything. A failure rolls `feed_issues` back: as many issues as are shown are kept. */
export async function checkKeepingIssues(
  trx: Knex.Transaction,
  issues: RowIssueLog,
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof FeedFailure) {
      for (const issue of await queryRows<RowIssue>(trx, listStagedSql)) issues.keep(issue);
    }
    throw error;
  }
}
