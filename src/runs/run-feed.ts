import type { Knex } from 'knex';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { completeRun, failRun, markLoading } from '../jobs/jobs.repository';
import { cancelledReason, type RunNumber } from '../jobs/run-progress.repository';
import type { Log } from '../shared/log';
import { claimRun, markRunning, type Claim } from './queue.repository';
import type { ObjectStore } from '../storage/object-store';
import { RunTally, type RowSource } from '../etl/copy-rows';
import { FeedFailure, failedCounters, type RunCounters } from '../etl/run-result';
import { loadFirstFeed } from '../etl/first-load';
import { replaceRowIssues } from '../etl/keep-issues';
import { lockPartner } from '../etl/load';
import { mergeStaged } from '../etl/merge-staged';
import { PartnerDigests } from '../etl/unchanged/partner-digests';
import { stageFeed, createStaging } from '../etl/staging';
import { startReporter, type RunReporter } from './run-reporter';

/** What a run works with. */
export interface RunContext {
  db: Database;
  objectStore: ObjectStore;
  log: Log;
  /** From which size on a first feed goes straight into the products; absent: the service's own limit. */
  firstLoadBytes?: number;
}

/**
 * How a run ended; the job's row has the rest. `not_claimed`: there was none to claim, or it no longer waited. `unavailable`:
 * the database went away, and nothing could be recorded.
 */
export type RunOutcome = 'completed' | 'failed' | 'not_claimed' | 'unavailable';

/** What a run came to. */
export interface RunReport {
  outcome: RunOutcome;
  /** Those that the job has now; absent where the run recorded none. */
  counters?: RunCounters;
}

/** The fields of the log line of a run; the reference of the log is generated from them. */
export const runLogFields = {
  job_id: 'Number of the validation job: 1 is `JV00001`.',
  outcome: '`completed`, `failed` or `unavailable`: PostgreSQL could not be reached.',
  counters: 'The counters of the job, as in its `summary`; absent where the run recorded none.',
  copied: 'Rows that were copied to PostgreSQL.',
  known: 'Rows that were unchanged by their digest, and not copied.',
  rejected: 'Rows that were skipped.',
  ms: 'Milliseconds of each phase.',
} as const;

/**
 * Runs a validation job that waits in the queue: claims it, reads the raw file of its feed, stages the good rows, merges them
 * into the partner's products, and records what became of every row. One transaction holds it all, the claim too: products,
 * issues, counters and the final states appear together, and whatever kills this process or the connection undoes the rest
 * and frees the job.
 *
 * Safe to call at once for any jobs: a job is run by one at a time; runs of one partner wait for each other where they touch
 * its products. Safe to repeat.
 * @param onClaim - told the number of the job before the run begins
 */
export async function runFeed(
  claim: Claim,
  { db, objectStore, log, firstLoadBytes }: RunContext,
  onClaim?: (jobId: number) => void,
): Promise<RunReport> {
  const tally = new RunTally();
  let begun: RunNumber | undefined;
  let reporter: RunReporter | undefined;
  // Whatever else fails when a run is cancelled does so because of that.
  const reasonOf = (error: unknown): unknown =>
    reporter?.signal.aborted ? (reporter.signal.reason as unknown) : error;
  try {
    const report = await inTransaction(db, 'bulk', async (trx): Promise<RunReport> => {
      const feed = await claimRun(trx, claim);
      if (feed) onClaim?.(feed.jobId);
      const run = feed && (await markRunning(db, feed.jobId, 'jobId' in claim && claim.isReserved));
      if (!feed || run === undefined) return { outcome: 'not_claimed' };
      const at = { jobId: feed.jobId, run };
      begun = at;
      reporter = startReporter(db, at, feed, tally, log);
      const { signal } = reporter;
      try {
        // A savepoint: what fails is undone, while the claim on the job stays until the failure is recorded.
        const counters = await trx.transaction((work) =>
          loadFeed(work, db, { objectStore, feed, signal }, tally, firstLoadBytes),
        );
        return { outcome: 'completed', counters };
      } catch (error) {
        await reporter.stop();
        log.warn({ job_id: at.jobId, err: reasonOf(error) }, 'run failed');
        return await recordFailure(trx, at, reasonOf(error), tally);
      } finally {
        await reporter.stop();
      }
    });
    const { copied, rejected, known, milliseconds } = tally;
    if (begun) log.info({ job_id: begun.jobId, ...report, copied, known, rejected, ms: milliseconds }, 'run');
    return report;
  } catch (error) {
    log.error({ job_id: begun?.jobId, err: error }, 'run could not be committed');
    return await recordLostRun(db, begun, reasonOf(error), tally, log);
  }
}

