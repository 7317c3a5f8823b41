import { setTimeout as sleep } from 'node:timers/promises';

/** Pause after a batch, as a multiple of its duration: requests get most of the database's time. */
const usualPause = 3;

/** Pause of small batches that remove many rows of a day: hardly any request meets one. */
export const longPause = 20;

/** Maximum pause: shorter than a lease. */
const pauseMaxMilliseconds = 15_000;

/** Repeats a batch, with pauses, until it has nothing to do or `signal` is aborted. */
export async function inBatches(
  signal: AbortSignal | undefined,
  batch: () => Promise<boolean>,
  pausePerBatch = usualPause,
): Promise<void> {
  while (!signal?.aborted) {
    const startedAt = performance.now();
    if (!(await batch())) return;
    await pauseAfter(startedAt, signal, pausePerBatch);
  }
}

/** Pauses after a batch that began at `startedAt`, until the pause ends or `signal` is aborted. */
export async function pauseAfter(
  startedAt: number,
  signal: AbortSignal | undefined,
  pausePerBatch = usualPause,
): Promise<void> {
  const pause = Math.min(pausePerBatch * (performance.now() - startedAt), pauseMaxMilliseconds);
  await sleep(pause, undefined, { signal }).catch(() => undefined);
}
