import { once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { MessageChannel } from 'node:worker_threads';
import type { Database } from '../../base/db/database';
import type { PoolUse } from '../../base/db/pool-use';
import { inTransaction } from '../../base/db/transaction';
import type { RequestedRun } from '../jobs/job-runs.repository';
import { jobAlreadyRunning, jobAlreadyQueued } from '../../base/errors';
import type { EtlThread } from './etl-thread';
import type { ListedChanges } from '../etl/load';
import type { FeedPlan } from './plan-feed';
import type { RejectsRequest } from './rejects';
import type { RunOutcome, RunReport } from './run-feed';
import { receiveFrom } from './thread-stream';
import type { KeyInUse } from '../../base/caller';
import { formatId } from '../../base/ids';
import type { Log } from '../../base/log';
import { ConcurrencyLimit, type Release } from '../../base/concurrency/concurrency-limit';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import { listClaimable, type Claim } from '../queue/claims.repository';
import { requestRun, withdrawRun } from '../queue/run-requests.repository';
import type { RunTarget } from '../queue/run-target.repository';

/**
 * Maximum number of runs and plans that wait for a slot while `MAX_CONCURRENT_RUNS` are in progress. Behind twenty runs of a
 * million rows a request would wait for minutes; further ones get 503 with `Retry-After`.
 */
export const waitingRuns = 20;

/** Maximum number of concurrent runs and plans per partner: its feeds must not delay other partners. */
export const concurrentRunsOfPartnerMax = 2;

/** Poll interval of the queue: not every pooler passes on notifications. A request to this process polls at once. */
const pollMilliseconds = 250;

const pollAfterFailureMilliseconds = 2_000;

/** A finished run, for metrics. */
export interface RunRecord extends RunReport {
  /** Duration without the wait for a slot. */
  seconds: number;
}

/** Concurrency limits of runs and plans. */
interface RunLimits {
  concurrentRuns: number;
  /** Default: `concurrentRunsOfPartnerMax`. */
  concurrentRunsOfPartner?: number;
}

/** Job to be run. */
export type WorkerTarget = RunTarget & {
  /** The key of the waiting client. */
  key: KeyInUse;
  /** Called when the run has its number. */
  onRequested: (requested: RequestedRun) => void;
};

/** Runs and plans jobs in this process. */
export interface RunWorker {
  /**
   * Requests a run of a job, and runs it as soon as a slot is free, ahead of the queue.
   * @param untilClaimed - settles when the job is no longer queued, or the signal is aborted
   * @returns the outcome; `not_claimed` when another process has claimed it, or it was cancelled before it started
   * @throws job_already_running, job_already_queued, run_already_reverted, unauthorized, unavailable; errors of `untilClaimed`
   */
  run(target: WorkerTarget, untilClaimed: (signal: AbortSignal) => Promise<void>): Promise<RunOutcome>;
  /** Plans a run. @throws FeedFailure; unavailable */
  plan(target: RunTarget, page: ListedChanges): Promise<FeedPlan>;
  /** Opens the rejects of a run. @throws FeedFailure; unavailable */
  rejects(request: RejectsRequest): Promise<Readable>;
  /** Polls the queue at once. */
  wake(): void;
  /** Returns the runs and plans in progress, the ones that wait for a slot, and the pool of the thread. */
  use(): { working: number; waiting: number; pool: PoolUse };
  /** Stops claiming, and waits for runs in progress or the timeout. Idempotent. */
  stopClaiming(milliseconds: number): Promise<void>;
}

/**
 * Starts the worker slots of this process.
 *
 * Requests and queued runs share the slots fairly by partner; requests beyond `waitingRuns` are rejected. One of several
 * slots is reserved for small feeds.
 * @param queue - database from which queued runs are claimed; absent: only runs requested here
 * @param observe - called with each finished run
 */
export function startRunWorker({
  thread,
  db,
  queue,
  log,
  limits: { concurrentRuns, concurrentRunsOfPartner = concurrentRunsOfPartnerMax },
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
  const slots = new ConcurrencyLimit({
    capacity: concurrentRuns,
    maxPerHolder: concurrentRunsOfPartner,
    largeMax,
    maxWaiting: waitingRuns + concurrentRuns,
    what: 'runs and plans',
  });
  const here = new Map<number, 'waiting' | 'running'>();

  async function observedRun(claim: Claim): Promise<RunOutcome> {
    const startedAt = performance.now();
    const report = await thread.run(claim);
    observe({ ...report, seconds: (performance.now() - startedAt) / 1000 });
    return report.outcome;
  }

  /** Requests a run with a waiting client. */
  async function request(target: WorkerTarget) {
    const requested = await inTransaction(db, 'request', (trx) => requestRun(trx, target, 1));
    target.onRequested(requested);
    return requested;
  }

  /** Requests the run, and waits for a slot. @returns undefined when the job was claimed elsewhere first */
  async function requestWithSlot(
    target: WorkerTarget,
    slot: Promise<Release>,
    untilClaimed: () => Promise<void>,
  ): Promise<Claim | undefined> {
    // Rejects before anything is requested if too many wait.
    const isFree = await Promise.race([slot, setImmediate(undefined)]);
    const { waited, ...requested } = await request(target);
    try {
      const hasSlot = (isFree ?? (await Promise.race([slot, untilClaimed()]))) !== undefined;
      // The key can have become invalid only during a wait.
      if (hasSlot && !isFree) await target.key.requireInUse();
      return hasSlot ? requested : undefined;
    } catch (refusal) {
      if (!waited) await inTransaction(db, 'request', (trx) => withdrawRun(trx, requested));
      throw refusal;
    }
  }

  /** Each claimer runs queued runs one by one; the first takes only small feeds. */
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
      const release = await slots.acquire({
        holder,
        group: 'queue',
        isLarge: takesLarge,
        signal: stopping.signal,
      });
      try {
        outcome = await observedRun({ next: takesLarge ? 'of any size' : 'of a small feed' });
      } finally {
        release();
      }
    } while (!stopping.signal.aborted && (outcome === 'completed' || outcome === 'failed'));
  }

  function startClaimer(claimer: (typeof claimers)[number]): void {
    claimer.isBusy = true;
    const done = claimRuns(claimer)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'failed to run queued job');
      })
      .finally(() => {
        claimer.isBusy = false;
        claiming.delete(done);
      });
    claiming.add(done);
  }

  const polling =
    queue &&
    startPeriodicTask({
      milliseconds: pollMilliseconds,
      millisecondsAfterFailure: pollAfterFailureMilliseconds,
      onError: (error) => log.warn({ err: error }, 'failed to poll queue'),
      async run() {
        const free = claimers.filter(({ isBusy }) => !isBusy);
        if (free.length === 0) return;
        const next = free.some(({ takesLarge }) => takesLarge) ? 'of any size' : 'of a small feed';
        for (const { jobId, isLarge } of await listClaimable(queue, next, concurrentRuns + here.size)) {
          // A request here has a slot for it, or waits for one.
          if (here.has(jobId)) continue;
          const claimer = claimers.find(({ isBusy, takesLarge }) => !isBusy && (takesLarge || !isLarge));
          if (claimer) startClaimer(claimer);
        }
      },
    });

  return {
    async run(target, untilClaimed) {
      const { jobId, isLarge } = target;
      const id = formatId('JV', jobId);
      const state = here.get(jobId);
      if (state && !target.reverts) throw state === 'waiting' ? jobAlreadyQueued(id) : jobAlreadyRunning(id);
      if (state) {
        // Joins the same revert; other requests are refused.
        await request(target);
        return 'not_claimed';
      }
      here.set(jobId, 'waiting');
      const leaving = new AbortController();
      const slot = slots.acquire({ holder: holderOf(target), isLarge, signal: leaving.signal });
      try {
        const claim = await requestWithSlot(target, slot, () => untilClaimed(leaving.signal));
        if (!claim) return 'not_claimed';
        here.set(jobId, 'running');
        return await observedRun(claim);
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
      const release = await slots.acquire({ holder: holderOf(target), isLarge: target.isLarge });
      try {
        const { jobId, maxWithdrawn, allowOlder } = target;
        return await thread.plan({ jobId, maxWithdrawn, allowOlder }, page);
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

    wake: () => polling?.wake(),

    use() {
      const { active, waiting } = slots.use();
      return { working: active, waiting, pool: thread.poolUse() };
    },

    async stopClaiming(milliseconds) {
      stopping.abort();
      const end = async () => {
        await polling?.stop();
        await Promise.all(claiming);
      };
      await Promise.race([end(), sleep(milliseconds, undefined, { ref: false })]);
    },
  };
}

/** Runs and plans of a partner count towards the same share of the slots. */
const holderOf = ({ partnerId }: RunTarget) => `partner ${partnerId}`;
