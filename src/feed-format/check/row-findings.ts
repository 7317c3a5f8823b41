import type { LoadMode } from '../load-options';
import type { RecordPlace } from '../read/extract';
import type { FeedHeader } from '../read/header-columns';
import type { RowIssueLog } from '../rows/row-issues';
import { hasOwnValue, type RowOutcome } from '../rows/transform';
import { headerIssues, moneyIssues, type HeaderIssueOptions } from './header-issues';

/** What the rows of a file have shown so far, to a run, a check or an inspection. */
export interface RowFindings {
  issues: RowIssueLog;
  /** Place of the header; without one, the beginning of the file. */
  headerPlace: RecordPlace;
  /** Whether a valid row has a price. */
  hasPrices: boolean;
  /** Whether a valid row has a currency. */
  hasCurrencies: boolean;
}

/** Returns the place of the header of a file without a header row. */
export const beginningOfFile = (): RecordPlace => ({ line: 1, lastLine: 1, row: 0 });

/** Adds the issues of the header row. @param text - the header row */
export function findInHeader(
  findings: RowFindings,
  place: RecordPlace,
  text: string,
  header: FeedHeader,
  options: HeaderIssueOptions,
): void {
  findings.headerPlace = place;
  for (const issue of headerIssues(place, text, header, options)) findings.issues.add(issue);
}

/** Adds the issues of a row, and whether it has a price and a currency. */
export function findInRow(findings: RowFindings, { values, issues }: RowOutcome): void {
  if (issues) for (const issue of issues) findings.issues.add(issue);
  if (!values) return;
  findings.hasPrices ||= hasOwnValue(values, 'price');
  findings.hasCurrencies ||= hasOwnValue(values, 'currency');
}

/** Adds what all rows together lack. Call it once, at the end of a file that was read completely. */
export function findAtEnd(findings: RowFindings, header: FeedHeader, mode: LoadMode, hasRows: boolean): void {
  const { issues, headerPlace, hasPrices, hasCurrencies } = findings;
  const seen = { hasRows, hasPrices, hasCurrencies };
  for (const issue of moneyIssues(headerPlace, header, mode, seen)) issues.add(issue);
}
