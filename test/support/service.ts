import type { AddressInfo } from 'node:net';
import { createApp } from '../../src/app';
import { openDatabase, type Database, type DatabaseAddress } from '../../src/db/database';
import * as transactionModule from '../../src/db/transaction';
import { poolUse } from '../../src/db/pool-use';
import type { EtlThread } from '../../src/runs/etl-thread';
import { openRejects } from '../../src/runs/rejects';
import { planFeed } from '../../src/runs/plan-feed';
import { runFeed, type RunContext, type RunOutcome } from '../../src/runs/run-feed';
import { sendThrough } from '../../src/runs/thread-stream';
import { loadConfig } from '../../src/config';
import type { RateLimit } from '../../src/http/rate-limit';
import { createHttpServer, type ServerOptions } from '../../src/http/server';
import type { DelayWrongKey } from '../../src/http/wrong-keys';
import { authenticateAny } from '../../src/keys/authenticate';
import { createLog, type Log } from '../../src/shared/log';
import { startRunWorker } from '../../src/runs/worker';
import { startWebhookWorker } from '../../src/webhooks/worker';
import { FileStore } from '../../src/storage/file-store';
import type { ObjectStore } from '../../src/storage/object-store';
import { afterFile } from './after-file';
import { ApiClient } from './api-client';
import { recordResponses } from './coverage';
import { createTestDatabase } from './database';
import { createTestFolder } from './folder';
import { serviceWay } from './shared';
import { proxyOf } from './through-prism';

/** The whole application on a database and an object store of its own, and a client with a valid key. */
export interface TestService {
  api: ApiClient;
  url: string;
  /** The test's own way to the database. */
  db: Database;
  /** The service's own pool; the same where it takes the same way. */
  pool: Database;
  address: DatabaseAddress;
  objectStore: ObjectStore;
  /** Where the local object store keeps its objects; empty when another store was given. */
  dataDir: string;
  /** Claims and runs a job that waits, as the ETL thread would. */
  runClaimed: (jobId: number) => Promise<RunOutcome>;
}

export const testKey = 'a-key-of-the-tests';
/** Another key that is as good. */
export const otherKey = 'another-key-of-the-tests';

/**
 * Starts the application on a free port; it is stopped after the file. Responses that break the document become 500s.
 * Show what it logs with TEST_LOG_LEVEL=debug.
 */
export async function startTestService(
  options: {
    objectStore?: ObjectStore;
    uploadBytesMax?: number;
    defaultCurrency?: string;
    servicePages?: boolean;
    log?: Log;
    /** Gives another way to the database, which the application then takes on a pool of its own. */
    reachDatabase?: (address: DatabaseAddress) => Promise<DatabaseAddress>;
    rateLimit?: RateLimit;
    concurrentUploads?: number;
    concurrentDownloads?: number;
    concurrentRejects?: number;
    /** Absent: wrong keys are not delayed. */
    delayWrongKey?: DelayWrongKey;
    server?: ServerOptions;
    /** How many queued runs it works on at a time; absent: none. */
    queuedRuns?: number;
    /** Whether it sends webhooks, and to which addresses; absent: it does not. */
    webhooks?: 'to any address' | 'to public addresses';
  } = {},
): Promise<TestService> {
  const { address: directAddress, db: ownDb } = await createTestDatabase();
  const way = (await options.reachDatabase?.(directAddress)) ?? serviceWay(directAddress);
  const { address, db } =
    way.host === directAddress.host ? { address: directAddress, db: ownDb } : openWay(way);
  const dataDir = options.objectStore ? '' : createTestFolder();
  const objectStore = options.objectStore ?? new FileStore(dataDir);
  await objectStore.prepare();
  const log = options.log ?? createLog(process.env.TEST_LOG_LEVEL ?? 'fatal');
  const context: RunContext = { db, objectStore, log };
  const runWorker = startRunWorker({
    thread: etlInThisThread(context),
    db,
    queue: options.queuedRuns === undefined ? undefined : db,
    log,
    limits: { concurrentRuns: options.queuedRuns ?? 100, concurrentRunsOfPartner: 100 },
  });
  afterFile(() => runWorker.stopClaiming(30_000));

  const claims = openDatabase(address, {
    applicationName: 'upload keys',
    connectionsMax: options.concurrentUploads ?? 10,
  });
  const app = await createApp({
    config: {
      uploadBytesMax: options.uploadBytesMax ?? 64 * 1024 * 1024,
      defaultCurrency: options.defaultCurrency ?? 'USD',
      servicePages: options.servicePages ?? true,
      rateLimit: options.rateLimit,
      concurrentUploads: options.concurrentUploads ?? 100,
      concurrentDownloads: options.concurrentDownloads ?? 100,
    },
    authenticate: authenticateAny([testKey, otherKey], db),
    address,
    db,
    claims,
    objectStore,
    runWorker,
    concurrentRejects: options.concurrentRejects,
    delayWrongKey: options.delayWrongKey ?? (() => Promise.resolve()),
    log,
    verifyResponses: true,
  });
  if (options.webhooks !== undefined) {
    const privateAddresses = options.webhooks === 'to any address';
    const worker = startWebhookWorker(db, { log, privateAddresses, shutdownSeconds: 30 });
    afterFile(() => worker.stop());
  }
  const server = createHttpServer(app.handle, { ...options.server, onRefusal: app.logRefusal });
  recordResponses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
    await app.drain();
    await claims.destroy();
    objectStore.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    api: new ApiClient(url, testKey, await proxyOf(url)),
    url,
    db: ownDb,
    pool: db,
    address: directAddress,
    objectStore,
    dataDir,
    runClaimed: async (jobId) => (await runFeed({ jobId }, context)).outcome,
  };
}

/** Does what the ETL thread does in this one. */
function etlInThisThread(context: RunContext): EtlThread {
  return {
    run: (claim) => runFeed(claim, context),
    plan: (jobId, page) => planFeed(jobId, page, context),
    sendRejects: async (request, port) => sendThrough(port, await openRejects(request, context)),
    poolUse: () => poolUse(context.db),
    stop: () => Promise.resolve(),
  };
}

/** A pool as the service has it. It is closed after the file. */
function openWay(address: DatabaseAddress): { address: DatabaseAddress; db: Database } {
  const { databaseQueryMilliseconds: queryMilliseconds } = transactionModule;
  const { databaseConnections: connectionsMax } = loadConfig({});
  const db = openDatabase(address, { applicationName: 'api', connectionsMax, queryMilliseconds });
  afterFile(() => db.destroy());
  return { address, db };
}
