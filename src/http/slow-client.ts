import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { requestTimedOut, type ServiceError } from '../shared/errors';
import { minimumThroughput, detectStall } from '../shared/stall-detector';

/** Window of the minimum throughput of a client that sends. A stalled upload occupies a connection, memory and a file. */
export const requestIdleMilliseconds = 60_000;

/** The server's `timeout`, which each of its connections has. */
const windowOf = ({ socket }: IncomingMessage) => socket.timeout ?? requestIdleMilliseconds;

/**
 * Detects, once, a client that sends its body too slowly. Time in which received bytes wait to be read does not count.
 * @returns stops the detection
 */
export function watchSender(request: IncomingMessage, onTimeout: (error: ServiceError) => void): () => void {
  const client = {
    bytes: () => request.socket.bytesRead,
    isAwaited: () => request.readableLength === 0,
    isGone: () => request.destroyed,
  };
  return detectStall(client, minimumThroughput(windowOf(request)), () => onTimeout(requestTimedOut()));
}

/** Returns the bytes of responses on the connection that the client has received. */
export const bytesTaken = (socket: Socket) => socket.bytesWritten - socket.writableLength;

/** Destroys the connection of a client that receives nothing for too long, and with it the sources of its responses. */
export function watchReader(socket: Socket, milliseconds: number): void {
  const client = {
    bytes: () => bytesTaken(socket),
    isAwaited: () => socket.writableLength > 0,
    isGone: () => socket.destroyed,
  };
  const endWatch = detectStall(client, { bytesMin: 1, milliseconds }, () => socket.destroy());
  socket.once('close', endWatch);
}
