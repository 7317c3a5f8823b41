import { limits } from '../config';
import { charactersMax, type ProductColumn } from './columns';
import { shorten } from './text';

/** Why a row was skipped. The codes are stable; the document describes each. */
export const rowIssueCodes = [
  'missing_required',
  'invalid_price',
  'invalid_currency',
  'currency_conflict',
  'too_many_fields',
  'value_too_long',
  'invalid_character',
  'invalid_quoting',
  'duplicate_sku',
] as const;

export type RowIssueCode = (typeof rowIssueCodes)[number];

/** One reason why one row was skipped. */
export interface RowIssue {
  /** Where the row starts in the file; the first line is 1. */
  line: number;
  sku: string | null;
  /** The column at fault; null where it is the row as a whole. */
  field: ProductColumn | null;
  code: RowIssueCode;
  message: string;
  /** The offending value, shortened. */
  value: string | null;
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
    `${field} is longer than ${charactersMax[field as keyof typeof charactersMax]} characters.`,
  invalid_character: (field) => `${field} holds a NUL character.`,
  invalid_quoting: () => 'Text follows a closing quote. Double the quotes inside a quoted value.',
  duplicate_sku: () => 'A later valid row of this feed has the same sku; the last one is used.',
};

/** Makes an issue with the message of its code, and with values that fit a report. */
export function rowIssue(
  at: { line: number; sku: string | null },
  code: RowIssueCode,
  field: ProductColumn | null,
  value: string | null,
): RowIssue {
  return {
    line: at.line,
    sku: at.sku === null ? null : shorten(at.sku, charactersMax.sku),
    field,
    code,
    message: messages[code](field),
    value: value === null ? null : shorten(value, limits.issueValueCharacters),
  };
}

/** Collects the issues of a run: exact counts per code, and the first `limits.issuesKept` in full. */
export class RowIssueLog {
  readonly kept: RowIssue[] = [];
  private readonly counts = new Map<RowIssueCode, number>();

  add(issue: RowIssue): void {
    this.count(issue.code, 1);
    if (this.kept.length < limits.issuesKept) this.kept.push(issue);
  }

  /** Counts issues that are reported by other means. */
  count(code: RowIssueCode, times: number): void {
    if (times > 0) this.counts.set(code, (this.counts.get(code) ?? 0) + times);
  }

  /** The counts, most frequent first. */
  get countsByCode(): { code: RowIssueCode; count: number }[] {
    return [...this.counts]
      .map(([code, count]) => ({ code, count }))
      .sort((a, b) => b.count - a.count || rowIssueCodes.indexOf(a.code) - rowIssueCodes.indexOf(b.code));
  }
}
