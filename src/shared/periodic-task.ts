/** A task that is repeated until it is stopped. */
export interface PeriodicTask {
  /** Begins the next run at once, or as soon as the one in progress has ended. */
  wake(): void;
  /** Runs no more of it; can be called again. @returns when the run in progress has ended */
  stop(): Promise<void>;
}

/** What is repeated, and how often. */
interface PeriodicTaskOptions {
  /** The pause after each run: two runs never overlap. */
  milliseconds: number;
  /** The pause after a run that has failed; default: the same. */
  millisecondsAfterFailure?: number;
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
  millisecondsAfterFailure = milliseconds,
  run,
  onError,
  startsAtOnce = true,
}: PeriodicTaskOptions): PeriodicTask {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isWoken = false;
  let endPause: () => void = () => undefined;

  async function pause(length: number): Promise<void> {
    if (!isWoken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, length).unref();
        endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    isWoken = false;
  }

  /** @returns the length of the pause that follows */
  async function attempt(): Promise<number> {
    try {
      await run(signal);
      return milliseconds;
    } catch (error) {
      if (!signal.aborted) onError(error);
      return millisecondsAfterFailure;
    }
  }

  async function repeat(): Promise<void> {
    if (!startsAtOnce) await pause(milliseconds);
    while (!signal.aborted) await pause(await attempt());
  }

  const ended = repeat();
  return {
    wake() {
      isWoken = true;
      endPause();
    },
    stop() {
      stopping.abort();
      endPause();
      return ended;
    },
  };
}
