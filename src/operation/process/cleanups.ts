import type { Log } from '../../base/log';

/** A resource to dispose of at shutdown. The list of all is in the order in which they were opened. */
export type Cleanup = { what: string; dispose: (deadline: number) => unknown };

/** Makes a function that disposes of everything once; further calls wait for the first, whose deadline applies. */
export function disposeOnce(cleanups: Cleanup[], log: Log): (deadline: number) => Promise<void> {
  let disposed: Promise<void> | undefined;
  return (deadline) => (disposed ??= disposeAll(cleanups, log, deadline));
}

/** Disposes in reverse order. A failure is logged, and the rest is disposed of. */
async function disposeAll(cleanups: Cleanup[], log: Log, deadline: number): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) {
    try {
      await cleanup.dispose(deadline);
    } catch (error) {
      log.error({ err: error, what: cleanup.what }, 'cleanup failed');
    }
  }
}
