import type { Knex } from 'knex';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { productLayout } from '../db/layout/product-layout';
import { raw } from '../db/sql';
import { inTransaction } from '../db/transaction';
import { completeRun, failRun, markLoading } from '../jobs/jobs.repository';
import type { RunNumber } from '../jobs/run-progress.repository';
import type { Log } from '../shared/log';
import { claimRun, markRunning, type Claim, type ClaimedRun } from './claims.repository';
import { failRevert, isRevertCancelled, markRevertRunning } from './reverts.repository';
import { RevertConflicts, runRevert } from './run-revert';
import type { ObjectStore } from '../storage/object-store';
import type { RowSource } from '../etl/copy-rows';
import { loadFirstFeed } from '../etl/first-load';
import { checkKeepingIssues, replaceRowIssues } from '../etl/keep-issues';
import { mergeStaged } from '../etl/merge-staged';
import { beginRunChange, endChange, type CatalogChange } from '../partners/catalog-changes';
import { keepAttention, onePartner, partnersOfJobs } from '../partners/keep-attention';
import { lockPartner } from '../partners/partner-lock';
import { checkPriceJumps } from '../etl/price-jumps';
import { rejectSupersededRows } from '../etl/repeated-skus';
import {
  failedCounters,
  FeedFailure,
  failureReason,
  priceJumpsOf,
  wouldWithdrawOf,
  type RunCounters,
} from '../etl/run-result';
import { loadFacts } from '../etl/load-facts';
import { RunStats } from '../etl/run-stats';
import { formatId } from '../shared/ids';
import { createStaging, readColumn, stageFeed } from '../etl/staging';
import { checkAge, checkSkipped, checkWithdrawals, countActive } from '../etl/withdrawals';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import { progressReport, startReporter, type RunReporter } from './run-reporter';
import { cancelledReason } from '../shared/errors';

/** Dependencies of a run. */
export interface RunContext {
  db: Database;
  objectStore: ObjectStore;
  log: Log;
  /** Minimum size of a first load straight into `products`; absent: the default. */
  firstLoadBytes?: number;
}

/**
 * Outcome of a run. `not_claimed`: there was none to claim, or it was no longer queued. `unavailable`: the database is
 * down, and the outcome could not be recorded.
 */
export type RunOutcome = 'completed' | 'failed' | 'not_claimed' | 'unavailable';

/** Outcome of a run, with its counters where the run recorded them. */
export interface RunReport {
  outcome: RunOutcome;
  counters?: RunCounters;
}

/** Fields of the log line of a run; docs/reference/log-fields.md is generated from them. */
export const runLogFields = {
  job_id: 'The validation job: `JV00001`. All lines of a run have this field and the next four.',
  feed_id: 'The feed: `FD00001`.',
  partner: 'Name of the partner.',
  run: 'Number of the run, per job from 1.',
  request_id:
    'The `x-request-id` of the request of the run, also of a queued one; absent where the last release requested it.',
  outcome: '`completed`, `failed` or `unavailable`: PostgreSQL could not be reached.',
  counters: 'The counters of the job, as in its `summary`; absent where the run recorded none.',
  copied: 'Rows that were copied to PostgreSQL.',
  unchanged: 'Rows that were unchanged by their digest, and not copied.',
  rejected: 'Invalid rows.',
  ms: 'Milliseconds of each phase.',
} as const;

/** A run in progress; `isRevert` if it undoes another one. */
type RunInProgress = RunNumber & { isRevert: boolean };

/** Returns the log of a run, whose lines name it. */
function logOf(log: Log, { jobId, feedId, partnerName, requestId }: ClaimedRun, run: number): Log {
  return log.child({
    job_id: formatId('JV', jobId),
    feed_id: formatId('FD', feedId),
    partner: partnerName,
    run,
    request_id: requestId ?? undefined,
  });
}

/**
 * Runs a queued validation job: claims it, loads its feed or undoes a run, and records the outcome.
 *
 * One transaction contains the claim, the products, the issues, the counters and the final states. If the process or the
 * connection dies, PostgreSQL rolls everything back and releases the claim. Safe to call concurrently and repeatedly: each
 * job has one run at a time, and runs of one partner wait for each other before they change its products.
 * @param onClaim - called with the numbers of the job and of the revert before the run starts
 */
