export interface PeriodicTask {
  /** Starts the next run at once, or after the run in progress. */
  wake(): void;
  /** Stops the task; can be called again. @returns when the run in progress has ended */
  stop(): Promise<void>;
}

interface PeriodicTaskOptions {
  /** Pause after each run: runs never overlap. */
  milliseconds: number;
  /** Pause after a failed run; default: the same. */
  millisecondsAfterFailure?: number;
  /** One run; `stop` aborts the signal. */
  run: (signal: AbortSignal) => unknown;
  /** Receives the error of a run, unless the task is stopped; the task continues. */
  onError: (error: unknown) => void;
  /** Whether the first run starts at once, not after a pause; default: true. */
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

  /** @returns the length of the next pause */
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
