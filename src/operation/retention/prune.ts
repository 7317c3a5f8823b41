import { randomUUID } from 'node:crypto';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import type { Log } from '../../base/log';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import type { ObjectStore } from '../../base/storage/object-store';
import { inBatches, longPause } from '../../base/concurrency/batches';
import { findBucketProblem } from './bucket-owner';
import { isPruneDue, PruneInProgress, releaseLease, withLease, type Lease } from './lease';
import {
  countExpiredVersions,
  listKept,
  removeExpiredVersions,
  type RemovedVersions,
} from './product-versions';
import {
  countExpiredFiles,
  listExpiredFiles,
  removeExpiredFile,
  type ExpiredFile,
  type RemovedFiles,
} from './raw-files';
import { deleteObjects, listRemovedObjects } from './removed-objects';
import { countExpiredIssues, removeExpiredIssues, type RemovedIssues } from './row-issues';
import { keepDigests, listOrderedOffsets } from './source-digests';

/** Interval in which each process checks whether the daily prune is due. */
const checkMilliseconds = 60_000;

/** Pause of a process after a prune with a failed step: with many orders, a prune of files reads for minutes. */
const pauseAfterFailureMilliseconds = 15 * 60_000;

const checkStoreMilliseconds = 10_000;

/** Retention periods; undefined: for ever. */
export interface RetentionRules {
  rowIssueDays: number;
  rawFileDays?: number;
  historyDays: number;
}

/** Numbers that a prune removed, or would remove. */
export interface PruneResult {
  issues: RemovedIssues;
  files: RemovedFiles;
  versions: RemovedVersions;
}

export interface RetentionContext {
  db: Database;
  objectStore: ObjectStore;
  rules: RetentionRules;
}

/** Counts the data that `prune` would remove now. */
export function planPrune({ db, rules }: Omit<RetentionContext, 'objectStore'>): Promise<PruneResult> {
  return inTransaction(db, 'bulk', async (trx) => ({
    issues: await countExpiredIssues(trx, rules.rowIssueDays),
    files:
      rules.rawFileDays === undefined
        ? { files: 0, bytes: 0 }
        : await countExpiredFiles(trx, rules.rawFileDays),
    versions: await countExpiredVersions(trx, rules.historyDays),
  }));
}

/**
 * Removes all expired data, in small transactions with pauses. Can be interrupted, and repeated.
 * @param signal - aborts between two batches
 * @throws after everything else was removed: the first error of a step, or else of a file: StorageError, or FeedFailure when a raw
 * file cannot be read. PruneInProgress when another process prunes
 */
export async function prune(context: RetentionContext, signal?: AbortSignal): Promise<PruneResult> {
  const { db, rules } = context;
  const holder = randomUUID();
  const lease: Lease = (work) => withLease(db, holder, work);
  const steps = new Failures();
  const files = new Failures();
  let isComplete = false;
  try {
    const issues = await steps.collect(() => pruneIssues(lease, rules.rowIssueDays, signal));
    const versions = await steps.collect(() => pruneVersions(lease, rules.historyDays, signal));
    const removed = await steps.collect(() => pruneFiles(context, lease, files, signal));
    await steps.collect(() => deleteAllRemoved(context, lease, files, signal));
    steps.throwFirst();
    // A bad file can remain bad: the next prune tries it again.
    isComplete = !signal?.aborted;
    files.throwFirst();
    return { issues: issues!, versions: versions!, files: removed! };
  } finally {
    await releaseLease(db, holder, isComplete);
  }
}

/** Collects errors of parts, which do not delay other parts. */
class Failures {
  private readonly errors: unknown[] = [];

  /** @returns undefined if the work failed. @throws PruneInProgress: the lease is lost */
  async collect<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PruneInProgress) throw error;
      this.add(error);
      return undefined;
    }
  }

  add(...errors: unknown[]): void {
    this.errors.push(...errors);
  }

  throwFirst(): void {
    if (this.errors.length > 0) throw this.errors[0];
  }
}

/** Checks after the failure of one object that the store is available for the next ones. @throws StorageError */
const requireStore = (objectStore: ObjectStore) =>
  objectStore.check(AbortSignal.timeout(checkStoreMilliseconds));

