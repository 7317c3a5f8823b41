import type { Knex } from 'knex';
import { isDatabaseUnavailable, type Database } from '../../base/db/database';
import { productLayout } from '../../base/db/layout/product-layout';
import { inTransaction } from '../../base/db/transaction';
import { createStaging } from '../etl/staging';
import { replaceRowIssues } from '../etl/keep-issues';
import {
  failedCounters,
  failureReason,
  priceJumpsOf,
  wouldWithdrawOf,
  type RunCounters,
} from '../etl/run-result';
import { RunStats } from '../etl/run-stats';
import { keepAttention, partnersOfJobs } from '../../catalog/partners/keep-attention';
import { formatId } from '../../base/ids';
import type { Log } from '../../base/log';
import { claimRun, startRun, type Claim, type ClaimedRun, type StartedRun } from '../queue/claims.repository';
import { loadFeed, type RunContext } from './load-feed';
import { failRun, requeueRun } from '../queue/run-ends.repository';
import { startReporter, type RunReporter } from './run-reporter';
import { conflictsOf, runRevert } from './run-revert';

/**
 * Outcome of a run. `not_claimed`: there was none to claim, or it was no longer queued. `unavailable`: the database is
 * down, and the outcome could not be recorded.
 */
export type RunOutcome = 'completed' | 'failed' | 'not_claimed' | 'unavailable';

/** Outcome of a run, with its counters if the run recorded them. */
export interface RunReport {
  outcome: RunOutcome;
  counters?: RunCounters;
}

/** Fields of the log line of a run; docs/reference/metrics-and-logs.md#logs is generated from them. */
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

/** A run in progress, with its results so far. */
interface Attempt {
  run: ClaimedRun & StartedRun;
  stats: RunStats;
  log: Log;
  reporter: RunReporter;
}

const notClaimed: RunReport = { outcome: 'not_claimed' };

/**
 * Runs a queued validation job: claims it, loads its feed or undoes a run, and records the outcome.
 * One transaction contains the claim, the products, the issues, the counters and the final states. If the process or the
 * connection dies, PostgreSQL rolls everything back and releases the claim. Safe to call concurrently and repeatedly: each
 * job has one run at a time, and runs of one partner wait for each other before they change its products.
 * @param onClaim - called with the run before it starts
 */
export async function runFeed(
  claim: Claim,
  context: RunContext,
  onClaim?: (claimed: ClaimedRun) => void,
): Promise<RunReport> {
  const { db } = context;
  let attempt: Attempt | undefined;
  try {
    // Before the transaction, which uses this layout.
    await productLayout(db);
    const report = await inTransaction(db, 'bulk', async (trx) => {
      const claimed = await claimRun(trx, claim);
      if (!claimed) return notClaimed;
      onClaim?.(claimed);
      const run = await start(db, claimed, 'jobId' in claim && claim.isReserved);
      if (!run) return notClaimed;
      attempt = beginAttempt(context, run);
      return await execute(trx, context, attempt);
    });
    if (attempt) logRun(attempt, report);
    return report;
  } catch (error) {
    (attempt?.log ?? context.log).error({ err: error }, 'failed to commit run');
    return await recordLostRun(context, attempt, error);
  }
}

/** Starts a claimed run; starts an orphaned run of a reserved job as its next attempt. @returns undefined if it is no longer queued */
async function start(
  db: Database,
  claimed: ClaimedRun,
  isReserved = false,
): Promise<Attempt['run'] | undefined> {
  const at = isReserved ? await inTransaction(db, 'request', (trx) => requeueRun(trx, claimed)) : claimed;
  const started = await startRun(db, at);
  return started && { ...claimed, ...started, run: at.run };
}

/** Starts to report on a run. The lines of its log name it. */
function beginAttempt({ db, log: processLog }: RunContext, run: Attempt['run']): Attempt {
  const stats = new RunStats();
  const log = processLog.child({
    job_id: formatId('JV', run.jobId),
    feed_id: formatId('FD', run.feedId),
    partner: run.partnerName,
    run: run.run,
    request_id: run.requestId ?? undefined,
  });
  return { run, stats, log, reporter: startReporter(db, run, stats, log) };
}

/** Executes a run in a savepoint: a failure is rolled back while the claim is held until it is recorded. */
async function execute(trx: Knex.Transaction, context: RunContext, attempt: Attempt): Promise<RunReport> {
  const { run, stats, log, reporter } = attempt;
  try {
    const counters = await trx.transaction((savepoint) =>
      run.kind === 'load'
        ? loadFeed(savepoint, context, run, stats, reporter.signal)
        : runRevert(savepoint, run, stats, reporter.signal),
    );
    return { outcome: 'completed', counters };
  } catch (error) {
    await reporter.stop();
    log.warn({ err: reasonOf(attempt, error) }, run.kind === 'load' ? 'run failed' : 'revert failed');
    return await recordFailure(trx, attempt, error);
  } finally {
    await reporter.stop();
  }
}

/** Any failure of a cancelled run is a consequence of the cancellation. */
const reasonOf = ({ reporter: { signal } }: Attempt, error: unknown): unknown =>
  signal.aborted ? (signal.reason as unknown) : error;

/** Fails the run with the rejected rows so far, unless it has ended or was requeued. */
async function recordFailure(trx: Knex.Transaction, attempt: Attempt, error: unknown): Promise<RunReport> {
  const { run, stats } = attempt;
  const cause = reasonOf(attempt, error);
  const counters = failedCounters(conflictsOf(cause) ?? stats.skipped, wouldWithdrawOf(cause));
  const isFailed = await failRun(trx, run, {
    reason: failureReason(cause),
    counters,
    issueCounts: stats.issues.countsByCode,
    priceJumps: priceJumpsOf(cause),
  });
  if (!isFailed) return { outcome: 'failed' };
  if (run.kind === 'load') {
    await createStaging(trx);
    await replaceRowIssues(trx, run.jobId, stats.issues.kept);
  }
  // The job may have moved to another partner.
  await keepAttention(trx, partnersOfJobs([run.jobId]));
  return { outcome: 'failed', counters };
}

/** Records a failure after the transaction, and with it the claim, was lost. */
async function recordLostRun(
  { db, log: processLog }: RunContext,
  attempt: Attempt | undefined,
  error: unknown,
): Promise<RunReport> {
  try {
    if (!attempt) throw error;
    return await inTransaction(db, 'bulk', (trx) => recordFailure(trx, attempt, error));
  } catch (second) {
    (attempt?.log ?? processLog).error({ err: second }, 'failed to record run failure');
    if (isDatabaseUnavailable(second)) return { outcome: 'unavailable' };
    throw second;
  }
}

function logRun({ stats, log }: Attempt, report: RunReport): void {
  const { copied, rejected, unchanged, milliseconds: ms } = stats;
  log.info({ ...report, copied, unchanged, rejected, ms }, 'run');
}
