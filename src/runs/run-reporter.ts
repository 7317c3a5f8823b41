import type { Database } from '../db/database';
import {
  cancelledReason,
  cancelStatementOf,
  reportProgress,
  type RunNumber,
} from '../jobs/run-progress.repository';
import type { Log } from '../shared/log';
import type { ClaimedRun } from './queue.repository';
import { startPeriodicTask } from '../shared/periodic-task';
import type { RunTally } from '../etl/copy-rows';
import { FeedFailure } from '../etl/run-result';

/** How often a run tells how far it is, and looks whether it is to stop. */
export const progressMilliseconds = 500;

/** Of so many of these looks its rates are made: five seconds. */
const progressSamples = 11;

/** Tells how far a run is while it goes on, and is told when it is to stop. */
export interface RunReporter {
  /** Aborted, for a FeedFailure, when the run is to stop. */
  signal: AbortSignal;
  /**
   * Ends it. To be awaited before the run's connection does something else: from then on, no statement on it is given up
   * any more.
   */
  stop(): Promise<void>;
}

/**
 * Reports on a run every half second, on another connection than the run's, whose transaction nobody sees before its end.
 * A run that is to stop is amid its file or amid a statement: both are given up.
 */
export function startReporter(
  db: Database,
  at: RunNumber,
  { backend, sizeBytes }: Pick<ClaimedRun, 'backend' | 'sizeBytes'>,
  tally: RunTally,
  log: Log,
): RunReporter {
  const cancelling = new AbortController();
  const measureRates = startRates();

  async function report(): Promise<void> {
    const { phase, rows, bytesRead } = tally;
    const progress = { phase, rows, bytes_read: bytesRead, bytes_total: sizeBytes };
    if (!(await reportProgress(db, at, { ...progress, ...measureRates(rows, bytesRead) }))) return;
    // Each time: between two statements the server has none to give up.
    await cancelStatementOf(db, backend);
    cancelling.abort(new FeedFailure(cancelledReason));
  }

  const task = startPeriodicTask({
    milliseconds: progressMilliseconds,
    startsAtOnce: false,
    run: report,
    onError: (error) => log.warn({ job_id: at.jobId, err: error }, 'progress could not be told'),
  });
  return { signal: cancelling.signal, stop: () => task.stop() };
}

/** @returns what has come per second since about five seconds ago, given what has come in all */
function startRates() {
  const samples = [{ at: performance.now(), rows: 0, bytes: 0 }];
  return (rows: number, bytes: number) => {
    const now = { at: performance.now(), rows, bytes };
    if (samples.push(now) > progressSamples) samples.shift();
    const [first] = samples as [typeof now];
    const seconds = (now.at - first.at) / 1000;
    // A file that is read a second time begins at nothing.
    const rate = (from: number, to: number) => Math.max(0, Math.round((to - from) / seconds));
    return { rows_per_second: rate(first.rows, rows), bytes_per_second: rate(first.bytes, bytes) };
  };
}
