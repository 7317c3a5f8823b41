import { limits } from '../limits';
import { columnFormat, type ProductColumn } from './feed-format';
import { issueCodes, rowIssueCodes, type IssueSeverity, type RowIssueCode } from './issue-codes';
import { shorten } from './text';

/** Where a record stands in its file. */
export interface RecordPlace {
  /** The line that it starts on, and the one that it ends on; the first line of the file is 1. */
  line: number;
  lastLine: number;
  /** Its number among the rows; the header is 0. */
  row: number;
}

/** One thing to say about one row, or about the feed as a whole (at the header). */
export interface RowIssue extends RecordPlace {
  sku: string | null;
  /** The column at fault; null where it is none of ours, or the row as a whole. */
  field: ProductColumn | null;
  /** Where that column stands in the file, from 1; null where there is no such place. */
  columnNumber: number | null;
  code: RowIssueCode;
  severity: IssueSeverity;
  message: string;
  /** The offending value, shortened. */
  value: string | null;
}

/** What is at fault. */
export interface Fault {
  code: RowIssueCode;
  field?: ProductColumn | null;
  columnNumber?: number | null;
  value?: string | null;
}

/** What is wrong and what is expected, for people. */
const messages: Record<RowIssueCode, (field: ProductColumn | null | undefined) => string> = {
  missing_required: (field) => `${field} is required and must not be empty.`,
  invalid_price: () =>
    'price is not a number in the accepted form, for example 1299.00, 1,299.00, $5 or 5 EUR, and at most 999,999,999,999.9999.',
  invalid_currency: () => 'currency is not an active ISO 4217 code, for example USD.',
  currency_conflict: () => 'price names another currency than the currency column.',
  too_many_fields: () =>
    'The row has more fields than the header. Put quotes around values that hold the delimiter.',
  value_too_long: (field) => `${field} is longer than ${columnFormat(field!).maxLength} characters.`,
  invalid_character: (field) => `${field} holds a NUL character.`,
  invalid_quoting: () => 'Text follows a closing quote. Double the quotes inside a quoted value.',
  duplicate_sku: () => 'A later valid row of this feed has the same sku; the last one is used.',
  unknown_availability: () => 'availability is not a word that we know; the product cannot be ordered.',
  zero_price: () => 'price is 0.',
  unknown_column: () => 'This column is not one that we read; its cells are ignored.',
  older_feed: () =>
    'A feed that was uploaded later has been loaded already; this run may have put older values over its.',
};

/** Makes an issue with the message of its code, and with values that fit a report. */
export function rowIssue(
  { line, lastLine, row }: RecordPlace,
  sku: string | null,
  { code, field = null, columnNumber = null, value = null }: Fault,
): RowIssue {
  return {
    line,
    lastLine,
    row,
    sku: sku === null ? null : shorten(sku, columnFormat('sku').maxLength!),
    field,
    columnNumber,
    code,
    severity: issueCodes[code].severity,
    message: messages[code](field),
    value: value === null ? null : shorten(value, limits.issueValueCharacters),
  };
}

/** One of the first rows with a code, as the job shows it. */
export type FirstRow = Pick<RowIssue, 'line' | 'row' | 'sku' | 'value'>;

/** How often a code occurred in a run, and where first. */
export interface RowIssueCount {
  code: RowIssueCode;
  severity: IssueSeverity;
  count: number;
  first_rows: FirstRow[];
}

/** Collects the issues of a run: exact counts per code, and of either severity the first `limits.issuesKept` in full. */
export class RowIssueLog {
  private readonly keptBySeverity: Record<IssueSeverity, RowIssue[]> = { error: [], warning: [] };
  private readonly counts = new Map<RowIssueCode, { count: number; firstRows: FirstRow[] }>();

  add(issue: RowIssue): void {
    this.count(issue.code, 1, [issue]);
    const kept = this.keptBySeverity[issue.severity];
    if (kept.length < limits.issuesKept) kept.push(issue);
  }

  /** Counts issues that are reported by other means. @param first - the first of them, in the order of the file */
  count(code: RowIssueCode, times: number, first: readonly FirstRow[]): void {
    if (times === 0) return;
    let entry = this.counts.get(code);
    if (!entry) this.counts.set(code, (entry = { count: 0, firstRows: [] }));
    entry.count += times;
    for (const { line, row, sku, value } of first) {
      if (entry.firstRows.length >= limits.issueFirstRows) break;
      // A row may have the same fault in two cells; the header may have it in any number.
      if (row > 0 && entry.firstRows.at(-1)?.row === row) continue;
      entry.firstRows.push({ line, row, sku, value });
    }
  }

  get kept(): RowIssue[] {
    return [...this.keptBySeverity.error, ...this.keptBySeverity.warning];
  }

  /** The counts: errors before warnings, the most frequent first. */
  get countsByCode(): RowIssueCount[] {
    return [...this.counts]
      .map(([code, { count, firstRows }]) => ({
        code,
        severity: issueCodes[code].severity,
        count,
        first_rows: firstRows,
      }))
      .sort(
        (a, b) =>
          a.severity.localeCompare(b.severity) ||
          b.count - a.count ||
          rowIssueCodes.indexOf(a.code) - rowIssueCodes.indexOf(b.code),
      );
  }
}
