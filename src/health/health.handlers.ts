import { type DatabaseAddress, clientConfig } from '../db/database';
import type { Handlers } from '../http/contract';
import { Client } from 'pg';

/** The operation that looks at the database of this address. */
export function healthHandlers(address: DatabaseAddress): Pick<Handlers, 'getHealth'> {
  // Whoever asks meanwhile shares the answer: no number of callers, who need no key, opens more than one connection.
  let look: Promise<boolean> | undefined;
  const isReachable = () => (look ??= isDatabaseReachable(address).finally(() => (look = undefined)));
  return {
    async getHealth({ reply }) {
      return (await isReachable())
        ? reply(200, { status: 'ok', database: 'connected' })
        : reply(200, { status: 'error', database: 'unreachable' });
    },
  };
}

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
