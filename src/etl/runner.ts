import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import pLimit, { type Limit } from 'p-limit';
import { Piscina } from 'piscina';
import { limits } from '../limits';
import type { Database } from '../db/database';
import { SharedPoolUse, type PoolUse } from '../db/pool-use';
import { unavailable } from '../errors';
import { getFeedToRun } from '../jobs/jobs.repository';
import { endInterruptedRun } from '../jobs/left-runs.repository';
import type { FeedRunner } from '../jobs/jobs.service';
import type { Log } from '../log';
import { FeedFailure } from './feed-failure';
import type { FeedPlan } from './plan-feed';
import type { RunOutcome, RunReport } from './run-feed';
import { receiveFrom } from './thread-stream';
import type { Outcome, WorkerSettings } from './worker';

/** A run that has ended, as far as it can be counted. */
export interface RunRecord extends RunReport {
  /** Without the wait for its turn. */
  seconds: number;
}

/** Works on feeds beside the main thread. */
export interface Runner extends FeedRunner {
  /** What goes on now: runs and plans at work, those that wait for their turn, and the connections of the thread. */
  use(): { working: number; waiting: number; pool: PoolUse };
  /** Ends the thread, runs that go on included: their transactions are undone. */
  stop(): Promise<void>;
}

/**
 * Parsing and transforming rows keeps a core busy, so they have a thread of their own; it starts with the first task and
 * ends when it has been idle. Tasks share it and take turns chunk by chunk: memory does not grow with their number. A
 * client that reads its rejects slowly holds up other downloads, and no run. Of both, some wait for their turn; beyond
 * that they are refused.
 * @param observe - is told of each run that has ended
 */
export function startRunner(
  settings: Omit<WorkerSettings, 'poolUse'>,
  db: Database,
  log: Log,
  observe: (run: RunRecord) => void = () => undefined,
): Runner {
  const sharedPoolUse = new SharedPoolUse();
  const threads = new Piscina({
    filename: join(__dirname, 'worker.js'),
    workerData: { ...settings, poolUse: sharedPoolUse.memory } satisfies WorkerSettings,
    // Waiting for work must not block the thread: what a task leaves behind, a file to close say, is still to be done.
    atomics: 'disabled',
    minThreads: 0,
    maxThreads: 1,
    concurrentTasksPerWorker: settings.concurrentRuns + limits.concurrentRejects,
    idleTimeout: limits.etlThreadIdleMilliseconds,
    resourceLimits: {
      maxYoungGenerationSizeMb: limits.etlYoungGenerationMegabytes,
      maxOldGenerationSizeMb: limits.etlOldGenerationMegabytes,
    },
  });
  // Its connections end with it.
  threads.on('workerDestroy', () => sharedPoolUse.note({ used: 0, free: 0, waiting: 0 }));
  const runs = boundedQueue(settings.concurrentRuns, limits.waitingRuns, 'runs and plans');
  const ofEachPartner = limitEach(settings.concurrentRunsOfPartner);
  const downloads = boundedQueue(limits.concurrentRejects, limits.waitingRejects, 'downloads of rejects');
  const atWork = new Set<number>();
  let stopping = false;

  async function runInThread(jobId: number, isQueued: boolean): Promise<RunReport> {
    try {
      return (await threads.run({ jobId, isQueued }, { name: 'run' })) as RunReport;
    } catch (error) {
      if (stopping) return { outcome: 'unavailable' };
      log.error({ err: error, job_id: jobId }, 'ETL thread failed');
      return { outcome: await failDeadRun(db, jobId) };
    }
  }

  async function observedRun(jobId: number, isQueued: boolean): Promise<RunOutcome> {
    const startedAt = performance.now();
    const report = await runInThread(jobId, isQueued);
    observe({ ...report, seconds: (performance.now() - startedAt) / 1000 });
    return report.outcome;
  }

  /** A second run of a job is told at once: behind other runs, the job might have ended when its turn comes. */
  async function oneAtATime(jobId: number, run: () => Promise<RunOutcome>): Promise<RunOutcome> {
    if (atWork.has(jobId)) return 'already_running';
    atWork.add(jobId);
    try {
      return await run();
    } finally {
      atWork.delete(jobId);
    }
  }

  /** @throws FeedFailure; unavailable, also when the thread has died */
  async function inThread<T>(work: () => Promise<unknown>): Promise<T> {
    let outcome: Outcome<T>;
    try {
      outcome = (await work()) as Outcome<T>;
    } catch (error) {
      throw unavailable(error);
    }
    if (!outcome.failure) return outcome.value;
    const { kind, reason } = outcome.failure;
    if (kind === 'unavailable') throw unavailable(reason);
    throw kind === 'feed' ? new FeedFailure(reason) : new Error(reason);
  }

  return {
    run: (jobId) =>
      oneAtATime(jobId, async () => {
        const { partnerId } = await getFeedToRun(db, jobId);
        return runs.add((whenTurn) =>
          ofEachPartner(partnerId, () => whenTurn(() => observedRun(jobId, false))),
        );
      }),

    // The queue itself lets through one run of a partner, and as many as it has places.
    runQueued: (jobId) =>
      oneAtATime(jobId, () => runs.addInAnyCase((whenTurn) => whenTurn(() => observedRun(jobId, true)))),

    plan: (jobId, page) =>
      runs.add((whenTurn) =>
        whenTurn(() => inThread<FeedPlan>(() => threads.run({ jobId, page }, { name: 'plan' }))),
      ),

    async rejects(request) {
      const { port1, port2 } = new MessageChannel();
      const stream = receiveFrom(port1);
      // The thread holds its slot until everything is sent, or nobody wants more.
      const sent = downloads.add((whenTurn) =>
        whenTurn(() =>
          inThread<undefined>(() =>
            threads.run({ request, port: port2 }, { name: 'rejects', transferList: [port2] }),
          ),
        ),
      );
      sent.catch((error: unknown) => stream.destroy(error as Error));
      const opened = new AbortController();
      const readable = once(stream, 'readable', { signal: opened.signal });
      try {
        await Promise.race([readable, sent]);
        return stream;
      } finally {
        opened.abort();
        readable.catch(() => undefined);
      }
    },

    use: () => ({ ...runs.use(), pool: sharedPoolUse.get() }),

    async stop() {
      stopping = true;
      await threads.destroy();
    },
  };
}

