import { columnFormat, productColumns, type ProductColumn, recordBytes } from '../columns';
import { issueCodes, rowIssueCodes, type IssueSeverity, type RowIssueCode } from '../issue-codes';
import type { RecordPlace } from '../read/extract';
import { ownText, shorten } from '../text';

/** Maximum number of row issues kept in full per run, errors before warnings; counts stay exact. */
export const issuesKept = 10_000;

/** Number of first rows that a job shows per code. */
export const issueFirstRows = 3;

/** Maximum length of a stored value, in characters. */
export const issueValueCharacters = 200;

/** One finding about a row, or about the feed as a whole (at the header). */
export interface RowIssue extends RecordPlace {
  sku: string | null;
  /** Column at fault, or that an unmapped column could be; null if the issue concerns an unknown column or the whole row. */
  field: ProductColumn | null;
  /** Position of that column in the file, from 1; null if there is none. */
  columnNumber: number | null;
  code: RowIssueCode;
  severity: IssueSeverity;
  message: string;
  /** Shortened. */
  value: string | null;
}

/** Cause of an issue. */
export interface Fault {
  code: RowIssueCode;
  field?: ProductColumn | null;
  columnNumber?: number | null;
  value?: string | null;
  /** A message for this value; absent: the message of the code. */
  message?: string;
}

/** Messages for people: the fault, and the expected value. */
const messages: Record<RowIssueCode, (field: ProductColumn | null) => string> = {
  missing_required: (field) => `${field} is required and must not be empty.`,
  incomplete_group: (field) =>
    `${field} is missing: the row takes it from the first row of its group (fill_down), which lacks it or could not be read. Fill the cell, or correct the rows above.`,
  // The reason of each is in parse-price.ts.
  invalid_price: () => 'price is not a number in the accepted form.',
  invalid_currency: () => 'currency is not an active ISO 4217 code. Use a code such as USD.',
  currency_conflict: () =>
    'The currency in price differs from the currency column, or a sign in it from a code. Make both the same, or name the currency once.',
  too_many_fields: () =>
    'The row has more fields than the header. Put quotes around values that contain the delimiter.',
  value_too_long: (field) =>
    field
      ? `${field} is longer than ${columnFormat(field).maxLength} characters. Shorten it.`
      : `The row is longer than ${recordBytes} bytes. Close its quotes, or shorten it.`,
  invalid_character: (field) => `${field} contains a NUL character. Remove it; the file may be UTF-16.`,
  invalid_quoting: () => 'Text follows a closing quote. Double the quotes inside a quoted value.',
  duplicate_sku: () =>
    'A later valid row of this feed has the same sku; the last one is used. Keep one row per sku.',
  superseded_row: () =>
    'A later row of the corrected feed has the same sku and was used instead. Leave this row out; to load it, empty its _codes.',
  unknown_sku: () =>
    'The partner has no product with this sku, and a feed with mode update creates none. Correct the sku, or load the product with mode upsert.',
  suspicious_sku: () => 'sku looks damaged; it is stored unchanged.',
  repeated_header: () =>
    'The row repeats the header, as in joined files: it is skipped. Remove it, or ignore this warning.',
  unknown_availability: () =>
    'Unknown availability: the product cannot be ordered. Use a word such as in_stock or out_of_stock, or map this one in a format.',
  zero_price: () => 'price is 0. Leave the cell empty if there is no price.',
  price_jump: () =>
    'Many prices rose or fell by a factor of five or more. Check the decimal separator and the currency.',
  unknown_column: () =>
    'Unknown column: its cells are ignored. Rename it to a column of the format, or remove it.',
  unmapped_column: (field) =>
    `This column could be ${field}, for which the format has no source: its cells are ignored. Add the header to the format, or ignore this warning.`,
  no_prices: () =>
    'No valid row has a price, although the format has a source for it. Check the header that it reads prices from, and its cells.',
  no_currency: () =>
    'Rows have prices, but no row has a currency: orders of products without one use the default currency. Add a header or a code for the currency to the format.',
  older_feed: () =>
    'This run may have replaced values of a newer feed, which was loaded before. To restore the newer values, run the newer feed again.',
};