export async function runFeed(
  claim: Claim,
  { db, objectStore, log: processLog, firstLoadBytes }: RunContext,
  onClaim?: (claimed: Pick<ClaimedRun, 'jobId' | 'revert'>) => void,
): Promise<RunReport> {
  const stats = new RunStats();
  let log = processLog;
  let started: RunInProgress | undefined;
  let reporter: RunReporter | undefined;
  // Any failure of a cancelled run is a consequence of the cancellation.
  const reasonOf = (error: unknown): unknown =>
    reporter?.signal.aborted ? (reporter.signal.reason as unknown) : error;
  try {
    // Before the transaction, which reads it from then on.
    await productLayout(db);
    const report = await inTransaction(db, 'bulk', async (trx): Promise<RunReport> => {
      const claimed = await claimRun(trx, claim);
      if (!claimed) return { outcome: 'not_claimed' };
      onClaim?.(claimed);
      const isRepeated = 'jobId' in claim && claim.isReserved;
      const execute = async (
        at: RunInProgress,
        reportState: () => Promise<boolean>,
        work: (trx: Knex.Transaction, signal: AbortSignal) => Promise<RunCounters>,
      ): Promise<RunReport> => {
        started = at;
        log = logOf(processLog, claimed, at.run);
        const running = (reporter = startReporter(db, claimed, reportState, log));
        try {
          // The savepoint rolls a failure back while the claim is held until that failure is recorded.
          const counters = await trx.transaction((savepoint) => work(savepoint, running.signal));
          return { outcome: 'completed', counters };
        } catch (error) {
          await running.stop();
          log.warn({ err: reasonOf(error) }, at.isRevert ? 'revert failed' : 'run failed');
          return await recordFailure(trx, at, reasonOf(error), stats);
        } finally {
          await running.stop();
        }
      };
      if (claimed.revert !== null) {
        const at = { ...claimed, run: claimed.revert, isRevert: true };
        const revert = await markRevertRunning(db, at, isRepeated);
        if (!revert) return { outcome: 'not_claimed' };
        return await execute(
          at,
          () => isRevertCancelled(db, at),
          (work, signal) => stats.timed('revert', () => runRevert(work, at, revert, signal)),
        );
      }
      const run = await markRunning(db, claimed.jobId, isRepeated);
      if (!run) return { outcome: 'not_claimed' };
      const feed = { ...claimed, ...run };
      const at = { jobId: feed.jobId, run: feed.run, isRevert: false };
      return await execute(at, progressReport(db, at, feed, stats), (work, signal) =>
        loadFeed(work, db, { objectStore, feed, signal, run: feed.run }, stats, firstLoadBytes),
      );
    });
    const { copied, rejected, unchanged, milliseconds: ms } = stats;
    if (started) log.info({ ...report, copied, unchanged, rejected, ms }, 'run');
    return report;
  } catch (error) {
    log.error({ err: error }, 'failed to commit run');
    return await recordLostRun(db, started, reasonOf(error), stats, log);
  }
}

