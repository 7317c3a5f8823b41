import { Client } from 'pg';
import { clientConfig, type DatabaseAddress } from '../db/database';

/** `GET /health` promises an answer within two seconds; this leaves time to send it, also on a busy machine. */
const healthCheckMilliseconds = 1_000;

/**
 * Whether the database lets us in: opens a connection of its own and closes it at once (specification, section 4).
 * Never throws, and takes no longer than `healthCheckMilliseconds`, even from a database that has stopped moving.
 */
export async function isDatabaseReachable(address: DatabaseAddress): Promise<boolean> {
  const client = new Client({
    ...clientConfig(address, 'health'),
    connectionTimeoutMillis: healthCheckMilliseconds,
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
