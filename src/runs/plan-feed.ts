import type { Knex } from 'knex';
import { beginTransaction } from '../db/transaction';
import { getFeedToRun } from '../jobs/jobs.repository';
import { RunTally } from '../etl/copy-rows';
import { FeedFailure, failedCounters, type RunCounters } from '../etl/run-result';
import { listChanges, type ProductChange } from '../etl/load';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import type { RowIssueCount } from '../etl/row-issues';
import { failureReason, type RunContext } from './run-feed';
import { rejectSupersededRows } from '../etl/repeated-skus';
import { compareFeed, stageFeed } from '../etl/staging';

/** Which of the changes to give: those of the rows after `afterRow`, `limit` of them at most, fewer when they are long. */
export interface PlanPage {
  afterRow: number;
  limit: number;
}

/** What a run of the job would do now. */
export interface FeedPlan {
  /** Why it would fail; null when it would not. */
  failureReason: string | null;
  counters: RunCounters;
  issueCounts: RowIssueCount[];
  changes: ProductChange[];
  /** Whether there are changes behind these. */
  hasMore: boolean;
}

/**
 * Finds out what a run of the job would do now: the same reading, staging and comparing, in a transaction that is then
 * rolled back. Changes nothing, waits for nobody, and burns no product numbers.
 * @throws whatever the database throws
 */
export async function planFeed(
  jobId: number,
  page: PlanPage,
  { db, objectStore }: RunContext,
): Promise<FeedPlan> {
  // The digests and the products that they speak of must be of the same moment: nobody is kept from changing them.
  const trx = await beginTransaction(db, 'bulk', 'repeatable read');
  try {
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
  const tally = new RunTally(false);
  const feed = await getFeedToRun(trx, jobId);
  const digests = new PartnerDigests(trx, feed.partnerId);
  try {
    const staged = await stageFeed(trx, { objectStore, feed, digests }, tally);
    const superseded = await rejectSupersededRows(trx, staged.skuColumnNumber, tally);
    const { counters } = await compareFeed(trx, staged, tally, superseded);
    const listed = await listChanges(trx, staged, page);
    return { failureReason: null, counters, issueCounts: tally.issues.countsByCode, ...listed };
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    return {
      failureReason: failureReason(error),
      counters: failedCounters(tally.rejected),
      issueCounts: tally.issues.countsByCode,
      changes: [],
      hasMore: false,
    };
  } finally {
    digests.release();
  }
}
