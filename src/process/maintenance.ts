import type { Database } from '../db/database';
import { deleteExpiredAnswers } from '../idempotency/idempotency.repository';
import type { Log } from '../shared/log';
import type { OrphanedRun } from '../runs/orphaned-runs.repository';
import { recoverRuns } from '../runs/recovery';
import { formatId } from '../shared/ids';
import { startPeriodicTask } from '../shared/periodic-task';
import { takeOverFromLastRelease } from './last-release';

/**
 * Returns a task that recovers orphaned runs. A run without attempts fails when it is found for the second time: shortly after
 * the death of a thread, its process may be about to repeat the run.
 */
function recovery(): (db: Database, log: Log) => Promise<void> {
  let foundBefore: ReadonlySet<string> | undefined;
  return async (db, log) => {
    const found = new Set<string>();
    const mayFail = ({ job_id, run_count }: OrphanedRun) => {
      found.add(`${job_id}/${run_count}`);
      // At the start, this process has no thread.
      return foundBefore?.has(`${job_id}/${run_count}`) ?? true;
    };
    const { failed, requeued } = await recoverRuns(db, mayFail, (error, { job_id }) =>
      log.warn({ err: error, job_id: publicId(job_id) }, 'failed to recover an interrupted run'),
    );
    foundBefore = found;
    if (failed.length > 0) log.warn({ job_ids: failed.map(publicId) }, 'interrupted runs marked as failed');
    if (requeued.length > 0) log.warn({ job_ids: requeued.map(publicId) }, 'interrupted runs requeued');
  };
}

const publicId = (jobId: number) => formatId('JV', jobId);

/** The periodic tasks of each process. */
const tasks: { what: string; milliseconds: number; run: (db: Database, log: Log) => Promise<unknown> }[] = [
  { what: 'take over from the last release', milliseconds: 5_000, run: takeOverFromLastRelease },
  { what: 'recover orphaned runs', milliseconds: 1_000, run: recovery() },
  { what: 'delete expired responses of idempotent requests', milliseconds: 5_000, run: deleteExpiredAnswers },
];

/** Runs all tasks once, then each periodically. @returns stops them */
export async function startMaintenanceTasks(db: Database, log: Log): Promise<() => Promise<unknown>> {
  const onError = (what: string) => (error: unknown) => log.warn({ err: error }, `failed to ${what}`);
  for (const { what, run } of tasks) await run(db, log).catch(onError(what));
  const started = tasks.map(({ what, milliseconds, run }) =>
    startPeriodicTask({
      milliseconds,
      startsAtOnce: false,
      run: () => run(db, log),
      onError: onError(what),
    }),
  );
  return () => Promise.all(started.map((task) => task.stop()));
}