/** Deletes the objects of raw files that were removed. @throws PruneInProgress; StorageError */
export async function deleteRemovedObjects(
  context: Pick<RetentionContext, 'db' | 'objectStore'>,
): Promise<void> {
  const holder = randomUUID();
  const failures = new Failures();
  try {
    await deleteAllRemoved(context, (work) => withLease(context.db, holder, work), failures);
    failures.throwFirst();
  } finally {
    await releaseLease(context.db, holder, false);
  }
}

/** A bucket of another database adds a failure, and keeps its objects: they stay enqueued until this database adopts the bucket. */
async function deleteAllRemoved(
  { db, objectStore }: Pick<RetentionContext, 'db' | 'objectStore'>,
  lease: Lease,
  failures: Failures,
  signal?: AbortSignal,
): Promise<void> {
  let after: string | undefined;
  await inBatches(signal, async () => {
    const keys = await lease((trx) => listRemovedObjects(trx, objectStore.bucket, after));
    if (keys.length === 0) return false;
    if (after === undefined) {
      const problem = await findBucketProblem(db, objectStore);
      if (problem?.isForeign) {
        failures.add(new Error(problem.message));
        return false;
      }
    }
    after = keys.at(-1);
    const failed = await deleteObjects(db, objectStore, keys);
    failures.add(...failed);
    if (failed.length > 0) await requireStore(objectStore);
    return true;
  });
}

async function pruneIssues(lease: Lease, days: number, signal?: AbortSignal): Promise<RemovedIssues> {
  const total: RemovedIssues = { jobs: 0, rows: 0, bytes: 0 };
  await inBatches(
    signal,
    async () => {
      const batch = await lease((trx) => removeExpiredIssues(trx, days));
      if (!batch) return false;
      total.jobs += batch.jobs;
      total.rows += batch.rows;
      total.bytes += batch.bytes;
      return true;
    },
    longPause,
  );
  return total;
}

/** Removes expired files. First stores the digests of the records that products and order items come from. */
async function pruneFiles(
  { db, objectStore, rules: { rawFileDays: days } }: RetentionContext,
  lease: Lease,
  failures: Failures,
  signal?: AbortSignal,
): Promise<RemovedFiles> {
  const total: RemovedFiles = { files: 0, bytes: 0 };
  if (days === undefined) return total;
  let after: ExpiredFile | undefined;
  await inBatches(signal, async () => {
    const expired = await lease((trx) => listExpiredFiles(trx, days, after));
    const ordered = await listOrderedOffsets(db, expired);
    for (const file of expired) {
      const offsets = ordered.get(file.feedId) ?? [];
      const isKept = await failures.collect(() =>
        keepDigests({ db, objectStore, lease, signal }, file, offsets),
      );
      if (isKept === undefined) await requireStore(objectStore);
      if (signal?.aborted) return false;
      if (!isKept) continue;
      if (!(await lease((trx) => removeExpiredFile(trx, days, file)))) continue;
      total.files++;
      total.bytes += file.sizeBytes;
    }
    after = expired.at(-1);
    return expired.length > 0;
  });
  return total;
}

async function pruneVersions(lease: Lease, days: number, signal?: AbortSignal): Promise<RemovedVersions> {
  const total: RemovedVersions = { rows: 0, bytes: 0 };
  const kept = await lease(listKept);
  let from: number | undefined;
  await inBatches(
    signal,
    async () => {
      const batch = await lease((trx) => removeExpiredVersions(trx, days, kept, from));
      if (!batch) return false;
      total.rows += batch.rows;
      total.bytes += batch.bytes;
      from = batch.last;
      return true;
    },
    longPause,
  );
  return total;
}

/** Starts the daily prune: the first process that finds it due executes it. After an interruption, any process continues. */
export function startDailyPrune(context: RetentionContext, log: Log) {
  return startPeriodicTask({
    milliseconds: checkMilliseconds,
    millisecondsAfterFailure: pauseAfterFailureMilliseconds,
    startsAtOnce: false,
    run: (signal) => pruneIfDue(context, log, signal),
    onError: (error) => log.warn({ err: error }, 'failed to prune'),
  });
}

/** Prunes if it is due, and no other process does. */
export async function pruneIfDue(context: RetentionContext, log: Log, signal?: AbortSignal): Promise<void> {
  if (!(await isPruneDue(context.db))) return;
  try {
    log.info({ ...(await prune(context, signal)) }, 'pruned');
  } catch (error) {
    if (!(error instanceof PruneInProgress)) throw error;
  }
}
