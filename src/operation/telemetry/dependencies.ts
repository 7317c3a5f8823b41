import type { DatabaseAddress } from '../../base/db/database';
import { isDatabaseReachable } from '../../http/health.handlers';
import type { Log } from '../../base/log';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import type { ObjectStore } from '../../base/storage/object-store';

/** Limits of the checks of database and object store. */
export const dependencyLimits = {
  /** Pause after each check; Prometheus usually scrapes every 15 s. */
  pauseMilliseconds: 5_000,

  /** Timeout of the check of the object store. */
  checkMilliseconds: 5_000,
};

export interface Dependencies {
  address: DatabaseAddress;
  objectStore: Pick<ObjectStore, 'check'>;
}

/** Results of the last checks. */
export interface DependencyStates {
  /** Whether the database accepts a new connection. */
  database: boolean;
  objectStore: boolean;
}

/** Checks database and object store periodically, and logs changes. A check that hangs fails at its timeout. */
export function startDependencyMeter({ address, objectStore }: Dependencies, log: Log) {
  let states: DependencyStates | undefined;
  const task = startPeriodicTask({
    milliseconds: dependencyLimits.pauseMilliseconds,
    async run() {
      const [database, store] = await Promise.all([isDatabaseReachable(address), isUsable(objectStore)]);
      const last = states ?? { database: true, objectStore: true };
      states = { database, objectStore: store };
      for (const name of Object.keys(states) as (keyof DependencyStates)[]) {
        if (states[name] === last[name]) continue;
        if (states[name]) log.info({ dependency: name }, 'dependency available again');
        else log.warn({ dependency: name }, 'dependency not available');
      }
    },
    // Checks do not throw.
    onError: (error) => log.error({ err: error }, 'failed to check dependencies'),
  });
  return { latest: () => states, stop: () => task.stop() };
}

async function isUsable(objectStore: Dependencies['objectStore']): Promise<boolean> {
  const signal = AbortSignal.timeout(dependencyLimits.checkMilliseconds);
  const timedOut = new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason)),
  );
  try {
    // A hanging file system ignores the signal.
    await Promise.race([objectStore.check(signal), timedOut]);
    return true;
  } catch {
    return false;
  }
}
