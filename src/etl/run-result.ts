/** Counters of a run: processed = inserted + updated + unchanged + skipped, always. */
export interface RunCounters {
  processed: number;
  inserted: number;
  updated: number;
  unchanged: number;
  skipped: number;
}

/** Returns the counters of a failed run with `skipped` rows. */
export function failedCounters(skipped: number): RunCounters {
  return { processed: skipped, inserted: 0, updated: 0, unchanged: 0, skipped };
}

/** Formats the ETL result summary (specification, section 2). */
export function summaryText(counters: RunCounters): string {
  const { processed, inserted, updated, unchanged, skipped } = counters;
  return `Products processed: ${processed}. Inserted: ${inserted}. Updated: ${updated}. Unchanged: ${unchanged}. Skipped: ${skipped}.`;
}

/** Failure of a whole run; the message is public. An invalid row is never one. */
export class FeedFailure extends Error {
  /** @param unavailable - whether the failure is temporary: a dependency is down */
  constructor(
    reason: string,
    readonly unavailable: boolean = false,
    cause?: unknown,
  ) {
    super(reason, { cause });
  }
}

/** Returns the public reason of a failure. */
export function failureReason(error: unknown): string {
  // The specification's text of a wrong header has no full stop.
  if (error instanceof FeedFailure) return error.message.replace(/(?<!\.)$/, '.');
  return 'The products could not be saved.';
}
