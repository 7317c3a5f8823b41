import { once } from 'node:events';
import { connect } from 'node:net';
import type { Client } from 'pg';
import { limits } from '../limits';

/** Of PostgreSQL's protocol: the length of a CancelRequest, and its code. */
const cancelRequestBytes = 16;
const cancelRequestCode = 80_877_102;

/**
 * Asks the server to give up the statement that a connection is amid; without it, the server would go on, or wait for a
 * lock, for nobody. The protocol's own way: a pooler knows its connections by no other name.
 * @returns when the server has taken the request, or does not seem to
 */
export async function cancelStatement(connection: Client): Promise<void> {
  // The types leave out how the server knows the connection.
  const { host, port, processID, secretKey } = connection as Client & {
    processID: number;
    secretKey: number;
  };
  const request = Buffer.alloc(cancelRequestBytes);
  [cancelRequestBytes, cancelRequestCode, processID, secretKey].forEach((value, index) =>
    request.writeInt32BE(value, 4 * index),
  );
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.on('error', () => undefined);
  socket.setTimeout(limits.databaseConnectMilliseconds, () => socket.destroy());
  const closed = once(socket.resume(), 'close');
  // Not ended: a pooler forgets the request of a connection that goes away.
  socket.write(request);
  await closed;
}
