import { loadConfig, type Config } from '../../config';
import { isDatabaseUnavailable, openDatabase, type Database } from '../../base/db/database';
import { migrateToLatest, missingMigrations } from '../database/migrate';
import { closePool, unusableDatabase } from '../process/database';
import { reachDatabase } from '../process/reach-database';
import { interrupted, unlessInterrupted } from './interrupt';

export interface AdminContext {
  config: Config;
  db: Database;
}

/**
 * Executes a command on the service's database, whether or not the service is running. Migrates the schema first if a
 * start of the service would: a command can precede the first start.
 * @param config - the settings of the service; default: from the environment
 * @throws ConfigError; the errors of the work; the reason of an interruption
 */
export async function withDatabase(
  work: (context: AdminContext) => Promise<void>,
  config: Config = loadConfig(process.env),
): Promise<void> {
  const { address, release } = await reachDatabase(config, interrupted);
  const db = openDatabase(address, { applicationName: 'admin', connectionsMax: 2 });
  const execute = async () => {
    await prepareSchema(db, config);
    await work({ config, db });
  };
  try {
    await unlessInterrupted(execute);
  } finally {
    await closePool(db);
    await release();
  }
}

async function prepareSchema(db: Database, config: Config): Promise<void> {
  try {
    if (config.migratesOnStart) await migrateToLatest(db, interrupted);
    else await requireMigrations(db);
  } catch (error) {
    throw isDatabaseUnavailable(error) ? unusableDatabase(config, error) : error;
  }
}

async function requireMigrations(db: Database): Promise<void> {
  const missing = await missingMigrations(db);
  if (missing.length === 0) return;
  throw new Error(`The schema is not up to date (${missing.join(', ')}): npm run migrate.`);
}
