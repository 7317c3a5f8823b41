import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { limits } from '../config';
import type { Database } from '../db/database';
import { failInterruptedRuns } from '../jobs/jobs.repository';
import { unavailable } from '../errors';
import type { FeedRunner } from '../jobs/jobs.service';
import type { Log } from '../log';
import type { RunOutcome } from './run-feed';
import type { PlanOutcome, WorkerSettings } from './worker';

/** Runs and plans jobs beside the main thread, up to `limits.concurrentRuns` at a time; more of them wait. */
export interface Runner extends FeedRunner {
  /** Ends the thread, runs that go on included: their transactions are undone. */
  stop(): Promise<void>;
}

/**
 * Parsing and transforming rows keeps a core busy, so they have a thread of their own; it starts with the first run and
 * ends when it has been idle. Runs share it and take turns chunk by chunk: memory does not grow with their number.
 */
export function startRunner(settings: WorkerSettings, db: Database, log: Log): Runner {
  const threads = new Piscina({
    filename: join(__dirname, 'worker.js'),
    workerData: settings,
    minThreads: 0,
    maxThreads: 1,
    concurrentTasksPerWorker: limits.concurrentRuns,
    idleTimeout: limits.etlThreadIdleMilliseconds,
    resourceLimits: {
      maxYoungGenerationSizeMb: limits.etlYoungGenerationMegabytes,
      maxOldGenerationSizeMb: limits.etlOldGenerationMegabytes,
    },
  });
  let stopping = false;
  const atWork = new Set<number>();

  async function runInThread(jobId: number): Promise<RunOutcome> {
    try {
      return (await threads.run(jobId, { name: 'run' })) as RunOutcome;
    } catch (error) {
      if (stopping) return 'unavailable';
      log.error({ err: error, job_id: jobId }, 'ETL thread failed');
      return failDeadRun(db, jobId);
    }
  }

  return {
    async run(jobId) {
      // Told at once: behind other runs in the queue, the job might have ended when its turn comes.
      if (atWork.has(jobId)) return 'already_running';
      atWork.add(jobId);
      try {
        return await runInThread(jobId);
      } finally {
        atWork.delete(jobId);
      }
    },
    async plan(jobId, page) {
      try {
        const outcome = (await threads.run({ jobId, page }, { name: 'plan' })) as PlanOutcome;
        if (!outcome.plan) throw unavailable(outcome.unavailable);
        return outcome.plan;
      } catch (error) {
        if (stopping) throw unavailable(error);
        throw error;
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
  for (
    const deadline = Date.now() + limits.deadRunWaitMilliseconds;
    Date.now() < deadline;
    await sleep(100)
  ) {
    if ((await failInterruptedRuns(db)).includes(jobId)) return 'failed';
  }
  return 'unavailable';
}
