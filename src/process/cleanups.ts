import type { Log } from '../shared/log';

/** What is left to undo when the process stops, in the order in which it was done. */
export type Cleanup = { what: string; undo: (deadline: number) => unknown };

/**
 * Undoes everything, once: whoever calls it again waits for the end of the same. The first one says until when.
 */
export function undoOnce(cleanups: Cleanup[], log: Log): (deadline: number) => Promise<void> {
  let undone: Promise<void> | undefined;
  return (deadline) => (undone ??= undoAll(cleanups, log, deadline));
}

/** Undoes what was done last first. What goes wrong is told, and keeps nothing from being undone. */
async function undoAll(cleanups: Cleanup[], log: Log, deadline: number): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) {
    try {
      await cleanup.undo(deadline);
    } catch (error) {
      log.error({ err: error, what: cleanup.what }, 'stopping went wrong');
    }
  }
}
