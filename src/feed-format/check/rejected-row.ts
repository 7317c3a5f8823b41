import type { RecordPlace } from '../read/extract';
import { rowIssue, type RowIssue } from '../rows/row-issues';

/** Reason for which a valid row is rejected: its sku, or the lack of a name. */
export type RowRejection = 'duplicate_sku' | 'unknown_sku' | 'missing_required';

export const fieldAtFault = (code: RowRejection) => (code === 'missing_required' ? 'product_name' : 'sku');

/** Reports a valid row that is rejected. @param columnNumber - position of the column at fault in the file, from 1 */
export function rejectedRowIssue(
  code: RowRejection,
  place: RecordPlace,
  sku: string,
  columnNumber: number | null,
): RowIssue {
  const field = fieldAtFault(code);
  return rowIssue(place, sku, { code, field, columnNumber, value: field === 'sku' ? sku : null });
}
