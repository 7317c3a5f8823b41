import type { Knex } from 'knex';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { completeRun, failRun, markLoading } from '../jobs/jobs.repository';
import { cancelledReason, type RunNumber } from '../jobs/run-progress.repository';
import type { Log } from '../shared/log';
import { claimRun, markRunning, type Claim } from './queue.repository';
import type { ObjectStore } from '../storage/object-store';
import type { RowSource } from '../etl/copy-rows';
import { loadFirstFeed } from '../etl/first-load';
import { replaceRowIssues } from '../etl/keep-issues';
import { mergeStaged } from '../etl/merge-staged';
import { lockPartner } from '../partners/partner-lock';
import { rejectSupersededRows } from '../etl/repeated-skus';
import { failedCounters, FeedFailure, failureReason, type RunCounters } from '../etl/run-result';
import { RunStats } from '../etl/run-stats';
import { createStaging, stageFeed } from '../etl/staging';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import { startReporter, type RunReporter } from './run-reporter';

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
  job_id: 'Number of the validation job: 1 is `JV00001`.',
  outcome: '`completed`, `failed` or `unavailable`: PostgreSQL could not be reached.',
  counters: 'The counters of the job, as in its `summary`; absent where the run recorded none.',
  copied: 'Rows that were copied to PostgreSQL.',
  unchanged: 'Rows that were unchanged by their digest, and not copied.',
  rejected: 'Invalid rows.',
  ms: 'Milliseconds of each phase.',
} as const;

/**
 * Runs a queued validation job: claims it, loads its feed, and records the outcome.
 *
 * One transaction contains the claim, the products, the issues, the counters and the final states. If the process or the
 * connection dies, PostgreSQL rolls everything back and releases the claim. Safe to call concurrently and repeatedly: each
 * job has one run at a time, and runs of one partner wait for each other before they change its products.
 * @param onClaim - called with the number of the job before the run starts
 */
export async function runFeed(
  claim: Claim,
  { db, objectStore, log, firstLoadBytes }: RunContext,
  onClaim?: (jobId: number) => void,
): Promise<RunReport> {
  const stats = new RunStats();
  let started: RunNumber | undefined;
  let reporter: RunReporter | undefined;
  // Any failure of a cancelled run is a consequence of the cancellation.
  const reasonOf = (error: unknown): unknown =>
    reporter?.signal.aborted ? (reporter.signal.reason as unknown) : error;
  try {
    const report = await inTransaction(db, 'bulk', async (trx): Promise<RunReport> => {
      const feed = await claimRun(trx, claim);
      if (feed) onClaim?.(feed.jobId);
      const run = feed && (await markRunning(db, feed.jobId, 'jobId' in claim && claim.isReserved));
      if (!feed || run === undefined) return { outcome: 'not_claimed' };
      const at = { jobId: feed.jobId, run };
      started = at;
      reporter = startReporter(db, at, feed, stats, log);
      const { signal } = reporter;
      try {
        // The savepoint rolls a failure back while the claim is held until that failure is recorded.
        const counters = await trx.transaction((work) =>
          loadFeed(work, db, { objectStore, feed, signal }, stats, firstLoadBytes),
        );
        return { outcome: 'completed', counters };
      } catch (error) {
        await reporter.stop();
        log.warn({ job_id: at.jobId, err: reasonOf(error) }, 'run failed');
        return await recordFailure(trx, at, reasonOf(error), stats);
      } finally {
        await reporter.stop();
      }
    });
    const { copied, rejected, unchanged, milliseconds: ms } = stats;
    if (started) log.info({ job_id: started.jobId, ...report, copied, unchanged, rejected, ms }, 'run');
    return report;
  } catch (error) {
    log.error({ job_id: started?.jobId, err: error }, 'failed to commit run');
    return await recordLostRun(db, started, reasonOf(error), stats, log);
  }
}

/** Loads a feed into the products of its partner, and completes its job. */
async function loadFeed(
  trx: Knex.Transaction,
  db: Database,
  { objectStore, feed, signal }: RowSource,
  stats: RunStats,
  firstLoadBytes?: number,
): Promise<RunCounters> {
  const digests = new PartnerDigests(trx, feed.partnerId);
  const source = { objectStore, feed, digests, signal };
  const stage = () => stats.timed('stage', () => stageFeed(trx, source, stats));
  try {
    let counters = await stats.timed('first load', () => loadFirstFeed(trx, source, stats, firstLoadBytes));
    if (!counters) {
      let staged = await stage();
      stats.phase = 'comparing';
      await markLoading(db, feed.feedId);
      if (!(await lockPartner(trx, feed.partnerId))) {
        throw new FeedFailure('The partner was merged into another one during the run: run the job again.');
      }
      if (!(await digests.areCurrent())) {
        // Another run or a manual change has committed since; under the lock, no other run can.
        stats.reset();
        staged = await stage();
        stats.phase = 'comparing';
      }
      await rejectSupersededRows(trx, staged, stats);
      counters = await mergeStaged(trx, staged, stats);
    }
    await stats.timed('digests', () => digests.save());
    if (counters.inserted + counters.updated > 0) {
      // The search index is updated after the run.
      await trx('search_backlog').insert({ partner_id: feed.partnerId, feed_id: feed.feedId });
    }
    await replaceRowIssues(trx, feed.jobId, stats.issues.kept);
    if (await completeRun(trx, feed, counters, stats.issues.countsByCode)) return counters;
    throw new FeedFailure(cancelledReason);
  } finally {
    digests.release();
  }
}

/** Fails the job with what was rejected so far, unless another run has replaced this one. */
async function recordFailure(
  trx: Knex.Transaction,
  at: RunNumber,
  error: unknown,
  { rejected, issues }: RunStats,
): Promise<RunReport> {
  if (!(await failRun(trx, at, failureReason(error), rejected, issues.countsByCode))) {
    return { outcome: 'failed' };
  }
  await createStaging(trx);
  await replaceRowIssues(trx, at.jobId, issues.kept);
  return { outcome: 'failed', counters: failedCounters(rejected) };
}

/** Records a failure after the transaction was lost, and with it the claim. */
async function recordLostRun(
  db: Database,
  started: RunNumber | undefined,
  error: unknown,
  stats: RunStats,
  log: Log,
): Promise<RunReport> {
  try {
    if (started === undefined) throw error;
    return await inTransaction(db, 'bulk', (trx) => recordFailure(trx, started, error, stats));
  } catch (second) {
    log.error({ job_id: started?.jobId, err: second }, 'failed to record run failure');
    if (isDatabaseUnavailable(second)) return { outcome: 'unavailable' };
    throw second;
  }
}
