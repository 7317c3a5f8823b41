import type { LoadMode } from '../load-options';
import type { RecordPlace } from '../read/extract';
import type { FeedHeader } from '../read/header-columns';
import { issuesKept, RowIssueLog, type RowIssue } from '../rows/row-issues';
import { keptValue, type LoadableValues, type RowOutcome } from '../rows/transform';
import { LastRows } from './last-rows';
import { RejectedRows } from './rejected-rows';
import { beginningOfFile, findAtEnd, findInHeader, findInRow, type RowFindings } from './row-findings';

/**
 * Collects what a first load of a file would report, without a database.
 *
 * Memory grows by the skus and 30 bytes per different sku, see `LastRows`. Call the methods in the order of the file.
 */
export class FileReport implements RowFindings {
  readonly issues = new RowIssueLog();
  headerPlace = beginningOfFile();
  hasPrices = false;
  hasCurrencies = false;
  rows = 0;
  /** Invalid rows. */
  private rejected = 0;
  /** Rows that a later row of the same sku supersedes, once they are reported. */
  superseded = 0;
  /** Rows without a name, once they are reported. */
  private unnamed = 0;
  private readonly lastRows = new LastRows();
  private readonly supersededRows = new RejectedRows('duplicate_sku');
  private readonly unnamedRows = new RejectedRows('missing_required');
  /** Whether a row without a name needs a product that has one. */
  private readonly keepsNames: boolean;

  constructor(
    private readonly header: FeedHeader,
    private readonly mode: LoadMode,
  ) {
    this.keepsNames = mode !== 'update' && header.reading.keptColumns.includes('product_name');
  }

  /** Rows skipped so far. */
  get skipped(): number {
    return this.rejected + this.superseded + this.unnamed;
  }

  addHeader(place: RecordPlace, text: string): void {
    findInHeader(this, place, text, this.header, { mode: this.mode });
  }

  addRow(place: RecordPlace, outcome: RowOutcome): void {
    this.rows++;
    findInRow(this, outcome);
    const { values } = outcome;
    if (!values) {
      this.rejected++;
      return;
    }
    const earlier = this.lastRows.put(values.sku, place, this.keepsNames && !hasName(values));
    if (earlier) this.supersededRows.add(earlier, values.sku);
  }

  /** Ends a file that was read completely. */
  end(): void {
    findAtEnd(this, this.header, this.mode, this.rows > this.rejected);
  }

  /** Counts the superseded rows. Call it once. @returns the issues of the first ones */
  reportSuperseded(): RowIssue[] {
    this.superseded = this.supersededRows.count;
    return this.supersededRows.report(this.issues, this.header);
  }

  /** Counts the rows without a name in a file of new products. Call it once. @returns the issues of the first ones */
  reportUnnamed(): RowIssue[] {
    if (this.keepsNames)
      for (const { place, sku } of this.lastRows.marked()) this.unnamedRows.add(place, sku);
    this.unnamed = this.unnamedRows.count;
    return this.unnamedRows.report(this.issues, this.header);
  }
}

const hasName = ({ product_name }: LoadableValues) => product_name !== keptValue('product_name');

/**
 * Lists the issues that a run stores: errors take precedence over warnings, in the order of the file.
 * @param rejected - issues that the log does not contain; on their line, they come first
 */
export function storedIssues(log: RowIssueLog, rejected: readonly RowIssue[] = []): RowIssue[] {
  const all = [...rejected, ...log.kept].sort((a, b) => a.line - b.line);
  const errors = all.filter(({ severity }) => severity === 'error');
  const warnings = all.filter(({ severity }) => severity === 'warning');
  return [...errors, ...warnings].slice(0, issuesKept).sort((a, b) => a.line - b.line);
}
