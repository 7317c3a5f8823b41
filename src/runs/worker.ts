import { once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { MessageChannel } from 'node:worker_threads';
import type { Database } from '../db/database';
import type { PoolUse } from '../db/pool-use';
import { jobAlreadyRunning, jobAlreadyWaiting } from '../shared/errors';
import type { EtlThread } from './etl-thread';
import type { FeedPlan, PlanPage } from './plan-feed';
import type { RejectsRequest } from './rejects';
import type { RunOutcome, RunReport } from './run-feed';
import { receiveFrom } from './thread-stream';
import { formatId } from '../shared/ids';
import type { Log } from '../shared/log';
import { ConcurrencyLimit, type Release } from '../shared/concurrency-limit';
import { startPeriodicTask } from '../shared/periodic-task';
import { listClaimable, requestRun, withdrawRun, type Claim, type RunTarget } from './queue.repository';

/**
 * Runs and plans that wait while as many as `MAX_CONCURRENT_RUNS` are at work, which share one worker thread. Behind
 * twenty runs of a million rows, one waits for minutes: whoever comes then had better come again.
 */
export const waitingRuns = 20;

/**
 * How often a process looks for runs that wait: notifications do not come through every pooler. One of its own requests
 * wakes it.
 */
const pollMilliseconds = 250;
/** The same after a failure. */
const failurePauseMilliseconds = 2_000;

/** A run that has ended, as far as it can be counted. */
export interface RunRecord extends RunReport {
  /** Without the wait for a slot. */
  seconds: number;
}

/** How many runs and plans there are at a time. */
export interface RunLimits {
  concurrentRuns: number;
  concurrentRunsOfPartner: number;
}

/** Runs and plans jobs in this process. */
export interface RunWorker {
  /**
   * Requests a run of a job, and runs it as soon as there is a slot for it, ahead of the queue.
   * @param untilTaken - settles when the job does not wait any more, or the signal is aborted
   * @returns how it ended; `not_claimed` when another process has taken it, or it was cancelled before it began
   * @throws job_already_running, job_already_waiting, unavailable
   */
  run(target: RunTarget, untilTaken: (signal: AbortSignal) => Promise<void>): Promise<RunOutcome>;
  /** Says what a run would do now. @throws FeedFailure; unavailable */
  plan(target: RunTarget, page: PlanPage): Promise<FeedPlan>;
  /** Opens the rejects of a run. @throws FeedFailure; unavailable */
  rejects(request: RejectsRequest): Promise<Readable>;
  /** Looks for runs that wait, at once. */
  wake(): void;
  /** Runs and plans in progress, those that wait here for a slot, and the connections of the thread. */
  use(): { working: number; waiting: number; pool: PoolUse };
  /** Claims no more runs. Can be called again. @returns when those in progress have ended, or the time is up */
  stopClaiming(milliseconds: number): Promise<void>;
}

/**
 * Starts the slots in which jobs are run and planned. Requests that wait for a run or a plan share them with the queue,
 * partner by partner; beyond some that wait, they are refused. One slot is never given to a large feed, unless it is the
 * only one, so that small feeds do not wait for large ones.
 * @param queue - from where waiting runs are claimed; absent: this process runs what its own requests wait for
 * @param observe - gets each run that has ended
 */
export function startRunWorker({
  thread,
  db,
  queue,
  log,
  limits: { concurrentRuns, concurrentRunsOfPartner },
  observe = () => undefined,
}: {
  thread: EtlThread;
  db: Database;
  queue?: Database;
  log: Log;
  limits: RunLimits;
  observe?: (run: RunRecord) => void;
}): RunWorker {
  const largeMax = Math.max(1, concurrentRuns - 1);
  const shared = {
    maxPerHolder: concurrentRunsOfPartner,
    maxWaiting: waitingRuns + concurrentRuns,
    what: 'runs and plans',
  };
  const slots = new ConcurrencyLimit({ ...shared, capacity: concurrentRuns });
  const slotsForLarge = new ConcurrencyLimit({ ...shared, capacity: largeMax });
  const here = new Map<number, 'waiting' | 'running'>();

  async function takeSlot(holder: string, isLarge: boolean, signal?: AbortSignal): Promise<Release> {
    const releaseLarge = isLarge ? await slotsForLarge.acquire({ holder, signal }) : () => undefined;
    try {
      const release = await slots.acquire({ holder, signal });
      return () => {
        release();
        releaseLarge();
      };
    } catch (error) {
      releaseLarge();
      throw error;
    }
  }

  async function observedRun(claim: Claim): Promise<RunOutcome> {
    const startedAt = performance.now();
    const report = await thread.run(claim);
    observe({ ...report, seconds: (performance.now() - startedAt) / 1000 });
    return report.outcome;
  }

  /** Requests the run, and waits for a slot. @returns whether there is one before the job is taken */
  async function requestWithSlot(
    target: RunTarget,
    slot: Promise<Release>,
    untilTaken: () => Promise<void>,
  ): Promise<boolean> {
    // Where there is no room, nothing is requested.
    const isFree = await Promise.race([slot, setImmediate(undefined)]);
    const request = await requestRun(db, target, 1);
    if (!request) throw jobAlreadyRunning(formatId('JV', target.jobId));
    try {
      return (isFree ?? (await Promise.race([slot, untilTaken()]))) !== undefined;
    } catch (refusal) {
      if (!request.waited) await withdrawRun(db, target);
      throw refusal;
    }
  }

  /** Each claims queued runs one after the other; the first only those of small feeds. */
  const claimers = Array.from({ length: concurrentRuns }, (_, at) => ({
    holder: `queue ${at}`,
    takesLarge: at >= concurrentRuns - largeMax,
    isBusy: false,
  }));
  const stopping = new AbortController();
  const claiming = new Set<Promise<void>>();

  async function claimRuns({ holder, takesLarge }: (typeof claimers)[number]): Promise<void> {
    let outcome: RunOutcome;
    do {
      const release = await takeSlot(holder, takesLarge, stopping.signal);
      try {
        outcome = await observedRun({ next: takesLarge ? 'of any size' : 'of a small feed' });
      } finally {
        release();
      }
    } while (!stopping.signal.aborted && (outcome === 'completed' || outcome === 'failed'));
  }

  function employ(claimer: (typeof claimers)[number]): void {
    claimer.isBusy = true;
    const done = claimRuns(claimer)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'failed to run what waits in the queue');
      })
      .finally(() => {
        claimer.isBusy = false;
        claiming.delete(done);
      });
    claiming.add(done);
  }

  const looking =
    queue &&
    startPeriodicTask({
      milliseconds: pollMilliseconds,
      millisecondsAfterFailure: failurePauseMilliseconds,
      onError: (error) => log.warn({ err: error }, 'failed to look for runs that wait'),
      async run() {
        const free = claimers.filter(({ isBusy }) => !isBusy);
        if (free.length === 0) return;
        const next = free.some(({ takesLarge }) => takesLarge) ? 'of any size' : 'of a small feed';
        for (const { jobId, isLarge } of await listClaimable(queue, next, concurrentRuns + here.size)) {
          // It has a slot, or waits for one.
          if (here.has(jobId)) continue;
          const claimer = claimers.find(({ isBusy, takesLarge }) => !isBusy && (takesLarge || !isLarge));
          if (claimer) employ(claimer);
        }
      },
    });

  return {
    async run(target, untilTaken) {
      const { jobId, isLarge } = target;
      const id = formatId('JV', jobId);
      const state = here.get(jobId);
      if (state) throw state === 'waiting' ? jobAlreadyWaiting(id) : jobAlreadyRunning(id);
      here.set(jobId, 'waiting');
      const leaving = new AbortController();
      const slot = takeSlot(holderOf(target), isLarge, leaving.signal);
      try {
        if (!(await requestWithSlot(target, slot, () => untilTaken(leaving.signal)))) return 'not_claimed';
        here.set(jobId, 'running');
        return await observedRun({ jobId });
      } finally {
        here.delete(jobId);
        leaving.abort();
        slot.then(
          (release) => release(),
          () => undefined,
        );
      }
    },

    async plan(target, page) {
      const release = await takeSlot(holderOf(target), target.isLarge);
      try {
        return await thread.plan(target.jobId, page);
      } finally {
        release();
      }
    },

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

    wake: () => looking?.wake(),

    use() {
      const { active, waiting } = slots.use();
      return { working: active, waiting: waiting + slotsForLarge.use().waiting, pool: thread.poolUse() };
    },

    async stopClaiming(milliseconds) {
      stopping.abort();
      const end = async () => {
        await looking?.stop();
        await Promise.all(claiming);
      };
      await Promise.race([end(), sleep(milliseconds, undefined, { ref: false })]);
    },
  };
}

/** Runs and plans of one partner share the slots that it may have. */
const holderOf = ({ partnerId }: RunTarget) => `partner ${partnerId}`;
