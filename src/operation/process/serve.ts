import { createApp } from '../../app';
import type { Config } from '../../config';
import {
  idleConnectionMilliseconds,
  openDatabase,
  type Database,
  type DatabaseAddress,
} from '../../base/db/database';
import { poolUse } from '../../base/db/dialect';
import { readsThrough } from '../../base/db/reads';
import { Replica } from '../../base/db/replica';
import { openEtlThread } from '../../runs/execution/etl-thread';
import { createHttpServer } from '../../http/server';
import { authenticateAny } from '../../http/keys/authenticate';
import { KeyUse } from '../../http/keys/key-use';
import { localKey } from '../../base/local-key';
import { secretBoxOf } from './secret-box';
import type { Log } from '../../base/log';
import { startRunWorker, type RunWorker } from '../../runs/execution/worker';
import { startSourceWorker } from '../../intake/sources/worker';
import { startWebhookHousekeeping } from '../../webhooks/housekeeping';
import { startWebhookWorker } from '../../webhooks/worker';
import type { ObjectStore } from '../../base/storage/object-store';
import type { Metrics } from '../telemetry/metrics';
import type { Cleanup } from './cleanups';
import { queueConnections } from './connections';
import { closePool, closeWithin } from './database';
import { drain, listen } from './listen';
import { databaseTimeouts } from '../../base/db/transaction';

/** `api` serves requests, and works on runs, webhooks and fetches unless `QUEUE_WORKER` is off; `worker` only works on these. */
export type Role = 'api' | 'worker';

/** The resources of a process after its preparation. */
export interface Prepared {
  config: Config;
  log: Log;
  cleanups: Cleanup[];
  address: DatabaseAddress;
  db: Database;
  objectStore: ObjectStore;
  metrics?: Metrics;
}

export function openRequestPool(
  address: DatabaseAddress,
  { config, log, cleanups }: Pick<Prepared, 'config' | 'log' | 'cleanups'>,
): Database {
  const db = openDatabase(address, {
    applicationName: 'api',
    connectionsMax: config.databaseConnections,
    queryMilliseconds: databaseTimeouts.queryMilliseconds,
    idleMilliseconds: idleConnectionMilliseconds.ofRequests,
    preparesStatements: config.preparesStatements,
    log,
  });
  cleanups.push({ what: 'database pool', dispose: () => closePool(db) });
  return db;
}

/** Works on runs, webhooks and fetches without serving requests. */
export function workOnQueue(prepared: Prepared): void {
  const { config, log, db, metrics } = prepared;
  const { worker } = startRuns('worker', prepared);
  metrics?.watch({ api: () => poolUse(db) }, worker);
  log.info({ concurrent_runs: config.concurrentRuns }, 'working on queued runs');
}

/** Serves requests. @returns the address. @throws ConfigError that names the wrong setting */
export async function serve(prepared: Prepared): Promise<string> {
  const { config, log, cleanups, address, db, objectStore, metrics } = prepared;
  const { worker, stopWork } = startRuns('api', prepared);
  const claims = openDatabase(address, {
    applicationName: 'upload keys',
    connectionsMax: config.concurrentUploads,
    queryMilliseconds: databaseTimeouts.queryMilliseconds,
  });
  cleanups.push({ what: 'pool of upload keys', dispose: () => closePool(claims) });
  const { preparesStatements } = config;
  const replica = config.replica && new Replica(config.replica, db, log, { preparesStatements, log });
  cleanups.push({ what: 'replica', dispose: () => replica && closeWithin(replica.stop()) });
  const key = generatedKey(config);
  const keyUse = new KeyUse(db);
  const stopRecording = keyUse.flushRegularly(log);
  cleanups.push({ what: 'use of keys', dispose: () => closeWithin(stopRecording()) });
  const app = await createApp({
    config,
    authenticate: authenticateAny(key === undefined ? config.apiKeys : [key], db, keyUse.note),
    address,
    db,
    reads: replica && readsThrough(replica, db, log),
    claims,
    objectStore,
    runWorker: worker,
    secretBox: secretBoxOf(config),
    log,
    observeRequest: metrics?.observeRequest,
  });
  const { connectionsMax, shutdownSeconds } = config;
  const server = createHttpServer(app.application, { connectionsMax, onRefusal: app.logRefusal });
  const url = await listen(server, config, { host: 'HOST', port: 'PORT' });
  const stopServer = () => {
    // Concurrently with the server. Its own cleanup reports an error.
    stopWork().catch(() => undefined);
    return drain(server, app.drain(), shutdownSeconds);
  };
  cleanups.push({ what: 'server', dispose: stopServer });
  const pools = { api: () => poolUse(db), upload_keys: () => poolUse(claims) };
  metrics?.watch(replica ? { ...pools, replica: () => poolUse(replica.pool) } : pools, worker);
  if (replica) metrics?.watchReplica(replica);
  return url;
}