/** Messages by code and field: the kept issues share these texts. */
const messageTexts = new Map(
  rowIssueCodes.map((code) => [
    code,
    new Map([null, ...productColumns].map((field) => [field, messages[code](field)])),
  ]),
);

/** Creates an issue with the message of its code and shortened values. */
export function rowIssue(
  { line, lastLine, row }: RecordPlace,
  sku: string | null,
  { code, field = null, columnNumber = null, value = null, message }: Fault,
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
    message: message ?? messageTexts.get(code)!.get(field)!,
    value: value === null ? null : shorten(value, issueValueCharacters),
  };
}

/** A row that a job shows as an example of a code. */
export type FirstRow = Pick<RowIssue, 'line' | 'row' | 'sku' | 'value'>;

/** Number of issues of a code, with the first rows. */
export interface RowIssueCount {
  code: RowIssueCode;
  severity: IssueSeverity;
  count: number;
  first_rows: FirstRow[];
}

/**
 * Memory limit of the issues kept in full, per run: 10,000 of 240 ASCII characters, or half as many others. All runs in
 * progress need it at the same time.
 */
const keptBytesMax = 4 * 1024 * 1024;

/** Memory of an issue without its texts. */
const bytesPerIssue = 176;

const bytesOf = ({ sku, value }: RowIssue) => bytesPerIssue + textBytes(sku) + textBytes(value);

/** Estimates the memory of a text: V8 takes one byte per character for ASCII, two otherwise (Latin-1 is neglected). */
function textBytes(text: string | null): number {
  if (text === null) return 0;
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

/**
 * Collects the issues of a run: exact counts per code, and the first issues in full.
 *
 * Errors take precedence over warnings within `issuesKept` and `keptBytesMax`.
 */
export class RowIssueLog {
  private readonly keptBySeverity: Record<IssueSeverity, RowIssue[]> = { error: [], warning: [] };
  private keptBytes = 0;
  /** Severities of which an issue was discarded: later ones are discarded too. */
  private readonly isFull: Record<IssueSeverity, boolean>;
  private readonly counts = new Map<RowIssueCode, { count: number; firstRows: FirstRow[] }>();

  /** @param keeps - whether issues are kept in full */
  constructor(keeps = true) {
    this.isFull = { error: !keeps, warning: !keeps };
  }

  add(issue: RowIssue): void {
    this.count(issue.code, 1, [issue]);
    this.keep(issue);
  }

  /** Keeps an issue that is counted already. */
  keep(issue: RowIssue): void {
    const { severity, sku, value } = issue;
    if (this.isFull[severity]) return;
    const kept = { ...issue, sku: sku && ownText(sku), value: value && ownText(value) };
    this.keptBySeverity[severity].push(kept);
    this.keptBytes += bytesOf(kept);
    this.discardExcess();
  }

  /** Discards issues beyond the limits, the last warnings first. */
  private discardExcess(): void {
    const { error, warning } = this.keptBySeverity;
    while (error.length + warning.length > issuesKept || this.keptBytes > keptBytesMax) {
      const severity = warning.length > 0 ? 'warning' : 'error';
      this.keptBytes -= bytesOf(this.keptBySeverity[severity].pop()!);
      this.isFull[severity] = true;
    }
  }

  /** Counts issues without keeping them. @param first - the first of them, in the order of the file */
  count(code: RowIssueCode, times: number, first: readonly FirstRow[]): void {
    if (times === 0) return;
    let entry = this.counts.get(code);
    if (!entry) this.counts.set(code, (entry = { count: 0, firstRows: [] }));
    entry.count += times;
    for (const { line, row, sku, value } of first) {
      if (entry.firstRows.length >= issueFirstRows) break;
      // A row with the same fault in two cells is listed once; the header with each of its columns.
      if (row > 0 && entry.firstRows.at(-1)?.row === row) continue;
      entry.firstRows.push({ line, row, sku: sku && ownText(sku), value: value && ownText(value) });
    }
  }

  get kept(): RowIssue[] {
    return [...this.keptBySeverity.error, ...this.keptBySeverity.warning];
  }

  /** Counts per code: errors before warnings, then the most frequent first. */
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
