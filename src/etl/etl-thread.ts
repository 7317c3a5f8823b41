import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { limits } from '../limits';
import type { Database } from '../db/database';
import { SharedPoolUse, type PoolUse } from '../db/pool-use';
import { unavailable } from '../errors';
import type { Log } from '../log';
import type { Claim } from '../runs/queue.repository';
import { recoverRuns } from '../runs/recovery';
import { FeedFailure } from './feed-failure';
import type { FeedPlan, PlanPage } from './plan-feed';
import type { RejectsRequest } from './rejects';
import type { RunOutcome, RunReport } from './run-feed';
import type { Outcome, WorkerSettings } from './worker';

/** The worker thread that reads feeds; it starts with the first task and ends when idle. */
export interface EtlThread {
  /** Runs one job. A run whose thread dies fails, or returns to the queue. */
  run(claim: Claim): Promise<RunReport>;
  /** @throws FeedFailure; unavailable, also when the thread dies */
  plan(jobId: number, page: PlanPage): Promise<FeedPlan>;
  /** Sends the rejects of a run through `port`. @throws as `plan` */
  sendRejects(request: RejectsRequest, port: MessagePort): Promise<void>;
  /** The connections of the thread. */
  poolUse(): PoolUse;
  /** Terminates the thread; PostgreSQL rolls back the transactions of its runs. */
  stop(): Promise<void>;
}

/** Prepares the thread; tasks share it and alternate chunk by chunk, so that memory does not grow with their number. */
export function openEtlThread(settings: Omit<WorkerSettings, 'poolUse'>, db: Database, log: Log): EtlThread {
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
  let stopping = false;

  return {
    async run(claim) {
      try {
        return (await threads.run(claim, { name: 'run' })) as RunReport;
      } catch (error) {
        if (stopping) return { outcome: 'unavailable' };
        log.error({ err: error, ...('jobId' in claim && { job_id: claim.jobId }) }, 'ETL thread failed');
        // Nobody waits for a run that was the next one: it is recovered like those of a process that has died.
        return { outcome: 'jobId' in claim ? await recoverDeadRun(db, claim.jobId) : 'unavailable' };
      }
    },

    plan: (jobId, page) => valueOf(threads.run({ jobId, page }, { name: 'plan' })),

    sendRejects: (request, port) =>
      valueOf(threads.run({ request, port }, { name: 'rejects', transferList: [port] })),

    poolUse: () => sharedPoolUse.get(),

    async stop() {
      stopping = true;
      await threads.destroy();
    },
  };
}

/** @throws FeedFailure; unavailable, also when the thread has died */
async function valueOf<T>(task: Promise<unknown>): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = (await task) as Outcome<T>;
  } catch (error) {
    throw unavailable(error);
  }
  if (!outcome.failure) return outcome.value;
  const { kind, reason } = outcome.failure;
  if (kind === 'unavailable') throw unavailable(reason);
  throw kind === 'feed' ? new FeedFailure(reason) : new Error(reason);
}

/** Marks the run of a dead thread as failed, or queued again, once PostgreSQL has rolled it back. */
async function recoverDeadRun(db: Database, jobId: number): Promise<RunOutcome> {
  const deadline = Date.now() + limits.deadRunWaitMilliseconds;
  while (Date.now() < deadline) {
    const { failed, requeued } = await recoverRuns(db, jobId);
    if (failed.length > 0) return 'failed';
    if (requeued.length > 0) return 'not_claimed';
    await sleep(100);
  }
  return 'unavailable';
}
