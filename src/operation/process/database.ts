import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config';
import { ConfigError } from '../../base/settings';
import { openDatabase, type Database, type DatabaseAddress, closeMilliseconds } from '../../base/db/database';
import { startEmbeddedPostgres } from '../../base/embedded-postgres/server';
import { migrateToLatest, waitForMigrations } from '../database/migrate';
import { hasKeyInUse } from '../../http/keys/keys.repository';
import type { Log } from '../../base/log';
import type { Cleanup } from './cleanups';
import { connectionsMax } from './connections';
import { clusterOutside } from './data-dir';

/** Returns the configured address, or starts the embedded server, which is restarted when it dies. */
export async function databaseAddress(
  config: Config,
  log: Log,
  cleanups: Cleanup[],
  signal: AbortSignal,
): Promise<DatabaseAddress> {
  if (config.databaseUrl) return { connectionString: config.databaseUrl };
  const settings = { max_connections: String(connectionsMax(config)) };
  const postgres = await startEmbeddedPostgres(config.dataDir, settings, signal, log);
  cleanups.push({ what: 'PostgreSQL', dispose: (deadline) => postgres.stop(deadline) });
  const database = clusterOutside(config.dataDir);
  if (database !== undefined) log.info({ database }, 'database is outside of DATA_DIR');
  return postgres.address;
}

/** Migrates, or waits for a migration, on a pool without the timeouts of requests. @throws ConfigError */
export async function prepareDatabase(
  address: DatabaseAddress,
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const db = openDatabase(address, { applicationName: 'migration', connectionsMax: 2 });
  try {
    const onWait = (missing: string[]) => log.warn({ missing }, 'waiting for npm run migrate');
    const newer = config.migratesOnStart
      ? await migrateToLatest(db, signal)
      : await waitForMigrations(db, onWait, signal);
    if (newer.length > 0) log.warn({ migrations: newer }, 'schema is newer than this version');
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigError) throw error;
    throw unusableDatabase(config, error);
  } finally {
    await closePool(db);
  }
}

/** Makes the error of a database that cannot be used, with the reason. */
export function unusableDatabase({ databaseUrl }: Config, cause: unknown): ConfigError {
  const name = databaseUrl ? 'Wrong setting DATABASE_URL: the' : 'The embedded';
  return new ConfigError(`${name} database cannot be used (${(cause as Error).message}).`, { cause });
}

/** Requires a key unless the database is embedded. @throws ConfigError */
export async function requireKey(db: Database, { databaseUrl, apiKeys }: Config): Promise<void> {
  if (databaseUrl === undefined || apiKeys.length > 0 || (await hasKeyInUse(db))) return;
  throw new ConfigError(
    'Wrong setting API_KEYS: it must contain at least one key when DATABASE_URL is set, unless the database has one: ' +
      'npm run admin -- keys create NAME.',
  );
}

export const closePool = (db: Database) => closeWithin(db.destroy());

/** Waits for a close, but not for a frozen connection, which ends with the process. */
export function closeWithin(closed: Promise<unknown>): Promise<unknown> {
  return Promise.race([closed, sleep(closeMilliseconds, undefined, { ref: false })]);
}