/** Returns the generated key of a service with neither API_KEYS nor DATABASE_URL. */
export function generatedKey({ apiKeys, databaseUrl, dataDir }: Config): string | undefined {
  return apiKeys.length === 0 && databaseUrl === undefined ? localKey(dataDir) : undefined;
}

/** Opens a pool for background work, which must not wait for requests. */
function openQueuePool(address: DatabaseAddress, cleanups: Cleanup[]): Database {
  const db = openDatabase(address, {
    applicationName: 'queue',
    connectionsMax: queueConnections,
    queryMilliseconds: databaseTimeouts.queryMilliseconds,
  });
  cleanups.push({ what: 'pool of the queue', dispose: () => closePool(db) });
  return db;
}

/** Starts the run worker, and the workers of webhooks and sources if this process executes queued work. */
function startRuns(role: Role, prepared: Prepared): { worker: RunWorker; stopWork: () => Promise<void> } {
  const { config, log, cleanups, address, db, objectStore, metrics } = prepared;
  const store = { s3: config.s3, dataDir: config.dataDir };
  const { logLevel, concurrentRuns, shutdownSeconds } = config;
  metrics?.watchThreads();
  const thread = openEtlThread({ address, store, logLevel, concurrentRuns }, db, log);
  cleanups.push({ what: 'ETL', dispose: () => thread.stop() });
  const queue = role === 'worker' || config.worksOnQueue ? openQueuePool(address, cleanups) : undefined;
  const worker = startRunWorker({ thread, db, queue, log, limits: config, observe: metrics?.observeRun });
  const webhooks =
    queue &&
    startWebhookWorker(queue, {
      log,
      secretBox: secretBoxOf(config),
      privateAddresses: config.webhookPrivateAddresses,
      partnerPrivateAddresses: config.partnerWebhookPrivateAddresses,
      proxy: config.outboundProxy,
      shutdownSeconds,
      observe: metrics?.observeDeliveries,
    });
  const stopHousekeeping =
    queue && startWebhookHousekeeping({ db, log, observe: metrics?.observeDeliveries });
  cleanups.push({
    what: 'webhook housekeeping',
    dispose: () => stopHousekeeping && closeWithin(stopHousekeeping()),
  });
  const sources =
    queue &&
    startSourceWorker(
      {
        db: queue,
        objectStore,
        log,
        uploadBytesMax: config.uploadBytesMax,
        secretBox: secretBoxOf(config),
        privateAddresses: config.sourcePrivateAddresses,
        proxy: config.outboundProxy,
        observe: metrics?.observeFetch,
      },
      { shutdownSeconds, partnerStaleDays: config.partnerStaleDays },
    );
  const stopWork = async () => {
    await Promise.all([worker.stopClaiming(shutdownSeconds * 1000), webhooks?.stop(), sources?.stop()]);
  };
  cleanups.push({ what: 'work on the queue', dispose: stopWork });
  return { worker, stopWork };
}
