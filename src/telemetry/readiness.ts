import { isDatabaseReachable } from '../health/health.handlers';
import type { DatabaseAddress } from '../db/database';
import type { ObjectStore } from '../storage/object-store';

/** How long the object store may take to say that it can be used; orchestrators give a probe a second or two. */
export const readinessCheckMilliseconds = 1_000;

/** How long an answer to `/readyz` holds: however many ask, database and object store are asked once a second. */
const readinessHoldsMilliseconds = 1_000;

/** Whether the process can take work, and why not. */
interface ReadinessReport {
  status: 'starting' | 'ready' | 'not_ready' | 'draining';
  /** What does not answer; there when the status is `not_ready`. */
  missing?: ('database' | 'object_store' | 'api_processes')[];
}

/** What a process needs to take work. */
export interface Dependencies {
  address: DatabaseAddress;
  objectStore: Pick<ObjectStore, 'check'>;
  /** Whether any process answers requests, where others than this one do. */
  isServed?: () => boolean;
}

/** Whether this process should be sent requests, for `/readyz`. */
export class Readiness {
  private dependencies?: Dependencies;
  private last?: { report: Promise<ReadinessReport>; until: number };

  /** @param stopping - aborted when the process begins to stop */
  constructor(private readonly stopping: AbortSignal) {}

  /** Everything has started. */
  open(dependencies: Dependencies): void {
    this.dependencies = dependencies;
  }

  /**
   * Takes no longer than `readinessCheckMilliseconds` and asks nobody more often than every
   * `readinessHoldsMilliseconds`, however many ask it. Never throws.
   */
  async report(): Promise<ReadinessReport> {
    if (this.stopping.aborted) return { status: 'draining' };
    if (!this.dependencies) return { status: 'starting' };
    if (!this.last || performance.now() > this.last.until) {
      const report = look(this.dependencies);
      this.last = { report, until: Infinity };
      const { last } = this;
      void report.then(() => (last.until = performance.now() + readinessHoldsMilliseconds));
    }
    return this.last.report;
  }
}

async function look({ address, objectStore, isServed = () => true }: Dependencies): Promise<ReadinessReport> {
  const [database, store] = await Promise.all([isDatabaseReachable(address), isUsable(objectStore)]);
  const missing: NonNullable<ReadinessReport['missing']> = [];
  if (!database) missing.push('database');
  if (!store) missing.push('object_store');
  if (!isServed()) missing.push('api_processes');
  if (missing.length === 0) return { status: 'ready' };
  return { status: 'not_ready', missing };
}

async function isUsable(objectStore: Dependencies['objectStore']): Promise<boolean> {
  const signal = AbortSignal.timeout(readinessCheckMilliseconds);
  const givenUp = new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason)),
  );
  try {
    // A file system that hangs heeds no signal.
    await Promise.race([objectStore.check(signal), givenUp]);
    return true;
  } catch {
    return false;
  }
}
