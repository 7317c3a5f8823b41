import { databaseTimeouts } from '../../src/base/db/transaction';
import type { AddressInfo } from 'node:net';
import { createApp, type App } from '../../src/app';
import { openDatabase, type Database, type DatabaseAddress } from '../../src/base/db/database';
import { poolUse } from '../../src/base/db/dialect';
import type { EtlThread } from '../../src/runs/execution/etl-thread';
import { streamRejects } from '../../src/runs/execution/rejects';
import { planFeed } from '../../src/runs/execution/plan-feed';
import type { RunContext } from '../../src/runs/execution/load-feed';
import { runFeed, type RunOutcome } from '../../src/runs/execution/run-feed';
import { lastRunOf } from './requested-runs';
import { sendThrough } from '../../src/runs/execution/thread-stream';
import { loadConfig } from '../../src/config';
import type { RateLimit } from '../../src/http/rate-limit';
import { createHttpServer, type ServerOptions } from '../../src/http/server';
import type { DelayWrongKey } from '../../src/http/keys/wrong-keys';
import { authenticateAny, authenticateConfigured } from '../../src/http/keys/authenticate';
import { createLog, type Log } from '../../src/base/log';
import { startRunWorker } from '../../src/runs/execution/worker';
import { generateSecretsKey, SecretBox } from '../../src/base/secret-box';
import { startSourceWorker } from '../../src/intake/sources/worker';
import { startWebhookHousekeeping } from '../../src/webhooks/housekeeping';
import { startWebhookWorker } from '../../src/webhooks/worker';
import { FileStore } from '../../src/base/storage/file-store';
import type { ObjectStore } from '../../src/base/storage/object-store';
import { afterFile, createTestFolder } from './harness';
import { ApiClient } from './api-client';
import { recordResponses } from './coverage';
import { createTestDatabase, serviceWay, shared } from './databases';
import { unavailable } from '../../src/base/errors';
import type { Document } from 'openapi-backend';
import document from '../../generated/openapi.json';
import { createApplication } from '../../src/http/application';
import type { Operations } from '../../src/http/contract/contract';
import { InFlight } from '../../src/http/contract/in-flight';
import { openOperations } from '../../src/http/contract/operations';
import { readerOfPuts } from '../../src/http/contract/read-as-put';
import { RequestLog } from '../../src/http/request-log';
import { operations } from './contract';
import { digestOf, generateKey } from '../../src/base/key-format';
import { insertKey, type NewKey } from '../../src/http/keys/keys.repository';

/** The whole application on a database and an object store of its own, and a client with a valid key. */
export interface TestService {
  api: ApiClient;
  url: string;
  /** The test's own pool. */
  db: Database;
  /** The service's own pool; the same one if both connect in the same way. */
  pool: Database;
  address: DatabaseAddress;
  objectStore: ObjectStore;
  /** The folder of the local object store; empty if another store was given. */
  dataDir: string;
  /** Claims and runs a queued job, like the ETL thread. */
  runClaimed: (jobId: number) => Promise<RunOutcome>;
}

export const testSecretBox = new SecretBox(generateSecretsKey());
export const testKey = 'a-key-of-the-tests';
export const otherKey = 'another-key-of-the-tests';

/** Polling interval of workers for events and fetches: a test waits for each. */
const pollMilliseconds = 50;

/** Starts the application until the file ends; violations of the document become 500s. TEST_LOG_LEVEL=debug shows its log. */
export async function startTestService(
  options: {
    objectStore?: ObjectStore;
    uploadBytesMax?: number;
    defaultCurrency?: string;
    servicePages?: boolean;
    log?: Log;
    /** Another address of the database, for a separate pool of the application. */
    reachDatabase?: (address: DatabaseAddress) => Promise<DatabaseAddress>;
    rateLimit?: RateLimit;
    concurrentUploads?: number;
    concurrentDownloads?: number;
    concurrentRejects?: number;
    /** Absent: wrong keys are not delayed. */
    delayWrongKey?: DelayWrongKey;
    server?: ServerOptions;
    /** Number of concurrent queued runs; absent: none. */
    queuedRuns?: number;
    /** Options of source fetches; starts are spread over these seconds; absent: none. */
    sources?: { privateAddresses: boolean; spread?: number; partnerStaleDays?: number };
    /** Null: no source can have secrets. */
    secretBox?: SecretBox | null;
    /** Options of webhooks, with allowed addresses; absent: none are sent but pings. */
    webhooks?: 'to any address' | 'to public addresses';
    /** Allows private addresses to webhooks of partners; default: with `webhooks`, by it. */
    partnerWebhookPrivateAddresses?: boolean;
    /** Proxy of webhooks, pings and source fetches; absent: none. */
    outboundProxy?: URL;
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

  const partnerWebhookPrivateAddresses =
    options.partnerWebhookPrivateAddresses ?? options.webhooks === 'to any address';
  const secretBox = options.secretBox === null ? undefined : (options.secretBox ?? testSecretBox);
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
      partnerWebhookPrivateAddresses,
      outboundProxy: options.outboundProxy,
    },
    authenticate: authenticateAny([testKey, otherKey], db),
    address,
    db,
    claims,
    objectStore,
    runWorker,
    secretBox,
    concurrentDownloads: options.concurrentDownloads ?? 100,
    concurrentRejects: options.concurrentRejects,
    delayWrongKey: options.delayWrongKey ?? (() => Promise.resolve()),
    log,
    verifyResponses: true,
  });
  if (options.sources) {
    const { privateAddresses, ...times } = options.sources;
    const uploadBytesMax = options.uploadBytesMax ?? 64 * 1024 * 1024;
    const addresses = { privateAddresses, proxy: options.outboundProxy };
    const fetching = { db, objectStore, log, uploadBytesMax, secretBox, ...addresses };
    const worker = startSourceWorker(fetching, { shutdownSeconds: 0, pollMilliseconds, ...times });
    afterFile(() => worker.stop());
  }
  if (options.webhooks !== undefined) {
    const privateAddresses = options.webhooks === 'to any address';
    const worker = startWebhookWorker(db, {
      ...{ log, secretBox, privateAddresses, shutdownSeconds: 30, pollMilliseconds },
      partnerPrivateAddresses: partnerWebhookPrivateAddresses,
      proxy: options.outboundProxy,
    });
    const stopHousekeeping = startWebhookHousekeeping({ db, log }, pollMilliseconds);
    afterFile(async () => {
      await Promise.all([worker.stop(), stopHousekeeping()]);
    });
  }
  const server = createHttpServer(app.application, { ...options.server, onRefusal: app.logRefusal });
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
    api: new ApiClient(url, testKey),
    url,
    db: ownDb,
    pool: db,
    address: directAddress,
    objectStore,
    dataDir,
    runClaimed: async (jobId) => (await runFeed(await lastRunOf(ownDb, jobId), context)).outcome,
  };
}

