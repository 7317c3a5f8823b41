import type { Knex } from 'knex';
import { isDatabaseUnavailable, type Database } from '../db/database';
import {
  claimRun,
  completeRun,
  failRun,
  getFeedToRun,
  markLoading,
  markRunning,
  type FeedToRun,
} from '../jobs/jobs.repository';
import type { Log } from '../log';
import type { ObjectStore } from '../storage/object-store';
import { FeedFailure } from './feed-failure';
import { replaceRowIssues } from './keep-issues';
import { applyChanges, lockPartner } from './load';
import { compareFeed, RunTally, stageFeed } from './stage-feed';
import { createStaging } from './staging';

/** What a run works with. */
export interface RunContext {
  db: Database;
  objectStore: ObjectStore;
  log: Log;
}

/** How a run ended; the job's row has the rest. `unavailable`: the database went away, and nothing could be recorded. */
export type RunOutcome = 'completed' | 'failed' | 'already_running' | 'unavailable';

/**
 * Runs a validation job: reads the raw file of its feed, stages the good rows, merges them into the partner's products,
 * and records what became of every row. One transaction holds it all, the claim on the job too: products, issues,
 * counters and the final states appear together, and whatever kills this process or the connection undoes the rest and
 * frees the job.
 *
 * Safe to call at once for any jobs: of two runs of one job the second is told `already_running`; runs of one partner
 * wait for each other where they touch its products. Safe to repeat.
 */
export async function runFeed(jobId: number, { db, objectStore, log }: RunContext): Promise<RunOutcome> {
  const tally = new RunTally();
  let run: number | undefined;
  try {
    const outcome = await db.transaction(async (trx): Promise<RunOutcome> => {
      if (!(await claimRun(trx, jobId))) return 'already_running';
      const feed = await getFeedToRun(trx, jobId);
      // On a connection of its own: callers see the state while the transaction goes on.
      run = await markRunning(db, jobId);
      try {
        // A savepoint: what fails is undone, while the claim on the job stays until the failure is recorded.
        await trx.transaction((work) => loadFeed(work, db, objectStore, feed, tally));
        return 'completed';
      } catch (error) {
        log.warn({ job_id: jobId, err: error }, 'run failed');
        await recordFailure(trx, { jobId, run }, error, tally);
        return 'failed';
      }
    });
    const { staged, rejected, milliseconds } = tally;
    log.info({ job_id: jobId, outcome, staged, rejected, ms: milliseconds }, 'run');
    return outcome;
  } catch (error) {
    log.error({ job_id: jobId, err: error }, 'run could not be committed');
    return await recordLostRun(db, { jobId, run }, error, tally, log);
  }
}

/** Reads, stages and merges one feed, and completes its job, within `trx`. */
async function loadFeed(
  trx: Knex.Transaction,
  db: Database,
  objectStore: ObjectStore,
  feed: FeedToRun,
  tally: RunTally,
): Promise<void> {
  const staged = await tally.time('stage', () => stageFeed(trx, objectStore, feed, tally));
  await markLoading(db, feed.feedId);
  await lockPartner(trx, feed.partnerId);
  const { counters, changes } = await compareFeed(trx, staged, tally);
  await tally.time('apply', () => applyChanges(trx, staged, changes));
  await replaceRowIssues(trx, feed.jobId, tally.issues.kept);
  await completeRun(trx, feed, counters, tally.issues.countsByCode);
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
  at: { jobId: number; run: number },
  error: unknown,
  { rejected, issues }: RunTally,
): Promise<void> {
  if (!(await failRun(trx, at, failureReason(error), rejected, issues.countsByCode))) return;
  await createStaging(trx);
  await replaceRowIssues(trx, at.jobId, issues.kept);
}

/** The transaction is lost, and with it the claim. */
async function recordLostRun(
  db: Database,
  { jobId, run }: { jobId: number; run: number | undefined },
  error: unknown,
  tally: RunTally,
  log: Log,
): Promise<RunOutcome> {
  try {
    if (run === undefined) throw error;
    await db.transaction((trx) => recordFailure(trx, { jobId, run }, error, tally));
    return 'failed';
  } catch (second) {
    log.error({ job_id: jobId, err: second }, 'failure could not be recorded');
    if (isDatabaseUnavailable(second)) return 'unavailable';
    throw second;
  }
}
