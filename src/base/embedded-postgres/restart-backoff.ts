/** A process that lived this long did not fail at its start. */
const steadyMilliseconds = 60_000;
const delayMilliseconds = 100;
const delayMillisecondsMax = 30_000;

/** Delays the restarts of a process: at once after the first failure, then with exponential backoff. */
export class RestartBackoff {
  private failures = 0;

  /** Counts the end of a process that was started `startedAt` (`performance.now()`); a steady one resets the count. */
  noteEnd(startedAt: number): void {
    this.failures = performance.now() - startedAt < steadyMilliseconds ? this.failures + 1 : 0;
  }

  noteFailure(): void {
    this.failures++;
  }

  /** The delay before the next restart. */
  milliseconds(): number {
    return this.failures < 2
      ? 0
      : Math.min(delayMillisecondsMax, delayMilliseconds * 2 ** (this.failures - 2));
  }
}
