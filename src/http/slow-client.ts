import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { requestTimedOut, type ServiceError } from '../shared/errors';
import { minimumThroughput, detectStall } from '../shared/stall-detector';

/**
 * How long a client may take nothing of its response, and the time over which its pace is measured while it sends. An
 * upload as such may take any time; one that stands still holds a connection, a part of memory and a file.
 */
export const requestIdleMilliseconds = 60_000;

/** The server's `timeout`, which Node hands to each of its connections. */
const patienceWith = ({ socket }: IncomingMessage) => socket.timeout ?? requestIdleMilliseconds;

/**
 * Tells, once, when a client sends its body too slowly. A pause of our own, while what has come in is not read yet, does
 * not count.
 * @returns ends the watch
 */
export function watchSender(request: IncomingMessage, giveUp: (error: ServiceError) => void): () => void {
  const client = {
    bytes: () => request.socket.bytesRead,
    isAwaited: () => request.readableLength === 0,
    isGone: () => request.destroyed,
  };
  return detectStall(client, minimumThroughput(patienceWith(request)), () => giveUp(requestTimedOut()));
}

/** How many bytes the client has taken of the responses on its connection. */
export const bytesTaken = (socket: Socket) => socket.bytesWritten - socket.writableLength;

/**
 * Cuts the connection of a client that takes nothing of its responses for so long. What those are made of is given up with
 * it: a file, a place in the ETL thread, memory. One watch for all requests of a connection.
 */
export function watchReader(socket: Socket, milliseconds: number): void {
  const client = {
    bytes: () => bytesTaken(socket),
    isAwaited: () => socket.writableLength > 0,
    isGone: () => socket.destroyed,
  };
  const endWatch = detectStall(client, { bytesMin: 1, milliseconds }, () => socket.destroy());
  socket.once('close', endWatch);
}
