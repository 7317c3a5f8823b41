import { loadConfig, type Config } from '../config';
import { openDatabase, type Database } from '../db/database';
import { migrateToLatest, missingMigrations } from '../db/migrate';
import { reachDatabase } from '../process/reach-database';

/** What a command works with. */
export interface AdminContext {
  config: Config;
  db: Database;
}

/**
 * Runs the work of a command on the service's database, beside the running service or while it is stopped. Brings the
 * schema up to date first where a start of the service would: a command may come before the first start.
 * @param config - the settings of the service, from the environment unless they are given
 * @throws ConfigError; what the work throws
 */
export async function withDatabase(
  work: (context: AdminContext) => Promise<void>,
  config: Config = loadConfig(process.env),
): Promise<void> {
  const { address, release } = await reachDatabase(config);
  const db = openDatabase(address, { applicationName: 'admin', connectionsMax: 2 });
  try {
    if (config.migratesOnStart) await migrateToLatest(db);
    else await requireMigrations(db);
    await work({ config, db });
  } finally {
    await db.destroy();
    await release();
  }
}

async function requireMigrations(db: Database): Promise<void> {
  const missing = await missingMigrations(db);
  if (missing.length === 0) return;
  throw new Error(`The schema is not up to date (${missing.join(', ')}): npm run migrate.`);
}
