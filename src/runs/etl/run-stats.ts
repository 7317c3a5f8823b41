import type { Delimiter } from '../../feed-format/delimiter';
import { beginningOfFile, type RowFindings } from '../../feed-format/check/row-findings';
import { RowIssueLog } from '../../feed-format/rows/row-issues';

/** Phase of a run. A feed that has to be staged again returns to `reading`. */
export type RunPhase = 'reading' | 'comparing' | 'loading';

/** Maximum number of lines that a plan shows. */
const unreadableLinesMax = 100;

/** Counts the rows of a run, and measures its progress. */
export class RunStats implements RowFindings {
  phase: RunPhase = 'reading';
  /** Bytes of the raw file. */
  bytesRead = 0;
  /** Delimiter of the file; null until its header is read. */
  delimiter: Delimiter | null = null;
  issues: RowIssueLog;
  /** Rows that were copied to PostgreSQL. */
  copied = 0;
  /** Invalid rows. */
  rejected = 0;
  /** Valid rows that were superseded by a later row of the same sku. */
  superseded = 0;
  /** Valid rows without a product, in a feed that only updates, or whose empty names keep the stored ones. */
  unknown = 0;
  /** Rows that were unchanged by their digest, and not copied. */
  unchanged = 0;
  /** Rows that could not be split into cells: they name no sku. */
  unreadable = 0;
  /** First lines of the unreadable rows. */
  unreadableLines: number[] = [];
  headerPlace = beginningOfFile();
  /** Prices of active products that the compared rows change; `jumped`: to at least five times or at most a fifth. */
  prices = { changed: 0, jumped: 0 };
  hasPrices = false;
  /** Whether a valid row has a currency. Unknown for rows unchanged by their digest where `moneyIssues` reports nothing. */
  hasCurrencies = false;
  hasPriceColumn = false;
  /** Whether empty prices keep the stored ones. */
  keepsPrices = false;
  /** Whether the file contains corrected rows. */
  isCorrection = false;
  /** Milliseconds per phase, for the log. */
  readonly milliseconds: Record<string, number> = {};

  /** @param keepsIssues - whether issues are stored in full; they are always counted */
  constructor(private readonly keepsIssues = true) {
    this.issues = new RowIssueLog(keepsIssues);
  }

  /** Rows read so far. */
  get rows(): number {
    return this.copied + this.rejected + this.unchanged;
  }

  /** Rows skipped so far. */
  get skipped(): number {
    return this.rejected + this.superseded + this.unknown;
  }

  /** Resets everything but the milliseconds, so that the feed can be read again. */
  reset(): void {
    this.phase = 'reading';
    this.bytesRead = 0;
    this.issues = new RowIssueLog(this.keepsIssues);
    this.copied = 0;
    this.rejected = 0;
    this.superseded = 0;
    this.unknown = 0;
    this.unchanged = 0;
    this.unreadable = 0;
    this.unreadableLines = [];
    this.prices = { changed: 0, jumped: 0 };
    this.hasPrices = false;
    this.hasCurrencies = false;
  }

  /** Counts a row that could not be split into cells. */
  countUnreadable(line: number): void {
    if (this.unreadable++ < unreadableLinesMax) this.unreadableLines.push(line);
  }

  /** Measures the duration of `work`. */
  async timed<T>(phase: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.milliseconds[phase] = Math.round(performance.now() - startedAt);
    }
  }
}
