import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import pLimit from 'p-limit';
import { Piscina } from 'piscina';
import { limits } from '../config';
import type { Database } from '../db/database';
import { unavailable } from '../errors';
import { failInterruptedRuns } from '../jobs/jobs.repository';
import type { FeedRunner } from '../jobs/jobs.service';
import type { Log } from '../log';
import { FeedFailure } from './feed-failure';
import type { FeedPlan } from './plan-feed';
import type { RunOutcome } from './run-feed';
import { receiveFrom } from './thread-stream';
import type { Outcome, WorkerSettings } from './worker';

/** Works on feeds beside the main thread. */
export interface Runner extends FeedRunner {
  /** Ends the thread, runs that go on included: their transactions are undone. */
  stop(): Promise<void>;
}

/**
 * Parsing and transforming rows keeps a core busy, so they have a thread of their own; it starts with the first task and
 * ends when it has been idle. Tasks share it and take turns chunk by chunk: memory does not grow with their number. A
 * client that reads its rejects slowly holds up other downloads, and no run.
 */
export function startRunner(settings: WorkerSettings, db: Database, log: Log): Runner {
  const threads = new Piscina({
    filename: join(__dirname, 'worker.js'),
    workerData: settings,
    // Waiting for work must not block the thread: what a task leaves behind, a file to close say, is still to be done.
    atomics: 'disabled',
    minThreads: 0,
    maxThreads: 1,
    concurrentTasksPerWorker: limits.concurrentRuns + limits.concurrentRejects,
    idleTimeout: limits.etlThreadIdleMilliseconds,
    resourceLimits: {
      maxYoungGenerationSizeMb: limits.etlYoungGenerationMegabytes,
      maxOldGenerationSizeMb: limits.etlOldGenerationMegabytes,
    },
  });
  const runs = pLimit(limits.concurrentRuns);
  const downloads = pLimit(limits.concurrentRejects);
  const atWork = new Set<number>();
  let stopping = false;

  async function runInThread(jobId: number): Promise<RunOutcome> {
    try {
      return (await threads.run(jobId, { name: 'run' })) as RunOutcome;
    } catch (error) {
      if (stopping) return 'unavailable';
      log.error({ err: error, job_id: jobId }, 'ETL thread failed');
      return failDeadRun(db, jobId);
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
    async run(jobId) {
      // Told at once: behind other runs in the queue, the job might have ended when its turn comes.
      if (atWork.has(jobId)) return 'already_running';
      atWork.add(jobId);
      try {
        return await runs(() => runInThread(jobId));
      } finally {
        atWork.delete(jobId);
      }
    },

    plan: (jobId, page) =>
      runs(() => inThread<FeedPlan>(() => threads.run({ jobId, page }, { name: 'plan' }))),

    async rejects(request) {
      const { port1, port2 } = new MessageChannel();
      const stream = receiveFrom(port1);
      // The thread holds its slot until everything is sent, or nobody wants more.
      const sent = downloads(() =>
        inThread<undefined>(() =>
          threads.run({ request, port: port2 }, { name: 'rejects', transferList: [port2] }),
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

    async stop() {
      stopping = true;
      await threads.destroy();
    },
  };
}

/** The thread has died amid a run: says so in the job as soon as the server has noticed, and undone what it did. */
async function failDeadRun(db: Database, jobId: number): Promise<RunOutcome> {
  const deadline = Date.now() + limits.deadRunWaitMilliseconds;
  while (Date.now() < deadline) {
    if ((await failInterruptedRuns(db)).includes(jobId)) return 'failed';
    await sleep(100);
  }
  return 'unavailable';
}
