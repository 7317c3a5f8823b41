import type { Database } from '../../base/db/database';
import { FeedFailure } from '../etl/run-result';
import type { RunProgress } from '../jobs/jobs.repository';
import type { RunStats } from '../etl/run-stats';
import { cancelledReason } from '../../base/errors';
import type { Log } from '../../base/log';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import type { ClaimedRun } from '../queue/claims.repository';
import { cancelStatementOf, reportProgress } from '../queue/run-progress.repository';

export const progressReports = {
  /** Interval at which a run reports progress and checks for cancellation. */
  intervalMilliseconds: 500,

  /** Samples for the rates: five seconds. */
  samples: 11,
};

/** Reports on a run, and cancels it on request. Requests are read on a second connection, as the run's own changes are invisible. */
export interface RunReporter {
  /** Aborted when the run is cancelled; its reason is a FeedFailure. */
  signal: AbortSignal;
  /** Stops. Await it before reusing the run's connection: afterwards no statement on it is cancelled. */
  stop(): Promise<void>;
}

/**
 * Starts to report on a run. A cancellation aborts the file read and the running statement.
 * @param log - log of the run
 */
export function startReporter(db: Database, run: ClaimedRun, stats: RunStats, log: Log): RunReporter {
  const cancelling = new AbortController();
  const progressNow = run.kind === 'load' ? startProgress(run, stats) : () => null;

  async function report(): Promise<void> {
    if (!(await reportProgress(db, run, progressNow()))) return;
    // Repeated with each report: between two statements there is none to cancel.
    await cancelStatementOf(db, run.backend);
    cancelling.abort(new FeedFailure(cancelledReason));
  }

  const task = startPeriodicTask({
    milliseconds: progressReports.intervalMilliseconds,
    startsAtOnce: false,
    run: report,
    onError: (error) => log.warn({ err: error }, 'failed to report progress'),
  });
  return { signal: cancelling.signal, stop: () => task.stop() };
}

/** Returns a function that computes the progress of a load. */
function startProgress({ sizeBytes }: ClaimedRun, stats: RunStats): () => RunProgress {
  const measureRates = startRates();
  return () => {
    const { phase, rows, bytesRead } = stats;
    const progress = { phase, rows, bytes_read: bytesRead, bytes_total: sizeBytes };
    return { ...progress, ...measureRates(rows, bytesRead) };
  };
}

/** Computes rates per second over the last five seconds, from totals. */
function startRates() {
  const samples = [{ at: performance.now(), rows: 0, bytes: 0 }];
  return (rows: number, bytes: number) => {
    const now = { at: performance.now(), rows, bytes };
    if (samples.push(now) > progressReports.samples) samples.shift();
    const [first] = samples as [typeof now];
    const seconds = (now.at - first.at) / 1000;
    // A file that is read again starts at 0.
    const rate = (from: number, to: number) => Math.max(0, Math.round((to - from) / seconds));
    return { rows_per_second: rate(first.rows, rows), bytes_per_second: rate(first.bytes, bytes) };
  };
}
