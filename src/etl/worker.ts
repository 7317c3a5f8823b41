import { workerData } from 'piscina';
import { limits, type Config } from '../config';
import { openDatabase, type DatabaseAddress } from '../db/database';
import { createLog } from '../log';
import { openObjectStore } from '../storage/object-store';
import { runFeed, type RunContext, type RunOutcome } from './run-feed';

/** What the thread is told when it starts. */
export interface WorkerSettings {
  address: DatabaseAddress;
  store: Pick<Config, 's3' | 'dataDir'>;
  logLevel: string;
}

/** Each run holds one connection for its transaction and one, now and then, to show its state. */
const connectionsPerRun = 2;

let context: Promise<RunContext> | undefined;

/** The task of the ETL thread: runs one job, beside others. */
export default async function runInThread(jobId: number): Promise<RunOutcome> {
  context ??= openContext(workerData as WorkerSettings);
  return runFeed(jobId, await context);
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
