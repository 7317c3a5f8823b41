import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { SharedPoolUse, type PoolUse } from '../../base/db/pool-use';
import { unavailable } from '../../base/errors';
import type { RunNumber } from '../jobs/job-runs.repository';
import { formatId } from '../../base/ids';
import type { Log } from '../../base/log';
import { reserveJob, type Claim } from '../queue/claims.repository';
import { failReservedRun } from '../queue/recovery';
import { ConcurrencyLimit } from '../../base/concurrency/concurrency-limit';
import { FeedFailure, failedCounters } from '../etl/run-result';
import type { ListedChanges } from '../etl/load';
import type { FeedPlan, PlanTarget } from './plan-feed';
import { type RejectsRequest, concurrentRejectsMax } from './rejects';
import type { RunReport } from './run-feed';
import type { PlanTask, TaskOutcome, RunTask, WorkerSettings } from './etl-worker';

/** Idle timeout of the thread; its end frees its memory. */
const idleMilliseconds = 60_000;

/**
 * Heap limits of a thread; larger ones save no time. Rows are short-lived, and longer-lived data are bounded for each task
 * (see `RowIssueLog`, `TextBatch`, `RecordExtractor`).
 */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 };

const outOfMemory = 'The run ran out of memory. Split the feed into smaller files.';

/** Worker thread that reads feeds; it starts with the first task, and terminates when idle. */
export interface EtlThread {
  /** Runs a job. If the thread crashes, its runs and plans are repeated one by one, each in its own thread. */
  run(claim: Claim): Promise<RunReport>;
  /** @throws FeedFailure; unavailable */
  plan(target: PlanTarget, page: ListedChanges): Promise<FeedPlan>;
  /** Sends the rejects of a run through `port`. @throws FeedFailure; unavailable, also when the thread crashes */
  sendRejects(request: RejectsRequest, port: MessagePort): Promise<void>;
  /** Returns the use of the thread's connection pool. */
  poolUse(): PoolUse;
  /** Terminates the thread; PostgreSQL rolls back the transactions of its runs. */
  stop(): Promise<void>;
}

