import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import pLimit, { type Limit } from 'p-limit';
import { limits } from '../limits';
import type { Database } from '../db/database';
import type { PoolUse } from '../db/pool-use';
import { unavailable } from '../errors';
import { getFeedToRun } from '../jobs/jobs.repository';
import type { FeedRunner } from '../jobs/jobs.service';
import type { Log } from '../log';
import { openEtlThread } from './etl-thread';
import type { RunOutcome, RunReport } from './run-feed';
import { receiveFrom } from './thread-stream';
import type { WorkerSettings } from './worker';

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
 * Parsing and transforming rows keeps a core busy, so they have a thread of their own, see `openEtlThread`. Some
 * runs and plans wait for their turn; beyond that they are refused. Downloads of rejects are limited by the application.
 * @param observe - is told of each run that has ended
 */
export function startRunner(
  settings: Omit<WorkerSettings, 'poolUse'>,
  db: Database,
  log: Log,
  observe: (run: RunRecord) => void = () => undefined,
): Runner {
  const thread = openEtlThread(settings, db, log);
  const runs = boundedQueue(settings.concurrentRuns, limits.waitingRuns, 'runs and plans');
  const ofEachPartner = limitEach(settings.concurrentRunsOfPartner);
  const atWork = new Set<number>();

  async function observedRun(jobId: number, isQueued: boolean): Promise<RunOutcome> {
    const startedAt = performance.now();
    const report = await thread.run(jobId, isQueued);
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

    plan: (jobId, page) => runs.add((whenTurn) => whenTurn(() => thread.plan(jobId, page))),

    async rejects(request) {
      const { port1, port2 } = new MessageChannel();
      const stream = receiveFrom(port1);
      const sent = thread.sendRejects(request, port2);
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

    use: () => ({ ...runs.use(), pool: thread.poolUse() }),

    stop: () => thread.stop(),
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
