import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { requestTimedOut, type ServiceError } from '../../base/errors';
import { minimumThroughput, detectStall, type Peer } from '../../base/concurrency/stall-detector';

/** Window of the minimum throughput of a sending client. A stalled upload occupies a connection, memory and a file. */
export const requestIdleMilliseconds = 60_000;

/** The server's `timeout`, set on each of its connections. */
const windowOf = ({ socket }: IncomingMessage) => socket.timeout ?? requestIdleMilliseconds;

/** Returns the client that sends a body. It is not awaited while received bytes wait to be read. */
export const senderOf = (request: IncomingMessage): Peer => ({
  bytes: () => request.socket.bytesRead,
  isAwaited: () => !request.complete && request.readableLength === 0,
  isGone: () => request.socket.destroyed,
});

/** Returns the client that receives responses on the connection. */
export const readerOf = (socket: Socket): Peer => ({
  bytes: () => socket.bytesWritten - socket.writableLength,
  isAwaited: () => socket.writableLength > 0,
  isGone: () => socket.destroyed,
});

/**
 * Detects, once, a client that sends its body too slowly. Time with received but unread bytes does not count.
 * @returns stops the detection
 */
export function watchSender(request: IncomingMessage, onTimeout: (error: ServiceError) => void): () => void {
  const limit = minimumThroughput(windowOf(request));
  return detectStall(senderOf(request), limit, () => onTimeout(requestTimedOut()));
}

/** Destroys the connection of a client that receives nothing for too long, and the sources of its responses. */
export function watchReader(socket: Socket, milliseconds: number): void {
  const endWatch = detectStall(readerOf(socket), { bytesMin: 1, milliseconds }, () => socket.destroy());
  socket.once('close', endWatch);
}
