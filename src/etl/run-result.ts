/** What became of the rows of a run. processed = inserted + updated + unchanged + skipped, always. */
export interface RunCounters {
  processed: number;
  inserted: number;
  updated: number;
  unchanged: number;
  skipped: number;
}

/** The counters of a run that failed after it had skipped `skipped` rows. */
export function failedCounters(skipped: number): RunCounters {
  return { processed: skipped, inserted: 0, updated: 0, unchanged: 0, skipped };
}

/** The ETL result summary text (specification, section 2). */
export function summaryText(counters: RunCounters): string {
  const { processed, inserted, updated, unchanged, skipped } = counters;
  return `Products processed: ${processed}. Inserted: ${inserted}. Updated: ${updated}. Unchanged: ${unchanged}. Skipped: ${skipped}.`;
}
/** A reason why a whole run fails; the message is public. A bad row is never one. */
export class FeedFailure extends Error {
  /** @param unavailable - whether it may go away by itself, because something that the run needs is down */
  constructor(
    reason: string,
    readonly unavailable: boolean = false,
    cause?: unknown,
  ) {
    super(reason, { cause });
  }
}
