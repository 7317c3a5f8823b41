import { isDatabaseReachable } from '../health/health.handlers';
import type { DatabaseAddress } from '../db/database';
import type { ObjectStore } from '../storage/object-store';

/** Timeout of the check of the object store; orchestrators give a probe a second or two. */
export const readinessCheckMilliseconds = 1_000;

/** Validity of a report: database and object store are checked at most once a second. */
const reportValidMilliseconds = 1_000;

/** Whether the process can accept requests, and why not. */
interface ReadinessReport {
  status: 'starting' | 'ready' | 'not_ready' | 'draining';
  /** What is not available; present with `not_ready`. */
  missing?: ('database' | 'object_store')[];
}

export interface Dependencies {
  address: DatabaseAddress;
  objectStore: Pick<ObjectStore, 'check'>;
}

/** The readiness of this process, for `/readyz`. */
export class Readiness {
  private dependencies?: Dependencies;
  private last?: { report: Promise<ReadinessReport>; until: number };

  /** @param stopping - aborted at shutdown */
  constructor(private readonly stopping: AbortSignal) {}

  /** Reports the dependencies from now on, after the start. */
  open(dependencies: Dependencies): void {
    this.dependencies = dependencies;
  }

  /** Returns a report within `readinessCheckMilliseconds`. Never throws. */
  async report(): Promise<ReadinessReport> {
    if (this.stopping.aborted) return { status: 'draining' };
    if (!this.dependencies) return { status: 'starting' };
    if (!this.last || performance.now() > this.last.until) {
      const report = check(this.dependencies);
      this.last = { report, until: Infinity };
      const { last } = this;
      void report.then(() => (last.until = performance.now() + reportValidMilliseconds));
    }
    return this.last.report;
  }
}

async function check({ address, objectStore }: Dependencies): Promise<ReadinessReport> {
  const [database, store] = await Promise.all([isDatabaseReachable(address), isUsable(objectStore)]);
  const missing: NonNullable<ReadinessReport['missing']> = [];
  if (!database) missing.push('database');
  if (!store) missing.push('object_store');
  if (missing.length === 0) return { status: 'ready' };
  return { status: 'not_ready', missing };
}

async function isUsable(objectStore: Dependencies['objectStore']): Promise<boolean> {
  const signal = AbortSignal.timeout(readinessCheckMilliseconds);
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