/** Does work when it is its turn. */
type WhenTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Works on so many tasks at a time, and lets some more wait. `add` throws unavailable when there is no room. */
function boundedQueue(atWorkMax: number, waitingMax: number, what: string) {
  const queue = pLimit(atWorkMax);
  let all = 0;
  const use = () => ({ working: queue.activeCount, waiting: all - queue.activeCount });
  async function addInAnyCase<T>(task: (whenTurn: WhenTurn) => Promise<T>): Promise<T> {
    all++;
    try {
      return await task(queue);
    } finally {
      all--;
    }
  }
  return {
    async add<T>(task: (whenTurn: WhenTurn) => Promise<T>): Promise<T> {
      if (all >= atWorkMax + waitingMax) throw unavailable(`${use().waiting} ${what} are waiting`);
      return addInAnyCase(task);
    },
    addInAnyCase,
    use,
  };
}

/** Does so many at a time of what has the same number; the others wait, in the order in which they came. */
function limitEach(max: number) {
  const queues = new Map<number, Limit>();
  return async <T>(of: number, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(of) ?? pLimit(max);
    queues.set(of, queue);
    try {
      return await queue(work);
    } finally {
      // Its own count comes a moment later.
      setImmediate(() => {
        if (queue.activeCount + queue.pendingCount === 0) queues.delete(of);
      });
    }
  };
}

/**
 * The thread has died amid a run: says so in the job as soon as the server has noticed, and undone what it did; a run that
 * came from the queue goes back there.
 */
async function failDeadRun(db: Database, jobId: number): Promise<RunOutcome> {
  const deadline = Date.now() + limits.deadRunWaitMilliseconds;
  while (Date.now() < deadline) {
    const end = await endInterruptedRun(db, jobId);
    if (end) return end === 'failed' ? 'failed' : 'unavailable';
    await sleep(100);
  }
  return 'unavailable';
}
