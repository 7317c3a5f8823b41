import type { RecordPlace } from '../read/extract';
import type { FeedHeader } from '../read/header-columns';
import { issueFirstRows, issuesKept, type RowIssue, type RowIssueLog } from '../rows/row-issues';
import { ownText } from '../text';
import type { SkuRow } from './last-rows';
import { fieldAtFault, rejectedRowIssue, type RowRejection } from './rejected-row';

/** Valid rows that are rejected for one reason: their number, and the first ones in the order of the file. */
export class RejectedRows {
  count = 0;
  private first: SkuRow[] = [];
  /** Rows behind this line are not among the first. */
  private lastLine = Infinity;

  constructor(private readonly reason: RowRejection) {}

  /** Adds a row, in any order. */
  add(place: RecordPlace, sku: string): void {
    this.count++;
    if (place.line > this.lastLine) return;
    this.first.push({ place, sku: ownText(sku) });
    if (this.first.length === 2 * issuesKept) this.cut();
  }

  /** Counts the rows in a log. @returns the issues of the first rows, as many as a run keeps */
  report(log: RowIssueLog, { positions }: Pick<FeedHeader, 'positions'>): RowIssue[] {
    this.cut();
    const position = positions[fieldAtFault(this.reason)];
    const columnNumber = position === undefined ? null : position + 1;
    const issues = this.first.map(({ place, sku }) =>
      rejectedRowIssue(this.reason, place, sku, columnNumber),
    );
    log.count(this.reason, this.count, issues.slice(0, issueFirstRows));
    return issues;
  }

  private cut(): void {
    this.first = this.first.sort((a, b) => a.place.line - b.place.line).slice(0, issuesKept);
    if (this.first.length === issuesKept) this.lastLine = this.first.at(-1)!.place.line;
  }
}
