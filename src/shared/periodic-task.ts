import { setTimeout as sleep } from 'node:timers/promises';

/** A task that is repeated until it is stopped. */
export interface PeriodicTask {
  /** Runs no more of it; can be called again. @returns when the run in progress has ended */
  stop(): Promise<void>;
}

/** What is repeated, and how often. */
export interface PeriodicTaskOptions {
  /** The pause after each run: two runs never overlap. */
  milliseconds: number;
  /** One run; the signal aborts when the task is stopped. */
  run: (signal: AbortSignal) => unknown;
  /** Gets what a run throws, unless the task is stopped by then; the next run comes all the same. */
  onError: (error: unknown) => void;
  /** Whether the first run comes at once rather than after the first pause; default: true. */
  startsAtOnce?: boolean;
}

/** Repeats a task with a pause after each run. It does not keep the process alive. */
export function startPeriodicTask({
  milliseconds,
  run,
  onError,
  startsAtOnce = true,
}: PeriodicTaskOptions): PeriodicTask {
  const stopping = new AbortController();
  const { signal } = stopping;

  const pause = () => sleep(milliseconds, undefined, { ref: false, signal }).catch(() => undefined);

  async function attempt(): Promise<void> {
    try {
      await run(signal);
    } catch (error) {
      if (!signal.aborted) onError(error);
    }
  }

  async function repeat(): Promise<void> {
    if (!startsAtOnce) await pause();
    while (!signal.aborted) {
      await attempt();
      await pause();
    }
  }

  const ended = repeat();
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
