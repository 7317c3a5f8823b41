import { type DatabaseAddress, clientConfig } from '../base/db/database';
import type { OperationsOf } from './contract/contract';
import { Client } from 'pg';

/** Makes the handler that checks the database of this address. */
export function healthOperations(address: DatabaseAddress): OperationsOf<'getHealth'> {
  // Concurrent callers, without a key, share one check and its connection.
  let check: Promise<boolean> | undefined;
  const isReachable = () => (check ??= isDatabaseReachable(address).finally(() => (check = undefined)));
  return {
    getHealth: {
      async handle({ reply }) {
        return (await isReachable())
          ? reply(200, { status: 'ok', database: 'connected' })
          : reply(200, { status: 'error', database: 'unreachable' });
      },
    },
  };
}

/** Timeout of the check: `GET /health` promises a response within two seconds. */
const healthCheckMilliseconds = 1_000;

/**
 * Checks the database with a new connection (specification, section 4). Never throws, and takes at most
 * `healthCheckMilliseconds`, also with a frozen database.
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
    // Not awaited: a frozen server would not respond.
    client.end().catch(() => undefined);
  }
}
