import { runMigrations } from 'graphile-worker';
import { Pool } from 'pg';
import type { DatabaseAddress } from '../../src/base/db/database';

/** Creates the queue schema of release 1.2.0, as its start did. */
export async function makeQueueOfLastRelease(address: DatabaseAddress): Promise<void> {
  const pgPool = new Pool({ ...address, max: 1 });
  // The library requires listeners.
  pgPool.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined));
  await runMigrations({ pgPool });
  await pgPool.end();
}
