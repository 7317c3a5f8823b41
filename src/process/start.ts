import { startSalesRollup } from '../analytics/sales-rollup.service';
import { createApp } from '../app';
import { ensureDataDir, type Config } from '../config';
import { openDatabase } from '../db/database';
import { poolUse } from '../db/pool-use';
import { startRunner } from '../etl/runner';
import { createHttpServer } from '../http/server';
import { authenticateAny } from '../keys/authenticate';
import { localKey } from '../keys/local-key';
import { limits } from '../limits';
import type { Log } from '../log';
import { startRunWorker } from '../queue/run-worker';
import { openObjectStore, StorageError, type ObjectStore } from '../storage/object-store';
import { Readiness } from '../telemetry/readiness';
import type { Cleanup } from './cleanups';
import { closePool, closeWithin, databaseAddress, prepareDatabase, requireKey } from './database';
import { drain, listen } from './listen';
import { startOperatorServer } from './operator';
import { startSweep } from './sweep';
import { welcome } from './welcome';

/** `api` answers requests, and works on queued runs too unless told otherwise; `worker` does only that. */
export type Role = 'api' | 'worker';

/** Starts everything, noting how to undo it. @throws the signal's reason, as soon as it can, when it is given up */
export async function start(
  role: Role,
  config: Config,
  log: Log,
  cleanups: Cleanup[],
  signal: AbortSignal,
): Promise<void> {
  if (process.getuid?.() === 0) {
    log.warn('running as root: start the service under an ordinary account that owns DATA_DIR');
  }
  const readiness = new Readiness(signal);
  const metrics =
    config.metrics && (await startOperatorServer(config.metrics, config, readiness, log, cleanups));
  ensureDataDir(config);
  const address = await databaseAddress(config, cleanups, signal);
  await prepareDatabase(address, config, signal);
  const db = openDatabase(address, {
    applicationName: 'api',
    connectionsMax: config.databaseConnections,
    queryMilliseconds: limits.databaseQueryMilliseconds,
    preparesStatements: config.preparesStatements,
  });
  cleanups.push({ what: 'database pool', undo: () => closePool(db) });
  if (role === 'api') await requireKey(db, config);
  const sweep = new AbortController();
  cleanups.push({ what: 'sweep', undo: () => sweep.abort() });
  await startSweep(db, log, sweep.signal);
  const salesRollup = startSalesRollup(address, log);
  cleanups.push({ what: 'sums of sales', undo: () => closeWithin(salesRollup.stop()) });

  const objectStore = await openObjectStore(config);
  cleanups.push({ what: 'object store', undo: () => objectStore.close() });
  await prepareObjectStore(objectStore, log);
  signal.throwIfAborted();

  const store = { s3: config.s3, dataDir: config.dataDir };
  const { logLevel, concurrentRuns } = config;
  const runner = startRunner({ address, store, logLevel, concurrentRuns }, db, log, metrics?.observeRun);
  cleanups.push({ what: 'ETL', undo: () => runner.stop() });

  const { shutdownSeconds } = config;
  const worker =
    role === 'worker' || config.worksOnQueue
      ? startRunWorker(address, { db, runner, log, concurrentRuns, shutdownSeconds })
      : undefined;
  cleanups.push({ what: 'work on queued runs', undo: () => worker?.stop() });
  if (role === 'worker') {
    metrics?.watch({ api: () => poolUse(db) }, runner);
    readiness.open({ address, objectStore });
    log.info({ concurrent_runs: concurrentRuns }, 'working on queued runs');
    return;
  }

  const claims = openDatabase(address, {
    applicationName: 'upload keys',
    connectionsMax: config.concurrentUploads,
    queryMilliseconds: limits.databaseQueryMilliseconds,
  });
  cleanups.push({ what: 'pool of upload keys', undo: () => closePool(claims) });
  const keyIsGenerated = config.apiKeys.length === 0 && config.databaseUrl === undefined;
  const apiKeys = keyIsGenerated ? [localKey(config.dataDir)] : config.apiKeys;
  const app = await createApp({
    config,
    authenticate: authenticateAny(apiKeys, db),
    address,
    db,
    claims,
    objectStore,
    runner,
    log,
    observeRequest: metrics?.observeRequest,
  });
  const { connectionsMax } = config;
  const server = createHttpServer(app.handle, { connectionsMax, onRefusal: app.logRefusal });
  const url = await listen(server, config, { host: 'HOST', port: 'PORT' });
  const stopServer = () => {
    // Both at once: each may take its time. What goes wrong there is told when it is waited for.
    worker?.stop().catch(() => undefined);
    return drain(server, app.drain(), shutdownSeconds);
  };
  cleanups.push({ what: 'server', undo: stopServer });

  metrics?.watch({ api: () => poolUse(db), upload_keys: () => poolUse(claims) }, runner);
  readiness.open({ address, objectStore });
  log.info({ url }, 'listening');
  if (keyIsGenerated) process.stdout.write(welcome(url, apiKeys[0]!, config));
}

async function prepareObjectStore(objectStore: ObjectStore, log: Log): Promise<void> {
  try {
    await objectStore.prepare();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    // It may come back; until then, what needs it is 503.
    log.warn({ err: error }, 'the object store cannot be reached');
  }
}
