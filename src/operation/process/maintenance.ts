import type { Database } from '../../base/db/database';
import { analyzeGrownTables } from '../database/grown-tables';
import { deleteExpiredAnswers } from '../../http/idempotency/idempotency.repository';
import type { Log } from '../../base/log';
import type { PendingRun } from '../../runs/queue/pending-runs.repository';
import { recoverRuns } from '../../runs/queue/recovery';
import { formatId } from '../../base/ids';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import { takeOverFromLastRelease } from './last-release';

/**
 * Returns a task that recovers orphaned runs. A run without attempts fails when it is found for the second time: shortly after
 * the death of a thread, its process may be about to repeat the run.
 */
function recovery(): (db: Database, log: Log) => Promise<void> {
  let foundBefore: ReadonlySet<string> | undefined;
  return async (db, log) => {
    const found = new Set<string>();
    const mayFail = ({ jobId, run }: PendingRun) => {
      found.add(`${jobId}/${run}`);
      // At the start, this process has no thread.
      return foundBefore?.has(`${jobId}/${run}`) ?? true;
    };
    const { failed, requeued } = await recoverRuns(db, mayFail, (error, { jobId }) =>
      log.warn({ err: error, job_id: publicId(jobId) }, 'failed to recover an interrupted run'),
    );
    foundBefore = found;
    if (failed.length > 0) log.warn({ job_ids: failed.map(publicId) }, 'interrupted runs marked as failed');
    if (requeued.length > 0) log.warn({ job_ids: requeued.map(publicId) }, 'interrupted runs requeued');
  };
}

const publicId = (jobId: number) => formatId('JV', jobId);

interface MaintenanceTask {
  what: string;
  milliseconds: number;
  run: (db: Database, log: Log) => Promise<unknown>;
  /** Whether the start waits for its first run. */
  isAwaited: boolean;
}

/** The periodic tasks of each process. */
const tasks: MaintenanceTask[] = [
  {
    what: 'take over from the last release',
    milliseconds: 5_000,
    run: takeOverFromLastRelease,
    isAwaited: true,
  },
  { what: 'recover orphaned runs', milliseconds: 1_000, run: recovery(), isAwaited: true },
  {
    what: 'delete expired responses of idempotent requests',
    milliseconds: 5_000,
    run: deleteExpiredAnswers,
    // After downtime there can be millions.
    isAwaited: false,
  },
  { what: 'analyze grown tables', milliseconds: 2_000, run: analyzeGrownTables, isAwaited: false },
];

/** Runs the awaited tasks once, then starts each periodically. @returns stop function */
export async function startMaintenanceTasks(db: Database, log: Log): Promise<() => Promise<unknown>> {
  const onError = (what: string) => (error: unknown) => log.warn({ err: error }, `failed to ${what}`);
  for (const { what, run, isAwaited } of tasks) {
    if (isAwaited) await run(db, log).catch(onError(what));
  }
  const started = tasks.map(({ what, milliseconds, run, isAwaited }) =>
    startPeriodicTask({
      milliseconds,
      startsAtOnce: !isAwaited,
      run: () => run(db, log),
      onError: onError(what),
    }),
  );
  return () => Promise.all(started.map((task) => task.stop()));
}
