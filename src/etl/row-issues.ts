import { columnFormat, productColumns, type ProductColumn, recordBytes } from '../feed-format/columns';
import { issueCodes, rowIssueCodes, type IssueSeverity, type RowIssueCode } from '../feed-format/issue-codes';
import { ownText, shorten } from '../feed-format/text';

/** Row issues kept in full per run, errors before warnings; counts are exact beyond it. */
export const issuesKept = 10_000;

/** How many of the first rows with a code a job shows. */
export const issueFirstRows = 3;

/** A stored offending value is shortened to this many characters. */
export const issueValueCharacters = 200;

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
const messages: Record<RowIssueCode, (field: ProductColumn | null) => string> = {
  missing_required: (field) => `${field} is required and must not be empty.`,
  invalid_price: () =>
    'price is not a number in the accepted form, for example 1299.00, 1,299.00, $5 or 5 EUR, and at most 999,999,999,999.9999.',
  invalid_currency: () => 'currency is not an active ISO 4217 code, for example USD.',
  currency_conflict: () => 'price names another currency than the currency column.',
  too_many_fields: () =>
    'The row has more fields than the header. Put quotes around values that hold the delimiter.',
  value_too_long: (field) =>
    field
      ? `${field} is longer than ${columnFormat(field).maxLength} characters.`
      : `The row is longer than ${recordBytes} bytes; perhaps a quote was left open.`,
  invalid_character: (field) => `${field} holds a NUL character.`,
  invalid_quoting: () => 'Text follows a closing quote. Double the quotes inside a quoted value.',
  duplicate_sku: () => 'A later valid row of this feed has the same sku; the last one is used.',
  unknown_availability: () => 'availability is not a word that we know; the product cannot be ordered.',
  zero_price: () => 'price is 0.',
  unknown_column: () => 'This column is not one that we read; its cells are ignored.',
  older_feed: () =>
    'A feed that was uploaded later has been loaded already; this run may have put older values over its newer ones.',
};

/** One text for all issues of a code and a field: many are kept. */
const messageTexts = new Map(
  rowIssueCodes.map((code) => [
    code,
    new Map([null, ...productColumns].map((field) => [field, messages[code](field)])),
  ]),
);

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
    message: messageTexts.get(code)!.get(field)!,
    value: value === null ? null : shorten(value, issueValueCharacters),
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

/**
 * How much memory the issues of a run that are kept in full may take: room for 10,000 of 240 characters each, half as many
 * beyond ASCII. The runs at work hold theirs at the same time.
 */
const keptBytesMax = 4 * 1024 * 1024;

/** The memory of an issue besides its own texts. */
const bytesPerIssue = 176;

const bytesOf = ({ sku, value }: RowIssue) => bytesPerIssue + textBytes(sku) + textBytes(value);

/** In V8 a character takes one byte where all of the text can be written so; more than ASCII can, which is no matter here. */
function textBytes(text: string | null): number {
  if (text === null) return 0;
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

/**
 * Collects the issues of a run: exact counts per code, and the first in full, errors before warnings, as many as
 * `issuesKept` and `keptBytesMax` allow.
 */
export class RowIssueLog {
  private readonly keptBySeverity: Record<IssueSeverity, RowIssue[]> = { error: [], warning: [] };
  private keptBytes = 0;
  /** Of which severity one was left out: so are all after it. */
  private readonly isFull: Record<IssueSeverity, boolean>;
  private readonly counts = new Map<RowIssueCode, { count: number; firstRows: FirstRow[] }>();

  /** @param keeps - whether issues are wanted in full */
  constructor(keeps = true) {
    this.isFull = { error: !keeps, warning: !keeps };
  }

  add(issue: RowIssue): void {
    this.count(issue.code, 1, [issue]);
    const { severity, sku, value } = issue;
    if (this.isFull[severity]) return;
    const kept = { ...issue, sku: sku && ownText(sku), value: value && ownText(value) };
    this.keptBySeverity[severity].push(kept);
    this.keptBytes += bytesOf(kept);
    this.leaveOut();
  }

  /** Lets go of what is beyond the limits, the last warnings first. */
  private leaveOut(): void {
    const { error, warning } = this.keptBySeverity;
    while (error.length + warning.length > issuesKept || this.keptBytes > keptBytesMax) {
      const severity = warning.length > 0 ? 'warning' : 'error';
      this.keptBytes -= bytesOf(this.keptBySeverity[severity].pop()!);
      this.isFull[severity] = true;
    }
  }

  /** Counts issues that are reported by other means. @param first - the first of them, in the order of the file */
  count(code: RowIssueCode, times: number, first: readonly FirstRow[]): void {
    if (times === 0) return;
    let entry = this.counts.get(code);
    if (!entry) this.counts.set(code, (entry = { count: 0, firstRows: [] }));
    entry.count += times;
    for (const { line, row, sku, value } of first) {
      if (entry.firstRows.length >= issueFirstRows) break;
      // A row may have the same fault in two cells; the header may have it in any number.
      if (row > 0 && entry.firstRows.at(-1)?.row === row) continue;
      entry.firstRows.push({ line, row, sku: sku && ownText(sku), value: value && ownText(value) });
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
