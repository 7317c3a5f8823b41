import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPeriodicTask } from './periodic-task';

/** Pause after a failed claim: the database may be down. */
const failurePauseMilliseconds = 2_000;

/** At shutdown, items in progress may take this long; then they are aborted, and another worker repeats them. */
const drainMilliseconds = 5_000;

/** Aborted items have this long to be released; after that, they are repeated when their lease has expired. */
const releaseMilliseconds = 500;

export interface ClaimingWorker {
  /** Drains: claims nothing more, and waits for items in progress for some seconds. Safe to call again. */
  stop(): Promise<void>;
}

interface ClaimingWorkerOptions<Item> {
  /** Interval of claims, as not every pooler passes on notifications. The end of each item wakes the worker too. */
  pollMilliseconds: number;
  shutdownSeconds: number;
  /**
   * Claims items with a lease, as many as there is room for.
   * @param inProgress - number of items in progress
   */
  claim: (inProgress: number) => Promise<Item[]>;
  /** Executes a claimed item. @param signal - aborts it; the item must then be released */
  execute: (item: Item, signal: AbortSignal) => Promise<void>;
  onClaimError: (error: unknown) => void;
  onError: (error: unknown, item: Item) => void;
}

/** Claims items of a table, and executes them concurrently. Several processes share the work. */
export function startClaimingWorker<Item>({
  pollMilliseconds,
  shutdownSeconds,
  claim,
  execute,
  onClaimError,
  onError,
}: ClaimingWorkerOptions<Item>): ClaimingWorker {
  const aborting = new AbortController();
  // Each item in progress listens.
  setMaxListeners(0, aborting.signal);
  const inProgress = new Set<Promise<void>>();

  const claiming = startPeriodicTask({
    milliseconds: pollMilliseconds,
    millisecondsAfterFailure: Math.max(pollMilliseconds, failurePauseMilliseconds),
    onError: onClaimError,
    async run() {
      for (const item of await claim(inProgress.size)) {
        const executed = execute(item, aborting.signal)
          .catch((error: unknown) => onError(error, item))
          .finally(() => {
            inProgress.delete(executed);
            claiming.wake();
          });
        inProgress.add(executed);
      }
    },
  });

  const ended = async (milliseconds: number) => {
    await Promise.race([Promise.all(inProgress), sleep(milliseconds, undefined, { ref: false })]);
  };
  const end = async () => {
    await claiming.stop();
    await ended(Math.min(drainMilliseconds, shutdownSeconds * 1000));
    aborting.abort();
    await ended(releaseMilliseconds);
  };
  let stopped: Promise<void> | undefined;
  return { stop: () => (stopped ??= end()) };
}
