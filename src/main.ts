import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from './app';
import { ConfigError, ensureDataDir, limits, loadConfig, type Config } from './config';
import { openDatabase, type Database, type DatabaseAddress } from './db/database';
import { startEmbeddedPostgres } from './db/embedded-postgres';
import { migrateToLatest } from './db/migrate';
import { startRunner } from './etl/runner';
import { createHttpServer } from './http/server';
import { failInterruptedRuns } from './jobs/jobs.repository';
import { localKey } from './keys/api-keys';
import { createLog, type Log } from './log';
import { openObjectStore, StorageError, type ObjectStore } from './storage/object-store';

/** What is left to undo when the process stops, in the order in which it was done. */
type Cleanup = { what: string; undo: () => Promise<void> | void };

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLog(config.logLevel);
  const cleanups: Cleanup[] = [];
  const starting = start(config, log, cleanups);
  const stop = once(async (reason: string) => {
    log.info({ reason }, 'stopping');
    // Half a start cannot be undone: what it is about to open would be left behind.
    await starting.catch(() => undefined);
    await undoAll(cleanups, log);
    process.exit(0);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));

  try {
    await starting;
  } catch (error) {
    await undoAll(cleanups, log);
    throw error;
  }
}

async function undoAll(cleanups: Cleanup[], log: Log): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) {
    try {
      await cleanup.undo();
    } catch (error) {
      log.error({ err: error, what: cleanup.what }, 'stopping went wrong');
    }
  }
}

async function start(config: Config, log: Log, cleanups: Cleanup[]): Promise<void> {
  ensureDataDir(config);
  const address = await databaseAddress(config, cleanups);
  const db = openDatabase(address, { applicationName: 'api', connectionsMax: limits.databaseConnections });
  cleanups.push({
    what: 'database pool',
    undo: () => Promise.race([db.destroy(), sleep(limits.closeMilliseconds, undefined, { ref: false })]),
  });
  await prepareDatabase(db, config);
  const sweep = await startSweep(db, log);
  cleanups.push({ what: 'sweep', undo: () => clearInterval(sweep) });

  const objectStore = await openObjectStore(config);
  cleanups.push({ what: 'object store', undo: () => objectStore.close() });
  await prepareObjectStore(objectStore, log);

  const store = { s3: config.s3, dataDir: config.dataDir };
  const runner = startRunner({ address, store, logLevel: config.logLevel }, db, log);
  cleanups.push({ what: 'ETL', undo: () => runner.stop() });

  const keyIsGenerated = config.apiKeys.length === 0;
  const apiKeys = keyIsGenerated ? [localKey(config.dataDir)] : config.apiKeys;
  const app = await createApp({ config, apiKeys, address, db, objectStore, runner, log });
  const server = createHttpServer(app.express);
  await listen(server, config);
  cleanups.push({ what: 'server', undo: () => drain(server, app.drain(), config.shutdownSeconds) });

  const { port } = server.address() as AddressInfo;
  const host = config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  log.info({ url }, 'listening');
  if (keyIsGenerated) process.stdout.write(welcome(url, apiKeys[0]!, config.dataDir));
}

async function databaseAddress(config: Config, cleanups: Cleanup[]): Promise<DatabaseAddress> {
  if (config.databaseUrl) return { connectionString: config.databaseUrl };
  const postgres = await startEmbeddedPostgres(config.dataDir);
  cleanups.push({ what: 'PostgreSQL', undo: () => postgres.stop() });
  return postgres.address;
}

async function prepareDatabase(db: Database, config: Config): Promise<void> {
  try {
    await migrateToLatest(db);
  } catch (error) {
    const name = config.databaseUrl ? 'Wrong setting DATABASE_URL: the' : 'The embedded';
    throw new ConfigError(`${name} database cannot be used (${(error as Error).message}).`, { cause: error });
  }
}

/** Shows runs as failed whose process has died, here or elsewhere: now, and whenever one has. */
async function startSweep(db: Database, log: Log): Promise<NodeJS.Timeout> {
  const sweep = async () => {
    try {
      const interrupted = await failInterruptedRuns(db);
      if (interrupted.length > 0) log.warn({ job_ids: interrupted }, 'interrupted runs are marked as failed');
    } catch (error) {
      log.warn({ err: error }, 'interrupted runs could not be looked for');
    }
  };
  await sweep();
  return setInterval(() => void sweep(), limits.interruptedRunsMilliseconds).unref();
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

function listen(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const name = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? 'PORT' : 'HOST';
      reject(new ConfigError(`Wrong setting ${name}: cannot listen on ${host}:${port} (${error.message}).`));
    });
    server.listen(port, host, () => resolve());
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

function welcome(url: string, key: string, dataDir: string): string {
  const header = `-H 'x-api-key: ${key}'`;
  return `
Partner Catalog Integration Service

  address  ${url}
  API key  ${key}
  data     ${dataDir}

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