/** Loads one feed, and completes its job, within `trx`. */
async function loadFeed(
  trx: Knex.Transaction,
  db: Database,
  { objectStore, feed, signal }: RowSource,
  tally: RunTally,
  firstLoadBytes?: number,
): Promise<RunCounters> {
  const digests = new PartnerDigests(trx, feed.partnerId);
  const source = { objectStore, feed, digests, signal };
  try {
    const counters =
      (await tally.time('first load', () => loadFirstFeed(trx, source, tally, firstLoadBytes))) ??
      (await mergeFeed(trx, db, source, tally));
    await tally.time('digests', () => digests.save());
    await replaceRowIssues(trx, feed.jobId, tally.issues.kept);
    if (await completeRun(trx, feed, counters, tally.issues.countsByCode)) return counters;
    throw new FeedFailure(cancelledReason);
  } finally {
    digests.release();
  }
}

/** Stages a feed and merges it into the products of its partner. @returns what every row comes to */
async function mergeFeed(
  trx: Knex.Transaction,
  db: Database,
  source: RowSource & { digests: PartnerDigests },
  tally: RunTally,
): Promise<RunCounters> {
  const { feed, digests } = source;
  const stage = () => tally.time('stage', () => stageFeed(trx, source, tally));
  let staged = await stage();
  tally.phase = 'comparing';
  await markLoading(db, feed.feedId);
  await lockPartner(trx, feed.partnerId);
  if (!(await digests.areCurrent())) {
    // Another run of the partner, or a manual change, has been committed meanwhile. No run can be from now on.
    tally.startOver();
    staged = await stage();
    tally.phase = 'comparing';
  }
  return mergeStaged(trx, staged, tally);
}

/** Why a run failed, for people. */
export function failureReason(error: unknown): string {
  // The specification's text of a wrong header is no sentence.
  if (error instanceof FeedFailure) return error.message.replace(/(?<!\.)$/, '.');
  return 'The products could not be saved.';
}

/** Says in the job that its run failed, and what it had skipped until then, unless another run has taken over by now. */
async function recordFailure(
  trx: Knex.Transaction,
  at: RunNumber,
  error: unknown,
  { rejected, issues }: RunTally,
): Promise<RunReport> {
  if (!(await failRun(trx, at, failureReason(error), rejected, issues.countsByCode))) {
    return { outcome: 'failed' };
  }
  await createStaging(trx);
  await replaceRowIssues(trx, at.jobId, issues.kept);
  return { outcome: 'failed', counters: failedCounters(rejected) };
}

/** The transaction is lost, and with it the claim. */
async function recordLostRun(
  db: Database,
  begun: RunNumber | undefined,
  error: unknown,
  tally: RunTally,
  log: Log,
): Promise<RunReport> {
  try {
    if (begun === undefined) throw error;
    return await inTransaction(db, 'bulk', (trx) => recordFailure(trx, begun, error, tally));
  } catch (second) {
    log.error({ job_id: begun?.jobId, err: second }, 'failure could not be recorded');
    if (isDatabaseUnavailable(second)) return { outcome: 'unavailable' };
    throw second;
  }
}
