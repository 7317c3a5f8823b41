import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config';
import { ConfigError } from '../../base/settings';
import type { DatabaseAddress } from '../../base/db/database';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../../base/embedded-postgres/server';

/**
 * Returns the database of the service for a command. A stopped embedded server is started until `release`.
 * @throws ConfigError when there is none
 */
export async function reachDatabase(
  config: Config,
): Promise<{ address: DatabaseAddress; release: () => Promise<void> }> {
  const nothing = () => Promise.resolve();
  if (config.databaseUrl) return { address: { connectionString: config.databaseUrl }, release: nothing };
  if (!existsSync(join(config.dataDir, 'postgres'))) {
    throw new ConfigError(`Wrong setting DATA_DIR: there is no database in ${config.dataDir}.`);
  }
  const running = await findEmbeddedPostgres(config.dataDir);
  if (running) return { address: running, release: nothing };
  const postgres = await startEmbeddedPostgres(config.dataDir);
  return { address: postgres.address, release: () => postgres.stop() };
}
