import type { MessagePort } from 'node:worker_threads';
import { workerData } from 'piscina';
import { isDatabaseUnavailable, openDatabase, type DatabaseAddress } from '../db/database';
import { poolUse, SharedPoolUse } from '../db/pool-use';
import { createLog, withPid } from '../shared/log';
import type { Claim } from './queue.repository';
import { openObjectStore, type StoreConfig } from '../storage/open-store';
import { FeedFailure } from '../etl/run-result';
import { planFeed, type FeedPlan, type PlanPage } from './plan-feed';
import { openRejects, type RejectsRequest, concurrentRejectsMax } from './rejects';
import { runFeed, type RunContext, type RunReport } from './run-feed';
import { sendThrough } from './thread-stream';
import { databaseBulkMilliseconds } from '../db/transaction';

/** How often the ETL thread notes how much of its pool is in use; metrics are asked for every few seconds at most. */
const poolUseMilliseconds = 1_000;

/** What the thread is told when it starts. */
export interface WorkerSettings {
  address: DatabaseAddress;
  store: StoreConfig;
  logLevel: string;
  /** Whether the lines of its log have the number of the process. */
  logsPid?: boolean;
  concurrentRuns: number;
  /** Where the thread notes the use of its pool. */
  poolUse: SharedPoolUse['memory'];
}

/**
 * What a task gives, or why it failed: because of the feed, because something is down, or by a fault of ours. An error
 * loses its class on its way to the other thread, and a task that throws could not be told from a thread that has died.
 */
export type Outcome<T> =
  { value: T; failure?: undefined } | { failure: { kind: 'feed' | 'unavailable' | 'fault'; reason: string } };

/** Each run holds one connection for its transaction and one, now and then, to show its state. */
const connectionsPerRun = 2;

let context: Promise<RunContext> | undefined;

/** What all tasks of the thread share; opened by the first, and again should that fail. */
function getContext(): Promise<RunContext> {
  context ??= openContext(workerData as WorkerSettings).catch((error: unknown) => {
    context = undefined;
    throw error;
  });
  return context;
}

/** What run is asked for. */
export interface RunTask {
  claim: Claim;
  /** Where the thread notes the number of the job that it has claimed: shared memory. */
  claimed: Float64Array;
}

/** A task of the ETL thread: runs one job, beside others. */
export async function run({ claim, claimed }: RunTask): Promise<RunReport> {
  return runFeed(claim, await getContext(), (jobId) => (claimed[0] = jobId));
}

/** A task of the ETL thread: plans one job, beside others. */
export function plan({ jobId, page }: { jobId: number; page: PlanPage }): Promise<Outcome<FeedPlan>> {
  return expectFailures(async () => planFeed(jobId, page, await getContext()));
}

/** A task of the ETL thread: sends the rejects of a run through `port`, and ends with them. */
export function rejects({
  request,
  port,
}: {
  request: RejectsRequest;
  port: MessagePort;
}): Promise<Outcome<void>> {
  return expectFailures(async () => sendThrough(port, await openRejects(request, await getContext())));
}

async function expectFailures<T>(work: () => Promise<T>): Promise<Outcome<T>> {
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
  logsPid,
  poolUse: memory,
  concurrentRuns,
}: WorkerSettings): Promise<RunContext> {
  const objectStore = await openObjectStore(store);
  const db = openDatabase(address, {
    applicationName: 'etl',
    connectionsMax: concurrentRuns * connectionsPerRun + concurrentRejectsMax,
    queryMilliseconds: databaseBulkMilliseconds,
  });
  const use = new SharedPoolUse(memory);
  setInterval(() => use.note(poolUse(db)), poolUseMilliseconds).unref();
  const log = createLog(logLevel);
  return { db, objectStore, log: logsPid ? withPid(log) : log };
}
