import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { SharedPoolUse, type PoolUse } from '../db/pool-use';
import { unavailable } from '../shared/errors';
import type { Log } from '../shared/log';
import { reserveJob, type Claim } from './queue.repository';
import { failReservedRun } from './recovery';
import { ConcurrencyLimit } from '../shared/concurrency-limit';
import { FeedFailure, failedCounters } from '../etl/run-result';
import type { FeedPlan, PlanPage } from './plan-feed';
import { type RejectsRequest, concurrentRejectsMax } from './rejects';
import type { RunReport } from './run-feed';
import type { Outcome, RunTask, WorkerSettings } from './etl-worker';

/** The thread terminates, and returns its memory, when it was idle for this long. */
const idleMilliseconds = 60_000;

/**
 * Limits of the heap of a thread. Rows die young, and most are never made into texts. What lives longer is bounded for each
 * task (see `RowIssueLog`, `TextBatch`, `RecordExtractor`). More of either costs memory and saves no time.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 };

const outOfMemory = 'The run ran out of memory. Split the feed into smaller files.';
const interrupted = 'The run was interrupted. Run the job again.';

/** The worker thread that reads feeds; it starts with the first task and terminates when idle. */
export interface EtlThread {
  /** Runs one job. When the thread dies, its runs and plans are repeated one at a time, each in a thread of its own. */
  run(claim: Claim): Promise<RunReport>;
  /** @throws FeedFailure; unavailable */
  plan(jobId: number, page: PlanPage): Promise<FeedPlan>;
  /** Sends the rejects of a run through `port`. @throws FeedFailure; unavailable, also when the thread dies */
  sendRejects(request: RejectsRequest, port: MessagePort): Promise<void>;
  /** The connections of the thread. */
  poolUse(): PoolUse;
  /** Terminates the thread; PostgreSQL rolls back the transactions of its runs. */
  stop(): Promise<void>;
}

/** Prepares the thread; tasks share it and alternate chunk by chunk, so that memory does not grow with their number. */
export function openEtlThread(settings: Omit<WorkerSettings, 'poolUse'>, db: Database, log: Log): EtlThread {
  const poolUse = new SharedPoolUse();
  const shared = openThread(
    { ...settings, poolUse: poolUse.memory },
    {
      concurrentTasksPerWorker: settings.concurrentRuns + concurrentRejectsMax,
      idleTimeout: idleMilliseconds,
    },
  );
  // The connections of the thread end with it.
  shared.on('workerDestroy', () => poolUse.note({ used: 0, free: 0, waiting: 0 }));
  const isolated = openThread({ ...settings, concurrentRuns: 1, poolUse: new SharedPoolUse().memory });
  const turns = new ConcurrencyLimit({ capacity: 1, maxWaiting: Infinity, what: 'repeated runs and plans' });
  const takeTurn = () => turns.acquire({ holder: 'all' });
  let stopping = false;

  /**
   * Repeats a run whose thread has died, once PostgreSQL has rolled that back. The job is reserved for as long: nobody else
   * recovers the run, or begins it.
   */
  function repeatRun(jobId: number): Promise<RunReport> {
    return inTransaction(db, 'upload', async (trx) => {
      await reserveJob(trx, jobId);
      const release = await takeTurn();
      let reason = interrupted;
      try {
        const { task } = newRunTask({ jobId, isReserved: true });
        const report = (await isolated.run(task, { name: 'run' })) as RunReport;
        if (report.outcome !== 'not_claimed') return report;
      } catch (error) {
        if (stopping) return { outcome: 'unavailable' };
        log.error({ err: error, job_id: jobId }, 'ETL thread died of a run');
        if (isOutOfMemory(error)) reason = outOfMemory;
      } finally {
        release();
      }
      // It was to be cancelled, or its thread has died.
      const isFailed = await failReservedRun(trx, jobId, reason);
      return isFailed ? { outcome: 'failed', counters: failedCounters(0) } : { outcome: 'not_claimed' };
    });
  }

  /** PostgreSQL is gone: the run is recovered like one whose process has died. */
  function notRepeated(error: unknown): RunReport {
    log.error({ err: error }, 'run could not be repeated');
    return { outcome: 'unavailable' };
  }

  /** Repeats a plan whose thread has died. @throws unavailable */
  async function repeatPlan(task: { jobId: number; page: PlanPage }): Promise<Outcome<FeedPlan>> {
    const release = await takeTurn();
    try {
      return (await isolated.run(task, { name: 'plan' })) as Outcome<FeedPlan>;
    } catch (error) {
      if (stopping || !isOutOfMemory(error)) throw unavailable(error);
      log.error({ err: error, job_id: task.jobId }, 'ETL thread died of a plan');
      const counters = failedCounters(0);
      return {
        value: { failureReason: outOfMemory, counters, issueCounts: [], changes: [], hasMore: false },
      };
    } finally {
      release();
    }
  }

  return {
    async run(claim) {
      const { task, claimedJob } = newRunTask(claim);
      try {
        return (await shared.run(task, { name: 'run' })) as RunReport;
      } catch (error) {
        if (stopping) return { outcome: 'unavailable' };
        const jobId = claimedJob();
        log.error({ err: error, job_id: jobId }, 'ETL thread died; its run is repeated in another one');
        return jobId === undefined ? { outcome: 'not_claimed' } : repeatRun(jobId).catch(notRepeated);
      }
    },

    async plan(jobId, page) {
      const task = { jobId, page };
      const planned = shared.run(task, { name: 'plan' }).catch((error: unknown) => {
        if (stopping) throw unavailable(error);
        log.error({ err: error, job_id: jobId }, 'ETL thread died; its plan is repeated in another one');
        return repeatPlan(task);
      });
      return valueOf((await planned) as Outcome<FeedPlan>);
    },

    async sendRejects(request, port) {
      const task = { request, port };
      const sent = shared.run(task, { name: 'rejects', transferList: [port] }) as Promise<Outcome<void>>;
      return valueOf(
        await sent.catch((error: unknown) => {
          throw unavailable(error);
        }),
      );
    },

    poolUse: () => poolUse.get(),

    async stop() {
      stopping = true;
      await Promise.all([shared.destroy(), isolated.destroy()]);
    },
  };
}

/** Prepares a thread that starts with its first task. By default it has one task at a time, and terminates after it. */
function openThread(
  workerData: WorkerSettings,
  options: { concurrentTasksPerWorker?: number; idleTimeout?: number } = {},
): Piscina {
  return new Piscina({
    filename: join(__dirname, 'etl-worker.js'),
    workerData,
    // Waiting for work must not block the thread: what a task leaves behind, a file to close say, is still to be done.
    atomics: 'disabled',
    minThreads: 0,
    maxThreads: 1,
    resourceLimits,
    ...options,
  });
}

/** A task that runs a job, and which job that is once the thread has claimed it: known also when the thread has died. */
function newRunTask(claim: Claim): { task: RunTask; claimedJob: () => number | undefined } {
  const claimed = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  return { task: { claim, claimed }, claimedJob: () => claimed[0] || undefined };
}

const isOutOfMemory = (error: unknown) =>
  (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';

/** @throws FeedFailure; unavailable; Error where the task had a fault of ours */
function valueOf<T>(outcome: Outcome<T>): T {
  if (!outcome.failure) return outcome.value;
  const { kind, reason } = outcome.failure;
  if (kind === 'unavailable') throw unavailable(reason);
  throw kind === 'feed' ? new FeedFailure(reason) : new Error(reason);
}
