import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Client } from 'pg';
import { pgSession, type PgSession } from './undocumented-pg';

export const databaseConnectMilliseconds = 5_000;

/** Request codes of the protocol (PostgreSQL manual, "Message Formats"). */
const sslRequest = 80_877_103;
const cancelRequest = 80_877_102;

/**
 * Sends a cancel request for the statement that a connection is waiting for.
 * Without it, the server would continue the statement, or its wait for a lock. A pooler accepts no other request for its sessions.
 * The request uses the TLS settings of the connection.
 * @returns when the server has closed the connection, or `databaseConnectMilliseconds` have passed; never throws
 */
export async function cancelStatement(connection: Client): Promise<void> {
  const { host, port } = connection;
  const session = pgSession(connection);
  const { processID, secretKey, ssl, sslNegotiation } = session;
  const signal = AbortSignal.timeout(databaseConnectMilliseconds);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on('error', ignore);
  try {
    await once(socket, 'connect', { signal });
    if (ssl && sslNegotiation !== 'direct') {
      socket.write(message(sslRequest));
      const [response] = (await once(socket, 'data', { signal })) as [Buffer];
      if (response.toString() !== 'S') return;
    }
    const stream = ssl ? startTls(socket, session, host) : socket;
    stream.write(message(cancelRequest, processID, secretKey));
    // The server closes it first: a pooler drops the request of a closed connection.
    await once(stream.resume(), 'close', { signal });
  } catch {
    // The server is not reachable.
  } finally {
    socket.destroy();
  }
}

function startTls(socket: Socket, { ssl, sslNegotiation }: PgSession, host: string): Socket {
  const stream = connectTls({
    // The driver hides the client's key from a spread.
    ...(typeof ssl === 'object' && { ...ssl, key: ssl.key }),
    socket,
    host,
    // An address is not allowed as a server name (RFC 6066, section 3).
    ...(isIP(host) === 0 && { servername: host }),
    ...(sslNegotiation === 'direct' && { ALPNProtocols: ['postgresql'] }),
  });
  return stream.on('error', ignore);
}

function message(...words: number[]): Buffer {
  const bytes = Buffer.alloc(4 * (words.length + 1));
  [bytes.length, ...words].forEach((word, at) => bytes.writeInt32BE(word, 4 * at));
  return bytes;
}

const ignore = () => undefined;
