import { setTimeout as sleep } from 'node:timers/promises';
import { startSalesRollup } from '../../sales/analytics/sales-rollup.service';
import type { Config } from '../../config';
import type { Database, DatabaseAddress } from '../../base/db/database';
import { listNamesOutsideNfc } from '../../catalog/partners/stored-partner-name';
import { refuseShortKeys } from '../../http/keys/short-keys';
import type { Log } from '../../base/log';
import { claimBucket } from '../retention/bucket-owner';
import { startDailyPrune } from '../retention/prune';
import { startSearchIndexer } from '../../catalog/products/search-index';
import { StorageError, type ObjectStore } from '../../base/storage/object-store';
import { openObjectStore } from '../../base/storage/open-store';
import { startDependencyMeter, type Dependencies } from '../telemetry/dependencies';
import { Readiness } from '../telemetry/readiness';
import type { Metrics } from '../telemetry/metrics';
import { startBacklogMeter } from './backlog';
import type { Cleanup } from './cleanups';
import { closeWithin, databaseAddress, prepareDatabase, requireKey } from './database';
import { startOperatorServer } from './operator';
import { ensureDataDir } from './data-dir';
import { generatedKey, openRequestPool, serve, workOnQueue, type Role } from './serve';
import { startMaintenanceTasks } from './maintenance';
import { banner } from './banner';

export interface StartContext {
  config: Config;
  log: Log;
  /** Receives a cleanup for each opened resource. */
  cleanups: Cleanup[];
  /** Aborted at shutdown, also during the start. */
  signal: AbortSignal;
}

/** Starts the service. @throws ConfigError; the signal's reason */
export async function start(role: Role, context: StartContext): Promise<void> {
  const { config, log, cleanups, signal } = context;
  if (process.getuid?.() === 0) {
    log.warn('running as root: start the service under an ordinary account that owns DATA_DIR');
  }
  const readiness = new Readiness(signal);
  const metrics =
    config.metrics && (await startOperatorServer(config.metrics, { config, readiness, log, cleanups }));
  ensureDataDir(config);
  const address = await databaseAddress(config, log, cleanups, signal);
  await prepareDatabase(address, config, log, signal);
  const db = openRequestPool(address, context);
  if (role === 'api') {
    await requireKey(db, config);
    await refuseShortKeys(db, config.apiKeys, log);
  }
  await startMaintenance(address, db, log, cleanups);
  if (metrics) watchBacklog(metrics, db, log, cleanups);

  const objectStore = await openObjectStore(config);
  cleanups.push({ what: 'object store', dispose: () => objectStore.close() });
  const isReachable = await prepareObjectStore(objectStore, log);
  signal.throwIfAborted();
  if (isReachable) claimNewBucket(db, objectStore, context);
  const dailyPrune = startDailyPrune({ db, objectStore, rules: config.retention }, log);
  cleanups.push({ what: 'daily prune', dispose: () => closeWithin(dailyPrune.stop()) });

  const prepared = { config, log, cleanups, address, db, objectStore, metrics };
  const open = () => {
    readiness.open();
    // Not before: the start blocks the event loop for longer than a check may take.
    if (metrics) watchDependencies(metrics, { address, objectStore }, log, cleanups);
  };
  if (role === 'worker') {
    workOnQueue(prepared);
    open();
    return;
  }
  const key = generatedKey(config);
  const url = await serve(prepared);
  open();
  log.info({ url }, 'listening');
  if (key !== undefined) log.flush(() => process.stdout.write(banner(url, key, config)));
}

/** Starts the periodic tasks of each process. */
async function startMaintenance(
  address: DatabaseAddress,
  db: Database,
  log: Log,
  cleanups: Cleanup[],
): Promise<void> {
  const stopTasks = await startMaintenanceTasks(db, log);
  cleanups.push({ what: 'maintenance', dispose: () => closeWithin(stopTasks()) });
  await reportNamesOutsideNfc(db, log);
  const salesRollup = startSalesRollup(address, log);
  cleanups.push({ what: 'sales roll-up', dispose: () => closeWithin(salesRollup.stop()) });
  const searchIndexer = startSearchIndexer(address, log);
  cleanups.push({ what: 'search index', dispose: () => closeWithin(searchIndexer.stop()) });
}

function watchBacklog(metrics: Metrics, db: Database, log: Log, cleanups: Cleanup[]): void {
  const meter = startBacklogMeter(db, log);
  cleanups.push({ what: 'backlog meter', dispose: () => closeWithin(meter.stop()) });
  metrics.watchBacklog(meter.latest);
}

function watchDependencies(
  metrics: Metrics,
  dependencies: Dependencies,
  log: Log,
  cleanups: Cleanup[],
): void {
  const meter = startDependencyMeter(dependencies, log);
  cleanups.push({ what: 'dependency meter', dispose: () => closeWithin(meter.stop()) });
  metrics.watchDependencies(meter.latest);
}

/** Time that a start waits for the object store. */
const storeResponseMilliseconds = 1_000;

const loggedNames = 10;

async function reportNamesOutsideNfc(db: Database, log: Log): Promise<void> {
  const names = await listNamesOutsideNfc(db);
  if (names.length === 0) return;
  const fields = { count: names.length, names: names.slice(0, loggedNames) };
  log.warn(fields, 'partner names are not in NFC, they stay apart: npm run admin -- partners merge');
}

/**
 * Checks the store, as long as it responds: requests that need it get 503 until it is available.
 * @returns whether it is available
 * @throws ConfigError
 */
async function prepareObjectStore(objectStore: ObjectStore, log: Log): Promise<boolean> {
  const prepare = async () => {
    try {
      await objectStore.prepare();
      return true;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      log.warn({ err: error }, 'object store not reachable');
      return false;
    }
  };
  const preparing = prepare();
  const isAvailable = await Promise.race([
    preparing,
    sleep(storeResponseMilliseconds, 'silent' as const, { ref: false }),
  ]);
  if (isAvailable !== 'silent') return isAvailable;
  log.warn('object store does not respond');
  preparing.catch((error: unknown) => log.error({ err: error }, 'object store not usable'));
  return false;
}

/** Claims the bucket in the background: the service also works on a bucket of another database, but removes nothing there. */
function claimNewBucket(
  db: Database,
  objectStore: ObjectStore,
  { log, cleanups, signal }: Pick<StartContext, 'log' | 'cleanups' | 'signal'>,
): void {
  const claim = claimBucket(db, objectStore).then(
    (problem) => {
      if (problem) log.warn({ reason: problem.message }, 'bucket not known to belong to this database');
    },
    (error: unknown) => {
      if (!signal.aborted) log.warn({ err: error }, 'failed to claim the bucket');
    },
  );
  cleanups.push({ what: 'claim of the bucket', dispose: () => closeWithin(claim) });
}
