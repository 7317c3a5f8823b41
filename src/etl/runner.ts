import { join } from 'node:path';
import { Piscina } from 'piscina';
import { limits } from '../config';
import type { Database } from '../db/database';
import { failInterruptedRuns } from '../jobs/jobs.repository';
import type { RunJob } from '../jobs/jobs.service';
import type { Log } from '../log';
import type { RunOutcome } from './run-feed';
import type { WorkerSettings } from './worker';

/** Runs jobs beside the main thread. */
export interface Runner {
  /** Up to `limits.concurrentRuns` at a time; more of them wait. */
  run: RunJob;
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
  return {
    async run(jobId) {
      try {
        return (await threads.run(jobId)) as RunOutcome;
      } catch (error) {
        if (stopping) return 'unavailable';
        // The thread has died; what it was doing is undone by now, or as soon as the server notices.
        log.error({ err: error, job_id: jobId }, 'ETL thread failed');
        await failInterruptedRuns(db);
        return 'failed';
      }
    },
    async stop() {
      stopping = true;
      await threads.destroy();
    },
  };
}
