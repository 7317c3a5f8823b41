import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config';
import { ConfigError } from '../../base/settings';
import type { DatabaseAddress } from '../../base/db/database';
import { refuseUnfinishedRestore } from './data-dir';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../../base/embedded-postgres/server';

/**
 * Returns the database of the service for a command. A stopped embedded server is started until `release`.
 * @param signal - aborts the start, and stops the server
 * @throws ConfigError when there is none; the signal's reason
 */
export async function reachDatabase(
  config: Config,
  signal?: AbortSignal,
): Promise<{ address: DatabaseAddress; release: () => Promise<void> }> {
  const nothing = () => Promise.resolve();
  if (config.databaseUrl) return { address: { connectionString: config.databaseUrl }, release: nothing };
  refuseUnfinishedRestore(config.dataDir);
  if (!existsSync(join(config.dataDir, 'postgres'))) {
    throw new ConfigError(`Wrong setting DATA_DIR: there is no database in ${config.dataDir}.`);
  }
  const running = await findEmbeddedPostgres(config.dataDir);
  if (running) return { address: running, release: nothing };
  try {
    const postgres = await startEmbeddedPostgres(config.dataDir, {}, signal);
    return { address: postgres.address, release: () => postgres.stop() };
  } catch (error) {
    // A service that was started meanwhile owns the server.
    const other = signal?.aborted ? undefined : await findEmbeddedPostgres(config.dataDir);
    if (!other) throw error;
    return { address: other, release: nothing };
  }
}
