import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import express from 'express';
import { limits } from '../config';
import { requestTimedOut } from '../errors';
import { requestIdOf } from './request-id';

/** Answers a request; what it throws is a fault of the application. */
export type HandleRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** What Node says of a request that does not get as far as the application. */
const problems: Record<string, [status: string, detail: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'Request header is too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', requestTimedOut().message],
};
const malformed: [string, string] = ['400 Bad Request', 'Malformed HTTP request.'];

/**
 * An HTTP server for the application, not listening yet. Its own refusals look like the application's.
 * @param idleMilliseconds - how long a client may be silent amid a body
 */
export function createHttpServer(
  handle: HandleRequest,
  idleMilliseconds: number = limits.requestIdleMilliseconds,
): Server {
  const app = express();
  app.disable('x-powered-by');
  app.use((request: IncomingMessage, response: ServerResponse) => {
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuse(request.socket, malformed);
      return undefined;
    }
    // A silent connection is closed, but not while we owe an answer: a run takes as long as it takes.
    response.on('timeout', () => undefined);
    return handle(request, response);
  });

  // Node's own refusal of a request without Host has neither a body nor a request id.
  const server = createServer({ requireHostHeader: false }, app);
  // A gigabyte over a slow line takes longer than the five minutes that Node gives a request by default.
  server.requestTimeout = 0;
  server.timeout = idleMilliseconds;
  server.keepAliveTimeout = limits.keepAliveMilliseconds;
  // An expectation that is not known is ignored, not refused.
  server.on('checkExpectation', app);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, problems[error.code ?? ''] ?? malformed);
  });
  return server;
}

function refuse(socket: Duplex, [status, detail]: [string, string]): void {
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestIdOf(undefined)}\r\n\r\n${body}`,
  );
}
