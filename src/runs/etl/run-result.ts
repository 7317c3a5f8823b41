import { formatId } from '../../base/ids';
import { isNodeLost } from '../../base/db/database';

/** Counters of a run: processed = inserted + updated + unchanged + skipped, always. The contract has the same names. */
export interface RunCounters {
  processed: number;
  inserted: number;
  updated: number;
  unchanged: number;
  skipped: number;
  /** Products that the feed does not name. */
  withdrawn: number;
  /** Withdrawn products that the feed names; they are among the updated ones. */
  restored: number;
  /** Withdrawals of a run that failed because of their number. */
  would_withdraw?: number;
  /** Present if nothing was withdrawn because of unreadable rows. */
  is_withdrawal_withheld?: true;
}

/**
 * Result of a load. `uncounted`: products that it has moved to its collection and otherwise left unchanged, and products that were
 * changed by hand since the last change of the catalog.
 */
export interface MergeResult {
  counters: RunCounters;
  uncounted: number;
}

/** Returns the counters of a failed run with `skipped` rows. */
export function failedCounters(skipped: number, wouldWithdraw?: number): RunCounters {
  const nothing = { inserted: 0, updated: 0, unchanged: 0, withdrawn: 0, restored: 0 };
  return {
    processed: skipped,
    ...nothing,
    skipped,
    ...(wouldWithdraw !== undefined && { would_withdraw: wouldWithdraw }),
  };
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

/** A run that would withdraw more products than it may. */
export class WithdrawalLimit extends FeedFailure {
  constructor(
    reason: string,
    readonly wouldWithdraw: number,
  ) {
    super(reason);
  }
}

/** A run in which more prices would jump than allowed. */
export class PriceJumpLimit extends FeedFailure {
  constructor(
    reason: string,
    readonly priceJumps: number,
  ) {
    super(reason);
  }
}

/** Returns the number of price jumps of a run that failed because of it. */
export function priceJumpsOf(error: unknown): number | undefined {
  return error instanceof PriceJumpLimit ? error.priceJumps : undefined;
}

/** A run of a `replace` feed that is older than what was loaded. */
export class NewerFeed extends FeedFailure {
  /** @param feedId - the newest that was loaded */
  constructor(readonly feedId: number) {
    super(`A newer feed (${formatId('FD', feedId)}) has been loaded since.`);
  }
}

/** Returns the number of withdrawals of a run that failed because of it. */
export function wouldWithdrawOf(error: unknown): number | undefined {
  return error instanceof WithdrawalLimit ? error.wouldWithdraw : undefined;
}

export function failureReason(error: unknown): string {
  // The specification's text for a wrong header has no full stop.
  if (error instanceof FeedFailure) return error.message.replace(/(?<!\.)$/, '.');
  if (isNodeLost(error)) {
    return "The part of the database with this partner's products is unavailable. Run the job again later.";
  }
  return 'The products could not be saved.';
}
