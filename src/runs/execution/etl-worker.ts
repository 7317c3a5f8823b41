import type { MessagePort } from 'node:worker_threads';
import { workerData } from 'piscina';
import { isDatabaseUnavailable, openDatabase, type DatabaseAddress } from '../../base/db/database';
import { poolUse } from '../../base/db/dialect';
import { SharedPoolUse } from '../../base/db/pool-use';
import { createLog } from '../../base/log';
import type { Claim } from '../queue/claims.repository';
import { openObjectStore, type StoreConfig } from '../../base/storage/open-store';
import { FeedFailure } from '../etl/run-result';
import type { ListedChanges } from '../etl/load';
import { planFeed, type FeedPlan, type PlanTarget } from './plan-feed';
import { streamRejects, type RejectsRequest, concurrentRejectsMax } from './rejects';
import type { RunContext } from './load-feed';
import { runFeed, type RunReport } from './run-feed';
import { sendThrough } from './thread-stream';
import { databaseTimeouts } from '../../base/db/transaction';

/** Interval at which the thread publishes the use of its pool, for metrics. */
const poolUseMilliseconds = 1_000;

/** Settings of the thread. */
export interface WorkerSettings {
  address: DatabaseAddress;
  store: StoreConfig;
  logLevel: string;
  concurrentRuns: number;
  /** Shared memory for the use of its pool. */
  poolUse: SharedPoolUse['memory'];
}

/**
 * Result of a task, or its failure. `fault` is an internal error.
 *
 * Not an exception: errors lose their class between threads, and would look like a crash of the thread.
 */
export type TaskOutcome<T> =
  { value: T; failure?: undefined } | { failure: { kind: 'feed' | 'unavailable' | 'fault'; reason: string } };

/** A run needs one connection for its transaction, and a second one for its progress. */
const connectionsPerRun = 2;

let context: Promise<RunContext> | undefined;

/** Opens the resources that all tasks share, on first use; retries after a failure. */
function getContext(): Promise<RunContext> {
  context ??= openContext(workerData as WorkerSettings).catch((error: unknown) => {
    context = undefined;
    throw error;
  });
  return context;
}

export interface RunTask {
  claim: Claim;
  /** Shared memory for the numbers of the claimed job and run. */
  claimed: Float64Array;
}

/** Runs a job; a task of the ETL thread. */
export async function run({ claim, claimed }: RunTask): Promise<RunReport> {
  return runFeed(claim, await getContext(), ({ jobId, run }) => claimed.set([jobId, run]));
}

export interface PlanTask {
  target: PlanTarget;
  page: ListedChanges;
}

/** Plans a job; a task of the ETL thread. */
export function plan({ target, page }: PlanTask): Promise<TaskOutcome<FeedPlan>> {
  return toOutcome(async () => planFeed(target, page, await getContext()));
}

/** Sends the rejects of a run through `port`; a task of the ETL thread. */
export function rejects({
  request,
  port,
}: {
  request: RejectsRequest;
  port: MessagePort;
}): Promise<TaskOutcome<void>> {
  return toOutcome(async () => sendThrough(port, await streamRejects(request, await getContext())));
}

async function toOutcome<T>(work: () => Promise<T>): Promise<TaskOutcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    const { message, stack } = error as Error;
    const isDown = error instanceof FeedFailure ? error.unavailable : isDatabaseUnavailable(error);
    if (isDown) return { failure: { kind: 'unavailable', reason: message } };
    if (error instanceof FeedFailure) return { failure: { kind: 'feed', reason: message } };
    return { failure: { kind: 'fault', reason: stack ?? message } };
  }
}

async function openContext({
  address,
  store,
  logLevel,
  poolUse: memory,
  concurrentRuns,
}: WorkerSettings): Promise<RunContext> {
  const objectStore = await openObjectStore(store);
  const db = openDatabase(address, {
    applicationName: 'etl',
    connectionsMax: concurrentRuns * connectionsPerRun + concurrentRejectsMax,
    queryMilliseconds: databaseTimeouts.bulkMilliseconds,
  });
  const use = new SharedPoolUse(memory);
  setInterval(() => use.note(poolUse(db)), poolUseMilliseconds).unref();
  return { db, objectStore, log: createLog(logLevel) };
}
