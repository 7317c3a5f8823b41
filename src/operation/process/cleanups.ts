import type { Log } from '../../base/log';

/** A resource to dispose of at shutdown. Lists have the order in which the resources were opened. */
export type Cleanup = { what: string; dispose: (deadline: number) => unknown };

/** Makes a function that disposes of all resources once; further calls wait for the first, whose deadline applies. */
export function disposeOnce(cleanups: Cleanup[], log: Log): (deadline: number) => Promise<void> {
  let disposed: Promise<void> | undefined;
  return (deadline) => (disposed ??= disposeAll(cleanups, log, deadline));
}

/** Disposes in reverse order. Logs a failure, and continues. */
async function disposeAll(cleanups: Cleanup[], log: Log, deadline: number): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) {
    try {
      await cleanup.dispose(deadline);
    } catch (error) {
      log.error({ err: error, what: cleanup.what }, 'cleanup failed');
    }
  }
}
