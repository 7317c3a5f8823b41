import type { components } from '../../../generated/openapi';
import type { RowIssue } from './row-issues';

/** Maps a row issue to its representation. */
export function issueBody(issue: RowIssue): components['schemas']['RowIssue'] {
  return {
    line: issue.line,
    last_line: issue.lastLine,
    row: issue.row,
    sku: issue.sku,
    field: issue.field,
    column_number: issue.columnNumber,
    code: issue.code,
    severity: issue.severity,
    message: issue.message,
    value: issue.value,
  };
}
