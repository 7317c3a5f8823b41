import { RowIssueLog } from './row-issues';

/** Phase of a run. A feed that has to be staged again returns to `reading`. */
export type RunPhase = 'reading' | 'comparing' | 'loading';

/** Counts the rows of a run, and measures its progress. */
export class RunStats {
  phase: RunPhase = 'reading';
  /** Bytes of the raw file. */
  bytesRead = 0;
  issues: RowIssueLog;
  /** Rows that were copied to PostgreSQL. */
  copied = 0;
  /** Invalid rows. */
  rejected = 0;
  /** Valid rows that were superseded by a later row of the same sku. */
  superseded = 0;
  /** Rows that were unchanged by their digest, and not copied. */
  unchanged = 0;
  /** Milliseconds per phase, for the log. */
  readonly milliseconds: Record<string, number> = {};

  /** @param keepsIssues - whether issues are kept in full; their counts always are */
  constructor(private readonly keepsIssues = true) {
    this.issues = new RowIssueLog(keepsIssues);
  }

  /** Rows read so far. */
  get rows(): number {
    return this.copied + this.rejected + this.unchanged;
  }

  /** Resets everything but the milliseconds, so that the feed can be read again. */
  reset(): void {
    this.phase = 'reading';
    this.bytesRead = 0;
    this.issues = new RowIssueLog(this.keepsIssues);
    this.copied = 0;
    this.rejected = 0;
    this.superseded = 0;
    this.unchanged = 0;
  }

  /** Measures how long `work` takes. */
  async timed<T>(phase: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.milliseconds[phase] = Math.round(performance.now() - startedAt);
    }
  }
}
