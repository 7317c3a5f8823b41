import { Client } from 'pg';
import { limits } from '../shared/limits';
import { clientConfig, type DatabaseAddress } from '../db/database';

/**
 * Whether the database lets us in: opens a connection of its own and closes it at once (specification, section 4).
 * Never throws, and takes no longer than `limits.healthCheckMilliseconds`, even from a database that has stopped moving.
 */
export async function isDatabaseReachable(address: DatabaseAddress): Promise<boolean> {
  const client = new Client({
    ...clientConfig(address, 'health'),
    connectionTimeoutMillis: limits.healthCheckMilliseconds,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    // Not awaited: a frozen server would keep us waiting for the goodbye.
    client.end().catch(() => undefined);
  }
}
