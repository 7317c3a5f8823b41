import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSalesRollup } from './analytics/sales-rollup.service';
import { createApp } from './app';
import { ConfigError, ensureDataDir, loadConfig, type Config } from './config';
import { limits } from './limits';
import { openDatabase, type Database, type DatabaseAddress } from './db/database';
import { poolUse } from './db/pool-use';
import { startEmbeddedPostgres } from './db/embedded-postgres';
import { migrateToLatest, waitForMigrations } from './db/migrate';
import { startRunner } from './etl/runner';
import { createHttpServer } from './http/server';
import { deleteExpiredAnswers } from './idempotency/idempotency.repository';
import { failInterruptedRuns } from './jobs/jobs.repository';
import { authenticateAny } from './keys/authenticate';
import { hasKeyInUse } from './keys/keys.repository';
import { localKey } from './keys/local-key';
import { createLog, type Log } from './log';
import { startRunWorker } from './queue/run-worker';
import { openObjectStore, StorageError, type ObjectStore } from './storage/object-store';
import type { Metrics } from './telemetry/metrics';
import { Readiness } from './telemetry/readiness';

/** What is left to undo when the process stops, in the order in which it was done. */
type Cleanup = { what: string; undo: (deadline: number) => Promise<void> | void };

/**
 * `api` answers requests, and works on queued runs too unless told otherwise; `worker` does only that. `migrate` brings the
 * schema up to date, and ends.
 */
const roles = ['api', 'worker', 'migrate'] as const;
type Role = (typeof roles)[number];

const isRole = (text: string): text is Role => roles.some((role) => role === text);

async function main(): Promise<void> {
  const [, , role = 'api'] = process.argv;
  if (!isRole(role)) throw new ConfigError(`Unknown argument ${role}: it must be worker, migrate, or none.`);
  const config = loadConfig(process.env);
  if (role === 'worker' && config.databaseUrl === undefined) {
    throw new ConfigError('Wrong setting DATABASE_URL: a worker needs it, and the one of the API processes.');
  }
  const log = createLog(config.logLevel);
  const cleanups: Cleanup[] = [];
  const stopping = new AbortController();
  const starting =
    role === 'migrate'
      ? migrate(config, log, cleanups, stopping.signal)
      : start(role, config, log, cleanups, stopping.signal);
  const stop = once(async (reason: string) => {
    const deadline = Date.now() + stopMilliseconds(config);
    log.info({ reason }, 'stopping');
    stopping.abort();
    // Half a start cannot be undone: what it is about to open would be left behind. It ends by itself now, unless what
    // it waits for does not answer.
    const patience = limits.stopMilliseconds - limits.stopReserveMilliseconds;
    await Promise.race([starting.catch(() => undefined), sleep(patience)]);
    await undoAll(cleanups, log, deadline);
    // Whoever waits for a migration must not take it for done.
    process.exit(role === 'migrate' ? 1 : 0);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));

  try {
    await starting;
    if (role === 'migrate') await undoAll(cleanups, log, Date.now() + limits.stopMilliseconds);
  } catch (error) {
    if (stopping.signal.aborted) return;
    await undoAll(cleanups, log, Date.now() + limits.stopMilliseconds);
    throw error;
  }
}

/** How long a stop may take, from the signal on: more than promised only if requests in flight may take that long. */
function stopMilliseconds({ shutdownSeconds }: Config): number {
  return Math.max(limits.stopMilliseconds, shutdownSeconds * 1000 + limits.stopReserveMilliseconds);
}

async function undoAll(cleanups: Cleanup[], log: Log, deadline: number): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) {
    try {
      await cleanup.undo(deadline);
    } catch (error) {
      log.error({ err: error, what: cleanup.what }, 'stopping went wrong');
    }
  }
}

async function migrate(config: Config, log: Log, cleanups: Cleanup[], signal: AbortSignal): Promise<void> {
  // An embedded server needs a place for its data.
  if (!config.databaseUrl) ensureDataDir(config);
  const address = await databaseAddress(config, cleanups, signal);
  await prepareDatabase(address, { ...config, migratesOnStart: true }, log, signal);
  log.info('the schema is up to date');
}

