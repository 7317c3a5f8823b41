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
type Cleanup = { what: string; undo: (deadline: number) => Promise<void> | void };

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLog(config.logLevel);
  const cleanups: Cleanup[] = [];
  const stopping = new AbortController();
  const starting = start(config, log, cleanups, stopping.signal);
  const stop = once(async (reason: string) => {
    const deadline = Date.now() + stopMilliseconds(config);
    log.info({ reason }, 'stopping');
    stopping.abort();
    // Half a start cannot be undone: what it is about to open would be left behind. It ends by itself now, unless what
    // it waits for does not answer.
    const patience = limits.stopMilliseconds - limits.stopReserveMilliseconds;
    await Promise.race([starting.catch(() => undefined), sleep(patience)]);
    await undoAll(cleanups, log, deadline);
    process.exit(0);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));

  try {
    await starting;
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

/** Starts everything, noting how to undo it. @throws the signal's reason, as soon as it can, when it is given up */
async function start(config: Config, log: Log, cleanups: Cleanup[], signal: AbortSignal): Promise<void> {
  ensureDataDir(config);
  const address = await databaseAddress(config, cleanups, signal);
  await prepareDatabase(address, config, signal);
  const db = openDatabase(address, {
    applicationName: 'api',
    connectionsMax: limits.databaseConnections,
    queryMilliseconds: limits.databaseQueryMilliseconds,
  });
  cleanups.push({ what: 'database pool', undo: () => closePool(db) });
  const sweep = new AbortController();
  cleanups.push({ what: 'sweep', undo: () => sweep.abort() });
  await startSweep(db, log, sweep.signal);

  const objectStore = await openObjectStore(config);
  cleanups.push({ what: 'object store', undo: () => objectStore.close() });
  await prepareObjectStore(objectStore, log);
  signal.throwIfAborted();

  const store = { s3: config.s3, dataDir: config.dataDir };
  const runner = startRunner({ address, store, logLevel: config.logLevel }, db, log);
  cleanups.push({ what: 'ETL', undo: () => runner.stop() });

  const keyIsGenerated = config.apiKeys.length === 0;
  const apiKeys = keyIsGenerated ? [localKey(config.dataDir)] : config.apiKeys;
  const app = await createApp({ config, apiKeys, address, db, objectStore, runner, log });
  const server = createHttpServer(app.handle);
  await listen(server, config);
  cleanups.push({ what: 'server', undo: () => drain(server, app.drain(), config.shutdownSeconds) });

  const { port } = server.address() as AddressInfo;
  const host = config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
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
async function prepareDatabase(address: DatabaseAddress, config: Config, signal: AbortSignal): Promise<void> {
  const db = openDatabase(address, { applicationName: 'migration', connectionsMax: 2 });
  try {
    await migrateToLatest(db, signal);
  } catch (error) {
    signal.throwIfAborted();
    const name = config.databaseUrl ? 'Wrong setting DATABASE_URL: the' : 'The embedded';
    throw new ConfigError(`${name} database cannot be used (${(error as Error).message}).`, { cause: error });
  } finally {
    await closePool(db);
  }
}

/** A connection that does not answer is left to the end of the process. */
function closePool(db: Database): Promise<void> {
  return Promise.race([db.destroy(), sleep(limits.closeMilliseconds, undefined, { ref: false })]);
}

/** Shows runs as failed whose process has died, here or elsewhere: now, and then one look after the other. */
async function startSweep(db: Database, log: Log, signal: AbortSignal): Promise<void> {
  const sweep = async () => {
    try {
      const interrupted = await failInterruptedRuns(db);
      if (interrupted.length > 0) log.warn({ job_ids: interrupted }, 'interrupted runs are marked as failed');
    } catch (error) {
      log.warn({ err: error }, 'interrupted runs could not be looked for');
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
