import { workerData } from 'piscina';
import { limits, type Config } from '../config';
import { isDatabaseUnavailable, openDatabase, type DatabaseAddress } from '../db/database';
import { createLog } from '../log';
import { openObjectStore } from '../storage/object-store';
import { planFeed, type FeedPlan, type PlanPage } from './plan-feed';
import { runFeed, type RunContext, type RunOutcome } from './run-feed';

/** What the thread is told when it starts. */
export interface WorkerSettings {
  address: DatabaseAddress;
  store: Pick<Config, 's3' | 'dataDir'>;
  logLevel: string;
}

/** What `plan` gives: a plan, or why there is none for now. */
export type PlanOutcome = { plan: FeedPlan } | { plan?: undefined; unavailable: string };

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

/** A task of the ETL thread: runs one job, beside others. */
export async function run(jobId: number): Promise<RunOutcome> {
  return runFeed(jobId, await getContext());
}

/** A task of the ETL thread: plans one job, beside others. */
export async function plan({ jobId, page }: { jobId: number; page: PlanPage }): Promise<PlanOutcome> {
  try {
    return { plan: await planFeed(jobId, page, await getContext()) };
  } catch (error) {
    // An error loses its class on its way to the other thread.
    if (isDatabaseUnavailable(error)) return { unavailable: (error as Error).message };
    throw error;
  }
}

async function openContext({ address, store, logLevel }: WorkerSettings): Promise<RunContext> {
  return {
    db: openDatabase(address, {
      applicationName: 'etl',
      connectionsMax: limits.concurrentRuns * connectionsPerRun,
    }),
    objectStore: await openObjectStore(store),
    log: createLog(logLevel),
  };
}
