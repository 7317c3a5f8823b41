import type { Config } from '../../config';
import { concurrentRejectsMax } from '../../runs/execution/rejects';

type Settings = Pick<Config, 'databaseConnections' | 'concurrentUploads' | 'concurrentRuns' | 'worksOnQueue'>;

/** Connections of each process: one for the sales roll-up, one for the search index, one for `catalog_database_up`. */
const connectionsPerProcess = 3;

/** Returns the maximum number of connections of the API; docs/scaling.md#connections-to-postgresql lists them. */
export function connectionsOfApi(settings: Settings): number {
  const { databaseConnections, concurrentUploads, worksOnQueue } = settings;
  const health = 1;
  return (
    databaseConnections +
    concurrentUploads +
    runConnections(settings) +
    concurrentRejectsMax +
    (worksOnQueue ? queueConnections : 0) +
    health +
    connectionsPerProcess
  );
}

export function connectionsOfWorker(settings: Settings): number {
  return settings.databaseConnections + runConnections(settings) + queueConnections + connectionsPerProcess;
}

/** Connections of a migration: one holds the lock, one migrates. */
export const connectionsOfMigration = 2;

/** `max_connections` of the embedded server: the API, with a reserve for commands of the operator. */
export function connectionsMax(settings: Settings): number {
  return Math.max(100, connectionsOfApi(settings) + 20);
}

/** Each run has one, and a second one to report its progress. */
const runConnections = ({ concurrentRuns }: Settings) => 2 * concurrentRuns;

/** Connections that claim runs and webhook deliveries, and record the outcomes of deliveries. */
export const queueConnections = 2;