/** Prepares the thread, which all tasks share: they alternate chunk by chunk. */
export function openEtlThread(settings: Omit<WorkerSettings, 'poolUse'>, db: Database, log: Log): EtlThread {
  const poolUse = new SharedPoolUse();
  const shared = openThread(
    { ...settings, poolUse: poolUse.memory },
    {
      concurrentTasksPerWorker: settings.concurrentRuns + concurrentRejectsMax,
      idleTimeout: idleMilliseconds,
    },
  );
  // The thread's connections end with it.
  shared.on('workerDestroy', () => poolUse.note({ used: 0, free: 0, waiting: 0 }));
  const isolated = openThread({ ...settings, concurrentRuns: 1, poolUse: new SharedPoolUse().memory });
  const repeats = new ConcurrencyLimit({
    capacity: 1,
    maxWaiting: Infinity,
    what: 'repeated runs and plans',
  });
  const acquireRepeat = () => repeats.acquire({ holder: 'all' });
  let stopping = false;

  /** Repeats a run whose thread crashed. The reservation prevents other processes from recovering or starting it. */
  function repeatRun(crashed: RunNumber): Promise<RunReport> {
    const { jobId } = crashed;
    return inTransaction(db, 'upload', async (trx) => {
      await reserveJob(trx, jobId);
      const release = await acquireRepeat();
      let loadReason: string | undefined;
      try {
        const { task } = newRunTask({ ...crashed, isReserved: true });
        const report = (await isolated.run(task, { name: 'run' })) as RunReport;
        if (report.outcome !== 'not_claimed') return report;
      } catch (error) {
        if (stopping) return { outcome: 'unavailable' };
        log.error({ err: error, job_id: formatId('JV', jobId) }, 'ETL thread crashed in a run');
        if (isOutOfMemory(error)) loadReason = outOfMemory;
      } finally {
        release();
      }
      // It was cancelled, or its thread crashed.
      const isFailed = await failReservedRun(trx, jobId, loadReason);
      return isFailed ? { outcome: 'failed', counters: failedCounters(0) } : { outcome: 'not_claimed' };
    });
  }

  /** Leaves the run to the recovery of orphaned runs: PostgreSQL is down. */
  function leaveOrphaned(error: unknown): RunReport {
    log.error({ err: error }, 'failed to repeat run');
    return { outcome: 'unavailable' };
  }

  /** Repeats a plan whose thread crashed. @throws unavailable */
  async function repeatPlan(task: PlanTask): Promise<TaskOutcome<FeedPlan>> {
    const release = await acquireRepeat();
    try {
      return (await isolated.run(task, { name: 'plan' })) as TaskOutcome<FeedPlan>;
    } catch (error) {
      if (stopping || !isOutOfMemory(error)) throw unavailable(error);
      log.error({ err: error, job_id: formatId('JV', task.target.jobId) }, 'ETL thread crashed in a plan');
      const counters = failedCounters(0);
      return {
        value: { failureReason: outOfMemory, counters, issueCounts: [], changes: [] },
      };
    } finally {
      release();
    }
  }

  return {
    async run(claim) {
      const { task, claimedRun } = newRunTask(claim);
      try {
        return (await shared.run(task, { name: 'run' })) as RunReport;
      } catch (error) {
        if (stopping) return { outcome: 'unavailable' };
        const crashed = claimedRun();
        if (!crashed) {
          log.error({ err: error }, 'ETL thread crashed before a run was claimed');
          return { outcome: 'not_claimed' };
        }
        log.error(
          { err: error, job_id: formatId('JV', crashed.jobId) },
          'ETL thread crashed, repeating its run',
        );
        return repeatRun(crashed).catch(leaveOrphaned);
      }
    },

    async plan(target, page) {
      const task = { target, page };
      const planned = shared.run(task, { name: 'plan' }).catch((error: unknown) => {
        if (stopping) throw unavailable(error);
        log.error(
          { err: error, job_id: formatId('JV', target.jobId) },
          'ETL thread crashed, repeating its plan',
        );
        return repeatPlan(task);
      });
      return valueOf((await planned) as TaskOutcome<FeedPlan>);
    },

    async sendRejects(request, port) {
      const task = { request, port };
      const sent = shared.run(task, { name: 'rejects', transferList: [port] }) as Promise<TaskOutcome<void>>;
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

/** Prepares a thread, which starts with its first task. By default it terminates after one task. */
function openThread(
  workerData: WorkerSettings,
  options: { concurrentTasksPerWorker?: number; idleTimeout?: number } = {},
): Piscina {
  return new Piscina({
    filename: join(__dirname, 'etl-worker.js'),
    workerData,
    // Waiting for tasks must not block the event loop: a task may still have files to close.
    atomics: 'disabled',
    minThreads: 0,
    maxThreads: 1,
    resourceLimits,
    ...options,
  });
}

/** Creates a task that runs a job. Its claimed run is in shared memory, which survives a crash of the thread. */
function newRunTask(claim: Claim): { task: RunTask; claimedRun: () => RunNumber | undefined } {
  const claimed = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
  const claimedRun = () => (claimed[0] ? { jobId: claimed[0], run: claimed[1]! } : undefined);
  return { task: { claim, claimed }, claimedRun };
}

const isOutOfMemory = (error: unknown) =>
  (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';

/** @throws FeedFailure; unavailable; Error for an internal error */
function valueOf<T>(outcome: TaskOutcome<T>): T {
  if (!outcome.failure) return outcome.value;
  const { kind, reason } = outcome.failure;
  if (kind === 'unavailable') throw unavailable(reason);
  throw kind === 'feed' ? new FeedFailure(reason) : new Error(reason);
}