/** Loads a feed into the products of its partner, and completes its job. */
async function loadFeed(
  trx: Knex.Transaction,
  db: Database,
  { objectStore, feed, signal, run }: RowSource & { run: number; signal: AbortSignal },
  stats: RunStats,
  firstLoadBytes?: number,
): Promise<RunCounters> {
  const digests = new PartnerDigests(trx, feed.partnerId);
  const source = { objectStore, feed, digests, signal };
  const stage = () => stats.timed('stage', () => stageFeed(trx, source, stats));
  try {
    const first = await stats.timed('first load', () =>
      loadFirstFeed(trx, source, stats, () => markLoading(db, feed.feedId), firstLoadBytes),
    );
    let change: CatalogChange;
    let counters: RunCounters;
    let uncounted: number;
    if (first) {
      ({ change, counters, uncounted } = first);
      // What fails now is rolled back.
      await checkAge(trx, feed);
      checkSkipped(feed, counters);
    } else {
      let staged = await stage();
      stats.phase = 'comparing';
      await markLoading(db, feed.feedId);
      if (!(await lockPartner(trx, feed.partnerId))) {
        throw new FeedFailure('The partner was merged into another one during the run: run the job again.');
      }
      await checkAge(trx, feed);
      if (!(await digests.areCurrent())) {
        // Another run or a manual change has committed since; under the lock, no other run can.
        stats.reset();
        staged = await stage();
        stats.phase = 'comparing';
      }
      await rejectSupersededRows(trx, staged, stats);
      change = await beginRunChange(trx, feed.partnerId);
      ({ counters, uncounted } = await mergeStaged(trx, staged, change, stats, signal, (compared) =>
        checkKeepingIssues(trx, stats.issues, async () => {
          checkSkipped(feed, compared);
          checkPriceJumps(feed, stats);
          await checkWithdrawals(staged, compared, () => countActive(trx, staged));
        }),
      ));
      if (counters.withdrawn > 0) await forgetSkus(trx, digests, 'select sku from feed_withdrawals');
      if (stats.unknown > 0) {
        await forgetSkus(trx, digests, "select sku from feed_issues where code = 'unknown_sku'");
      }
    }
    await stats.timed('digests', () => digests.save());
    if (counters.inserted + counters.updated > 0) {
      // The search index is updated after the run.
      await trx('search_backlog').insert({ partner_id: feed.partnerId, feed_id: feed.feedId });
    }
    await replaceRowIssues(trx, feed.jobId, stats.issues.kept);
    const { issues, delimiter } = stats;
    const facts = loadFacts(feed.mode, stats);
    if (!(await completeRun(trx, feed, counters, issues.countsByCode, delimiter, facts))) {
      throw new FeedFailure(cancelledReason);
    }
    if (counters.inserted + counters.updated + counters.withdrawn + uncounted > 0) {
      await endChange(trx, change, counters.withdrawn > 0, { jobId: feed.jobId, run });
    }
    await keepAttention(trx, onePartner(feed.partnerId));
    return counters;
  } finally {
    digests.release();
  }
}

/** Drops the digests of products that were withdrawn, and of rows without a product. */
async function forgetSkus(trx: Knex.Transaction, digests: PartnerDigests, sql: string): Promise<void> {
  for await (const skus of readColumn<string>(trx, raw(sql))) digests.forget(skus);
}

/** Fails the run with what was rejected so far, unless another run has replaced this one. */
async function recordFailure(
  trx: Knex.Transaction,
  { isRevert, ...at }: RunInProgress,
  error: unknown,
  { skipped, issues }: RunStats = new RunStats(),
): Promise<RunReport> {
  if (isRevert) {
    const conflicts = error instanceof RevertConflicts ? error.conflicts : 0;
    await failRevert(trx, at, failureReason(error), conflicts);
    return { outcome: 'failed', counters: failedCounters(conflicts) };
  }
  const counters = failedCounters(skipped, wouldWithdrawOf(error));
  const jumps = priceJumpsOf(error);
  if (!(await failRun(trx, at, failureReason(error), counters, issues.countsByCode, jumps))) {
    return { outcome: 'failed' };
  }
  await createStaging(trx);
  await replaceRowIssues(trx, at.jobId, issues.kept);
  // It may have another partner since.
  await keepAttention(trx, partnersOfJobs([at.jobId]));
  return { outcome: 'failed', counters };
}

/** Records a failure after the transaction was lost, and with it the claim. */
async function recordLostRun(
  db: Database,
  started: RunInProgress | undefined,
  error: unknown,
  stats: RunStats,
  log: Log,
): Promise<RunReport> {
  try {
    if (started === undefined) throw error;
    return await inTransaction(db, 'bulk', (trx) => recordFailure(trx, started, error, stats));
  } catch (second) {
    log.error({ err: second }, 'failed to record run failure');
    if (isDatabaseUnavailable(second)) return { outcome: 'unavailable' };
    throw second;
  }
}
