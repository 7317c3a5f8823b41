import type { Config } from '../config';
import { concurrentRejectsMax } from '../runs/rejects';

/** Connections of the process that starts them, which answers no requests: one for its sweep, and one more. */
export const upkeepConnections = 2;

type Settings = Pick<
  Config,
  'apiProcesses' | 'databaseConnections' | 'concurrentUploads' | 'concurrentRuns' | 'worksOnQueue' | 'replica'
>;

/** Those of what is done once for all processes of one port: the sums of sales, and a look by `/readyz`. */
const onceForAll = 2;

/**
 * The most connections to PostgreSQL that the API with these settings has: docs/reference/database-connections.md has a table of
 * them.
 */
export function connectionsOfApi(settings: Settings): number {
  const { apiProcesses, databaseConnections, concurrentUploads, worksOnQueue, replica } = settings;
  const health = 1;
  const ofEach =
    databaseConnections +
    concurrentUploads +
    runConnections(settings) +
    concurrentRejectsMax +
    (worksOnQueue ? queueConnections : 0) +
    health +
    (replica ? 1 : 0);
  const ofFirst = apiProcesses > 1 ? upkeepConnections : 0;
  return apiProcesses * ofEach + ofFirst + onceForAll;
}

/** The same of a worker. */
export function connectionsOfWorker(settings: Settings): number {
  return settings.databaseConnections + runConnections(settings) + queueConnections + onceForAll;
}

/** Those of what brings the schema up to date, at a start or alone: one holds the lock, one migrates. */
export const connectionsOfMigration = 2;

/** Room for all that these settings can open, for a start and the operator's commands, and for a look at it. */
export function connectionsMax(settings: Settings): number {
  return Math.max(100, connectionsOfApi(settings) + 20);
}

/** Each run has one, and a second one to tell how far it is. */
const runConnections = ({ concurrentRuns }: Settings) => 2 * concurrentRuns;

/** Those that claim runs and webhook deliveries, and note how deliveries ended. */
export const queueConnections = 2;