/** Does the work of the ETL thread in this one. */
function etlInThisThread(context: RunContext): EtlThread {
  return {
    run: (claim) => runFeed(claim, context),
    plan: (target, page) => planFeed(target, page, context),
    sendRejects: async (request, port) => sendThrough(port, await streamRejects(request, context)),
    poolUse: () => poolUse(context.db),
    stop: () => Promise.resolve(),
  };
}

/** Opens a pool like the service's. It is closed after the file. */
function openWay(address: DatabaseAddress): { address: DatabaseAddress; db: Database } {
  const { queryMilliseconds } = databaseTimeouts;
  const { databaseConnections: connectionsMax } = loadConfig({});
  // Proxies before PostgreSQL match texts of statements, which prepared statements send only once.
  const preparesStatements = address.host === shared().pooler?.host ? 'if kept' : false;
  const pool = { applicationName: 'api', connectionsMax, queryMilliseconds, preparesStatements } as const;
  const db = openDatabase(address, pool);
  afterFile(() => db.destroy());
  return { address, db };
}

/** Starts the application without runs against any database address, even an unreachable one; it is stopped after the file. */
export async function startAppAt(
  address: DatabaseAddress,
  pool: { connectionsMax?: number; queryMilliseconds?: number; acquireMilliseconds?: number } = {},
): Promise<{ api: ApiClient; url: string; app: App }> {
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 10, ...pool });
  const claims = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  const objectStore = new FileStore(createTestFolder());
  await objectStore.prepare();
  const app = await createApp({
    config: {
      uploadBytesMax: 1024 * 1024,
      defaultCurrency: 'USD',
      servicePages: true,
      concurrentUploads: 10,
    },
    authenticate: authenticateAny([testKey], db),
    address,
    db,
    claims,
    objectStore,
    runWorker: {
      run: () => Promise.resolve('unavailable'),
      plan: () => Promise.reject(unavailable('no worker')),
      rejects: () => Promise.reject(unavailable('no worker')),
      wake: () => undefined,
      use: () => ({ working: 0, waiting: 0, pool: { used: 0, free: 0, waiting: 0 } }),
      stopClaiming: () => Promise.resolve(),
    },
    log: createLog(process.env.TEST_LOG_LEVEL ?? 'fatal'),
    verifyResponses: true,
  });
  const server = createHttpServer(app.application);
  recordResponses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
    await app.drain();
    await claims.destroy();
    await db.destroy();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { api: new ApiClient(url, testKey), url, app };
}

/** Serves the document with handlers that all fail in the same way; it is stopped after the file. */
export async function startFailingApp(fail: () => unknown): Promise<ApiClient> {
  const failing = Object.fromEntries(operations.map(({ operationId }) => [operationId, { handle: fail }]));
  const log = createLog('silent');
  const openApi = await openOperations(
    document as unknown as Document,
    failing as unknown as Operations,
    1024 * 1024,
  );
  const application = createApplication({
    openApi,
    authenticate: authenticateConfigured([testKey]),
    delayWrongKey: () => Promise.resolve(),
    countRequest: () => Promise.resolve(),
    service: {
      openLog: () => log,
      isDraining: () => false,
      readAsPut: readerOfPuts(openApi),
      inFlight: new InFlight(),
    },
    requestLog: new RequestLog(log, []),
    verifyResponses: true,
  });
  const server = createHttpServer(application);
  recordResponses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new ApiClient(url, testKey);
}

/** Returns a client with a new key of the database, limited to a partner and by options if given. */
export async function withStoredKey(
  { api, db }: Pick<TestService, 'api' | 'db'>,
  partnerName: string | null,
  keyName = `key of ${partnerName ?? 'everybody'}`,
  limits: Pick<NewKey, 'is_read_only' | 'expires_at'> = {},
): Promise<ApiClient> {
  const key = generateKey();
  const isNew = await insertKey(db, {
    key_name: keyName,
    key_digest: digestOf(key),
    partner_name: partnerName,
    ...limits,
  });
  if (!isNew) throw new Error(`There is a key named ${keyName} already.`);
  return api.withKey(key);
}
