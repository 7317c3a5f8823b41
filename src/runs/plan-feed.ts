import type { Knex } from 'knex';
import { beginTransaction } from '../db/transaction';
import { getFeedToRun } from '../jobs/jobs.repository';
import { compareProducts, listChanges, type ProductChange } from '../etl/load';
import { rejectSupersededRows } from '../etl/repeated-skus';
import type { RowIssueCount } from '../etl/row-issues';
import { failedCounters, FeedFailure, failureReason, type RunCounters } from '../etl/run-result';
import { RunStats } from '../etl/run-stats';
import { stageFeed } from '../etl/staging';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import type { RunContext } from './run-feed';

/** Page of the changes of a plan: at most `limit` after the row `afterRow`, fewer when they are long. */
export interface PlanPage {
  afterRow: number;
  limit: number;
}

/** Result of a dry run. */
export interface FeedPlan {
  /** Why the run would fail; null when it would not. */
  failureReason: string | null;
  counters: RunCounters;
  issueCounts: RowIssueCount[];
  changes: ProductChange[];
  /** Whether there are changes after these. */
  hasMore: boolean;
}

/**
 * Plans a run of the job (dry run): stages and compares as a run does, then rolls back.
 *
 * Changes nothing, waits for no lock, and consumes no product numbers.
 * @throws whatever the database throws
 */
export async function planFeed(
  jobId: number,
  page: PlanPage,
  { db, objectStore }: RunContext,
): Promise<FeedPlan> {
  // Digests and products must come from the same snapshot: no lock prevents their change.
  const trx = await beginTransaction(db, 'bulk', 'repeatable read');
  try {
    // Before the snapshot: in a table that has replaced this one since, it would not see the rows.
    await trx.raw('lock table products in access share mode');
    return await planWithin(trx, jobId, page, objectStore);
  } finally {
    await trx.rollback();
  }
}

async function planWithin(
  trx: Knex.Transaction,
  jobId: number,
  page: PlanPage,
  objectStore: RunContext['objectStore'],
): Promise<FeedPlan> {
  const stats = new RunStats(false);
  const feed = await getFeedToRun(trx, jobId);
  const digests = new PartnerDigests(trx, feed.partnerId);
  try {
    const staged = await stageFeed(trx, { objectStore, feed, digests }, stats);
    await rejectSupersededRows(trx, staged, stats);
    const counters = await compareProducts(trx, staged, stats);
    const listed = await listChanges(trx, staged, page);
    return { failureReason: null, counters, issueCounts: stats.issues.countsByCode, ...listed };
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    return {
      failureReason: failureReason(error),
      counters: failedCounters(stats.rejected),
      issueCounts: stats.issues.countsByCode,
      changes: [],
      hasMore: false,
    };
  } finally {
    digests.release();
  }
}
