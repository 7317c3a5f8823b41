import { setTimeout as sleep } from 'node:timers/promises';
import { runTaskList, type Task } from 'graphile-worker';
import type { Database, DatabaseAddress } from '../db/database';
import { waitsInQueue } from '../jobs/jobs.repository';
import type { FeedRunner } from '../jobs/jobs.service';
import { limits } from '../limits';
import type { Log } from '../log';
import { keepWorking, openQueuePool, queueLogger, queueOptions } from './queue';
import { keepTaken, type RunPayload, type RunTask } from './queued-runs';

/** Works on queued runs. */
export interface RunWorker {
  /**
   * Takes no more of them. Can be called again.
   * @returns when those that go on have ended, or have had `shutdownSeconds` from the first call on
   */
  stop(): Promise<void>;
}

/**
 * Takes runs out of the queue and has the runner do them, `concurrentRuns` at a time. One of these places is not for large
 * feeds, unless there is no other. A run that could not be recorded is tried again, later each time; so is one whose
 * process dies, see `failInterruptedRuns`.
 */
export function startRunWorker(
  address: DatabaseAddress,
  {
    db,
    runner,
    log,
    concurrentRuns,
    shutdownSeconds,
  }: {
    db: Database;
    runner: Pick<FeedRunner, 'runQueued'>;
    log: Log;
    concurrentRuns: number;
    shutdownSeconds: number;
  },
): RunWorker {
  const run: Task = async (payload, { job: queueJob }) => {
    const { job_id: jobId } = payload as RunPayload;
    const stopSaying = sayNowAndThen(() => keepTaken(db, queueJob), log);
    try {
      // Somebody may have run it without the queue since.
      while (await waitsInQueue(db, jobId)) {
        const outcome = await runner.runQueued(jobId);
        if (outcome === 'unavailable') throw new Error(`The run of job ${jobId} could not be recorded.`);
        // Whoever looks whether a job has been left holds it for a moment too.
        if (outcome === 'already_running') await sleep(limits.heldRunMilliseconds);
      }
    } finally {
      stopSaying();
    }
  };
  const small = { run_feed: run } satisfies Partial<Record<RunTask, Task>>;
  const all = { run_feed: run, run_large_feed: run } satisfies Record<RunTask, Task>;

  const pgPool = openQueuePool(address, concurrentRuns + limits.queueConnections, log);
  const options = {
    ...queueOptions,
    concurrency: 1,
    pollInterval: limits.queuePollMilliseconds,
    noHandleSignals: true,
    logger: queueLogger(log),
  };
  // Each place by itself: the queue knows who works on a run no more precisely, and a dead one is freed by that.
  const places = Array.from({ length: concurrentRuns }, (_, at) =>
    keepWorking(() => runTaskList(options, at === 0 && concurrentRuns > 1 ? small : all, pgPool), log),
  );

  const end = async () => {
    await Promise.all(places.map((place) => place.stop()));
    await pgPool.end();
  };
  let stopped: Promise<void> | undefined;
  return {
    // What goes on for longer is undone with its process, and tried again elsewhere.
    stop: () => (stopped ??= Promise.race([end(), sleep(shutdownSeconds * 1000, undefined, { ref: false })])),
  };
}

/** Says that a run is still somebody's, also while it waits for its turn. @returns ends that */
function sayNowAndThen(say: () => Promise<void>, log: Log): () => void {
  const timer = setInterval(() => {
    say().catch((error: unknown) =>
      log.warn({ err: error }, 'the queue could not be told that a run goes on'),
    );
  }, limits.queuedRunSignMilliseconds).unref();
  return () => clearInterval(timer);
}
