import type { Knex } from 'knex';
import { beginTransaction } from '../../base/db/transaction';
import { listChanges, type ProductChange } from '../etl/list-changes';
import { compareProducts, type ChangePosition, type ListedChanges } from '../etl/load';
import { rejectSupersededRows } from '../etl/repeated-skus';
import type { RowIssueCount } from '../../feed-format/rows/row-issues';
import {
  failedCounters,
  FeedFailure,
  failureReason,
  NewerFeed,
  wouldWithdrawOf,
  type RunCounters,
} from '../etl/run-result';
import { RunStats } from '../etl/run-stats';
import { stageFeed, type StagedFeed } from '../etl/staging';
import type { FeedToRun } from '../etl/raw-file';
import { checkAge } from '../etl/withdrawals';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import { getFeedToRun } from '../queue/claims.repository';
import { checkLimits, type RunContext } from './load-feed';
import type { RunTarget } from '../queue/run-target.repository';

/** The job to plan, with the permissions of the run. */
export type PlanTarget = Pick<RunTarget, 'jobId' | 'maxWithdrawn' | 'allowOlder'>;

/** Result of a dry run. */
export interface FeedPlan {
  /** Why the run would fail; null if it would succeed. */
  failureReason: string | null;
  counters: RunCounters;
  issueCounts: RowIssueCount[];
  changes: ProductChange[];
  /** Start of the next page; absent when there are no more changes. */
  next?: ChangePosition;
  /** First lines of the unreadable rows that prevent withdrawals; at most 100. */
  withheldLines?: number[];
  /** The newer feed because of which the run would fail. */
  newerFeedId?: number;
}

/**
 * Plans a run of the job (dry run): stages and compares as a run does, then rolls back.
 * Changes nothing, waits for no lock, and consumes no product numbers.
 * @throws errors of the database
 */
export async function planFeed(
  target: PlanTarget,
  page: ListedChanges,
  { db, objectStore }: RunContext,
): Promise<FeedPlan> {
  // Digests and products must come from the same snapshot: no lock prevents their change.
  const trx = await beginTransaction(db, 'bulk', 'repeatable read');
  try {
    return await planWithin(trx, target, page, objectStore);
  } finally {
    await trx.rollback();
  }
}

async function planWithin(
  trx: Knex.Transaction,
  { jobId, maxWithdrawn, allowOlder = false }: PlanTarget,
  page: ListedChanges,
  objectStore: RunContext['objectStore'],
): Promise<FeedPlan> {
  const stats = new RunStats(false);
  const feed: FeedToRun = {
    ...(await getFeedToRun(trx, jobId)),
    maxWithdrawn: maxWithdrawn ?? null,
    allowOlder,
  };
  const digests = new PartnerDigests(trx, feed.partnerId);
  try {
    const staged = await stageFeed(trx, { objectStore, feed, digests }, stats);
    await checkAge(trx, feed);
    await rejectSupersededRows(trx, staged, stats);
    const { moved: _, ...counters } = await compareProducts(trx, staged, stats, false);
    const failure = await failureOf(trx, feed, staged, counters, stats);
    const listed = await listChanges(trx, staged, page, counters.withdrawn);
    return {
      failureReason: failure ? failureReason(failure) : null,
      counters: failure ? failedCounters(counters.skipped, wouldWithdrawOf(failure)) : counters,
      issueCounts: stats.issues.countsByCode,
      ...listed,
      ...(counters.is_withdrawal_withheld && { withheldLines: stats.unreadableLines }),
    };
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    return {
      failureReason: failureReason(error),
      counters: failedCounters(stats.skipped),
      issueCounts: stats.issues.countsByCode,
      changes: [],
      ...(error instanceof NewerFeed && { newerFeedId: error.feedId }),
    };
  } finally {
    digests.release();
  }
}

/** Returns why a run would not apply its compared changes. */
async function failureOf(
  trx: Knex.Transaction,
  feed: FeedToRun,
  staged: StagedFeed,
  counters: RunCounters,
  stats: RunStats,
): Promise<FeedFailure | undefined> {
  try {
    await checkLimits(trx, feed, staged, counters, stats);
    return undefined;
  } catch (error) {
    if (error instanceof FeedFailure) return error;
    throw error;
  }
}
