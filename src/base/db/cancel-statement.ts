import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { Client } from 'pg';
import { pgSession, statementsEnd, type PgSession } from './undocumented-pg';

export const databaseConnectMilliseconds = 5_000;

/** Request codes of the protocol (PostgreSQL manual, "Message Formats"). */
const sslRequest = 80_877_103;
const cancelRequest = 80_877_102;

/** Time for which cancel requests are repeated: at least two, if the server does not respond. */
const cancelMilliseconds = 2 * databaseConnectMilliseconds;

/** Pause before the next request: a statement usually ends within milliseconds. */
const pauseMilliseconds = 300;

/**
 * Sends cancel requests for the statement that a connection is waiting for, until it has ended.
 * Without them, the server would continue the statement, or its wait for a lock. A pooler accepts no other request for its sessions.
 * A request has no response, and can be lost: its connection fails, or it comes before the statement.
 * @returns when the statement has ended, or `cancelMilliseconds` have passed; never throws
 */
export async function cancelStatement(connection: Client): Promise<void> {
  const ended = statementsEnd(connection);
  const until = performance.now() + cancelMilliseconds;
  do await requestCancel(connection);
  while (!(await Promise.race([ended, sleep(pauseMilliseconds, false)])) && performance.now() < until);
}

/**
 * Sends a cancel request to the server of a connection, with the same TLS settings.
 * @returns when the connection is closed, or `databaseConnectMilliseconds` have passed; never throws
 */
async function requestCancel(connection: Client): Promise<void> {
  const { host, port } = connection;
  const session = pgSession(connection);
  const { processID, secretKey, ssl, sslNegotiation } = session;
  // Not by its name, which may have another address by now.
  const { remoteAddress = host } = session.connection.stream;
  const closing = new AbortController();
  const signal = AbortSignal.any([AbortSignal.timeout(databaseConnectMilliseconds), closing.signal]);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, remoteAddress);
  socket.on('error', ignore).on('close', () => closing.abort());
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
    // The connection is closed, or the server does not respond.
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
