import type { Database } from '../db/database';
import { cancelStatementOf, reportProgress, type RunNumber } from '../jobs/run-progress.repository';
import type { Log } from '../shared/log';
import type { ClaimedRun } from './claims.repository';
import { startPeriodicTask } from '../shared/periodic-task';
import { FeedFailure } from '../etl/run-result';
import type { RunStats } from '../etl/run-stats';
import { cancelledReason } from '../shared/errors';

export const progressReports = {
  /** Interval at which a run reports progress and checks for cancellation. */
  intervalMilliseconds: 500,

  /** Samples from which the rates are computed: five seconds. */
  samples: 11,
};

/** Cancels a run on request, which it looks for on a second connection: the run's own changes are invisible until it commits. */
export interface RunReporter {
  /** Aborted when the run is cancelled; its reason is a FeedFailure. */
  signal: AbortSignal;
  /** Stops. Await it before reusing the run's connection: afterwards no statement on it is cancelled. */
  stop(): Promise<void>;
}

/** Returns what reports the progress of a load. */
export function progressReport(
  db: Database,
  at: RunNumber,
  { sizeBytes }: Pick<ClaimedRun, 'sizeBytes'>,
  stats: RunStats,
): () => Promise<boolean> {
  const measureRates = startRates();
  return () => {
    const { phase, rows, bytesRead } = stats;
    const progress = { phase, rows, bytes_read: bytesRead, bytes_total: sizeBytes };
    return reportProgress(db, at, { ...progress, ...measureRates(rows, bytesRead) });
  };
}

/**
 * Starts to report on a run. A cancellation aborts the file read and the running statement.
 * @param reportState - reports, and tells whether the cancellation is requested
 * @param log - log of the run
 */
export function startReporter(
  db: Database,
  { backend }: Pick<ClaimedRun, 'backend'>,
  reportState: () => Promise<boolean>,
  log: Log,
): RunReporter {
  const cancelling = new AbortController();

  async function report(): Promise<void> {
    if (!(await reportState())) return;
    // Repeated with each report: between two statements there is none to cancel.
    await cancelStatementOf(db, backend);
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
