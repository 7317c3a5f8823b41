import type { Knex } from 'knex';
import { sql, type Sql } from '../../base/db/sql';
import type { RowSource } from '../etl/copy-rows';
import { loadFirstFeed } from '../etl/first-load';
import { checkKeepingIssues, replaceRowIssues } from '../etl/keep-issues';
import { loadFacts } from '../etl/load-facts';
import { mergeStaged } from '../etl/merge-staged';
import { checkPriceJumps } from '../etl/price-jumps';
import type { FeedToRun } from '../etl/raw-file';
import { rejectSupersededRows } from '../etl/repeated-skus';
import { FeedFailure, type MergeResult, type RunCounters } from '../etl/run-result';
import type { RunStats } from '../etl/run-stats';
import { readColumn, stageFeed, type StagedFeed } from '../etl/staging';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import { checkAge, checkSkipped, checkWithdrawals, countActive } from '../etl/withdrawals';
import { beginRunChange, endChange, type CatalogChange } from '../../catalog/changes/catalog-changes';
import { keepAttention, onePartner } from '../../catalog/partners/keep-attention';
import { lockPartner } from '../../catalog/changes/partner-lock';
import { cancelledReason } from '../../base/errors';
import type { Database } from '../../base/db/database';
import type { Log } from '../../base/log';
import type { ObjectStore } from '../../base/storage/object-store';
import type { RunOfKind } from '../queue/pending-runs.repository';
import { completeRun, markLoading } from '../queue/run-ends.repository';

/** Dependencies of a run. */
export interface RunContext {
  db: Database;
  objectStore: ObjectStore;
  log: Log;
  /** Minimum size of a first load straight into `products`; absent: the default. */
  firstLoadBytes?: number;
}

/** A load: its run and its feed, with the permissions of the run. */
type Load = RunOfKind & FeedToRun;

/** Changes of a load, not yet in force. */
type Loaded = MergeResult & { change: CatalogChange };

/**
 * Loads a feed into the products of its partner, and completes its run, in the transaction of the claim.
 * @param signal - aborted when the run is cancelled
 * @throws FeedFailure
 */
export async function loadFeed(
  trx: Knex.Transaction,
  context: RunContext,
  load: Load,
  stats: RunStats,
  signal: AbortSignal,
): Promise<RunCounters> {
  const digests = new PartnerDigests(trx, load.partnerId);
  const loading = { trx, context, load, stats, digests, signal };
  try {
    const loaded = (await loadFirst(loading)) ?? (await mergeFeed(loading));
    await stats.timed('digests', () => digests.save());
    await queueForSearch(trx, load, loaded);
    await replaceRowIssues(trx, load.jobId, stats.issues.kept);
    await complete(loading, loaded);
    await putInForce(trx, load, loaded);
    await keepAttention(trx, onePartner(load.partnerId));
    return loaded.counters;
  } finally {
    digests.release();
  }
}

interface Loading {
  trx: Knex.Transaction;
  context: RunContext;
  load: Load;
  stats: RunStats;
  digests: PartnerDigests;
  signal: AbortSignal;
}

const sourceOf = ({ context: { objectStore }, load: feed, digests, signal }: Loading): RowSource => ({
  objectStore,
  feed,
  digests,
  signal,
});

/** Copies the feed straight into `products`, if they are the first ones. A failure here is rolled back. */
async function loadFirst(loading: Loading): Promise<Loaded | undefined> {
  const { trx, load, stats, context } = loading;
  const loaded = await stats.timed('first load', () =>
    loadFirstFeed(
      trx,
      sourceOf(loading),
      stats,
      () => markLoading(context.db, load.feedId),
      context.firstLoadBytes,
    ),
  );
  if (!loaded) return undefined;
  await checkAge(trx, load);
  checkSkipped(load, loaded.counters);
  return loaded;
}

/** Stages the feed, compares it with the products under the partner's lock, and applies the changes. */
async function mergeFeed(loading: Loading): Promise<Loaded> {
  const { trx, context, load, stats, digests, signal } = loading;
  let staged = await stage(loading);
  await markLoading(context.db, load.feedId);
  if (!(await lockPartner(trx, load.partnerId))) {
    throw new FeedFailure('The partner was merged into another one during the run: run the job again.');
  }
  await checkAge(trx, load);
  if (!(await digests.areCurrent())) {
    // Another run or a manual change has committed since; under the lock, no further run can.
    stats.reset();
    staged = await stage(loading);
  }
  await rejectSupersededRows(trx, staged, stats);
  const change = await beginRunChange(trx, load.partnerId);
  const merged = await mergeStaged(trx, staged, change, stats, signal, (compared) =>
    checkKeepingIssues(trx, stats.issues, () => checkLimits(trx, load, staged, compared, stats)),
  );
  if (merged.counters.withdrawn > 0) await forgetSkus(loading, sql`select sku from feed_withdrawals`);
  if (stats.unknown > 0) {
    await forgetSkus(
      loading,
      sql`select sku from feed_issues where code in ('unknown_sku', 'missing_required')`,
    );
  }
  return { ...merged, change };
}

async function stage(loading: Loading): Promise<StagedFeed> {
  const { trx, stats } = loading;
  const staged = await stats.timed('stage', () => stageFeed(trx, sourceOf(loading), stats));
  stats.phase = 'comparing';
  return staged;
}

/** Checks whether a load may apply its compared changes. @throws FeedFailure */
export async function checkLimits(
  trx: Knex.Transaction,
  feed: FeedToRun,
  staged: StagedFeed,
  compared: RunCounters,
  stats: RunStats,
): Promise<void> {
  checkSkipped(feed, compared);
  checkPriceJumps(feed, stats);
  await checkWithdrawals(staged, compared, () => countActive(trx, staged));
}

/** Drops the digests of withdrawn products, and of rows without a product. */
async function forgetSkus({ trx, digests }: Loading, query: Sql): Promise<void> {
  for await (const skus of readColumn<string>(trx, query)) digests.forget(skus);
}

/** The search index is updated after the run. */
async function queueForSearch(
  trx: Knex.Transaction,
  { partnerId, feedId }: Load,
  { counters }: Loaded,
): Promise<void> {
  if (counters.inserted + counters.updated === 0) return;
  await trx('search_backlog').insert({ partner_id: partnerId, feed_id: feedId });
}

/** @throws FeedFailure if its cancellation is requested */
async function complete({ trx, load, stats }: Loading, { counters }: Loaded): Promise<void> {
  const isCompleted = await completeRun(trx, load, counters, {
    issueCounts: stats.issues.countsByCode,
    facts: loadFacts(load.mode, stats),
    delimiter: stats.delimiter,
  });
  if (!isCompleted) throw new FeedFailure(cancelledReason);
}

async function putInForce(
  trx: Knex.Transaction,
  { jobId, run }: Load,
  { counters, uncounted, change }: Loaded,
): Promise<void> {
  if (counters.inserted + counters.updated + counters.withdrawn + uncounted === 0) return;
  await endChange(trx, change, counters.withdrawn > 0, { jobId, run });
}