/** Starts everything, noting how to undo it. @throws the signal's reason, as soon as it can, when it is given up */
async function start(
  role: Exclude<Role, 'migrate'>,
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
  await prepareDatabase(address, config, log, signal);
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

async function databaseAddress(
  config: Config,
  cleanups: Cleanup[],
  signal: AbortSignal,
): Promise<DatabaseAddress> {
  if (config.databaseUrl) return { connectionString: config.databaseUrl };
  const postgres = await startEmbeddedPostgres(config.dataDir, {}, signal);
  cleanups.push({ what: 'PostgreSQL', undo: (deadline) => postgres.stop(deadline) });
  return postgres.address;
}

/** On a pool of its own: a migration may take longer than a request's statements. */
async function prepareDatabase(
  address: DatabaseAddress,
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const db = openDatabase(address, { applicationName: 'migration', connectionsMax: 2 });
  try {
    if (config.migratesOnStart) await migrateToLatest(db, signal);
    else
      await waitForMigrations(db, (missing) => log.warn({ missing }, 'waiting for npm run migrate'), signal);
  } catch (error) {
    signal.throwIfAborted();
    const name = config.databaseUrl ? 'Wrong setting DATABASE_URL: the' : 'The embedded';
    throw new ConfigError(`${name} database cannot be used (${(error as Error).message}).`, { cause: error });
  } finally {
    await closePool(db);
  }
}

/** With a database of its own the service has an operator, who decides on the keys. */
async function requireKey(db: Database, { databaseUrl, apiKeys }: Config): Promise<void> {
  if (databaseUrl === undefined || apiKeys.length > 0 || (await hasKeyInUse(db))) return;
  throw new ConfigError(
    'Wrong setting API_KEYS: it must hold at least one key when DATABASE_URL is set, unless the database has one: ' +
      'npm run keys -- create NAME.',
  );
}

const closePool = (db: Database) => closeWithin(db.destroy());

/** A connection that does not answer is left to the end of the process. */
function closeWithin(closed: Promise<void>): Promise<void> {
  return Promise.race([closed, sleep(limits.closeMilliseconds, undefined, { ref: false })]);
}

/**
 * Shows runs as failed whose process has died, here or elsewhere, and forgets what was answered too long ago: now, and
 * then one look after the other.
 */
async function startSweep(db: Database, log: Log, signal: AbortSignal): Promise<void> {
  const sweep = async () => {
    try {
      const interrupted = await failInterruptedRuns(db);
      if (interrupted.length > 0) log.warn({ job_ids: interrupted }, 'interrupted runs are marked as failed');
    } catch (error) {
      log.warn({ err: error }, 'interrupted runs could not be looked for');
    }
    try {
      await deleteExpiredAnswers(db);
    } catch (error) {
      log.warn({ err: error }, 'expired answers to idempotent requests could not be removed');
    }
  };
  const sweepOn = async () => {
    for (;;) {
      await sleep(limits.interruptedRunsMilliseconds, undefined, { ref: false, signal });
      await sweep();
    }
  };
  await sweep();
  // It ends by the signal alone.
  sweepOn().catch(() => undefined);
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

/** Metrics and probes: there from the start, and until the end. Their code is loaded only here: it takes 10 MB. */
async function startOperatorServer(
  at: NonNullable<Config['metrics']>,
  { host }: Config,
  readiness: Readiness,
  log: Log,
  cleanups: Cleanup[],
): Promise<Metrics> {
  const { Metrics } = await import('./telemetry/metrics.js');
  const { createOperatorServer } = await import('./telemetry/operator-server.js');
  const metrics = new Metrics();
  const server = createOperatorServer(metrics, readiness, log);
  const hostSetting = at.host === host ? 'HOST' : 'METRICS_HOST';
  const metricsUrl = await listen(server, at, { host: hostSetting, port: 'METRICS_PORT' });
  cleanups.push({
    what: 'metrics',
    undo: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  log.info({ metrics_url: metricsUrl }, 'metrics and probes');
  return metrics;
}

/** @returns the address, for people on this machine. @throws ConfigError that names the setting which does not work */
function listen(
  server: Server,
  { host, port }: { host: string; port: number },
  settings: { host: string; port: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const name = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? settings.port : settings.host;
      reject(new ConfigError(`Wrong setting ${name}: cannot listen on ${host}:${port} (${error.message}).`));
    });
    server.listen(port, host, () => {
      const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
      const { port: actual } = server.address() as AddressInfo;
      resolve(`http://${shown.includes(':') ? `[${shown}]` : shown}:${actual}`);
    });
  });
}

/** Takes no new work, lets what is in flight end, and cuts it after `shutdownSeconds`. */
async function drain(server: Server, ended: Promise<void>, shutdownSeconds: number): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await Promise.race([ended, sleep(shutdownSeconds * 1000, undefined, { ref: false })]);
  server.closeAllConnections();
  // A request that was cut removes what it has stored.
  await Promise.race([ended, sleep(limits.cutRequestMilliseconds, undefined, { ref: false })]);
}

function once(action: (reason: string) => Promise<void>): (reason: string) => Promise<void> {
  let started: Promise<void> | undefined;
  return (reason) => (started ??= action(reason));
}

function welcome(url: string, key: string, { dataDir, servicePages }: Config): string {
  const header = `-H 'x-api-key: ${key}'`;
  return `
Partner Catalog Integration Service

  address  ${url}
  API key  ${key}
  data     ${dataDir}${servicePages ? `\n  docs     ${url}/docs` : ''}

Upload a feed, run its validation job, and look at the products:

  job=$(printf 'sku,product_name,price,currency\\nTENT-2,Two-person tent,189.90,EUR\\n' | curl -s ${header} -F 'partner_name=Acme Outdoor' -F 'file=@-;filename=feed.csv;type=text/csv' ${url}/feeds/upload | sed -E 's/.*"validation_job_id":"([^"]+)".*/\\1/'); echo "$job"
  curl -s -X POST ${header} ${url}/jobs/$job/run
  curl -s ${header} ${url}/products

`;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof ConfigError ? error.message : readable(error)}\n`);
  process.exit(1);
});

function readable(error: unknown): string {
  return error instanceof Error ? `The service cannot start: ${error.message}` : String(error);
}
