import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request, Response } from 'express';
import { requestTimedOut, type ErrorCode } from '../base/errors';
import { noteExpectation } from './body/request-body';
import { requestIdOf, securityHeaders } from './reply/common-headers';
import { messagesOf } from './messages';
import type { HttpRefusal } from './request-log';
import { watchReader, requestIdleMilliseconds } from './body/slow-client';

/** Maximum size of target and headers: Node's default, which a flag of Node can change. */
export const headerBytes = 16 * 1024;

/** Maximum number of headers; clients and proxies send some thirty. Node would silently drop the rest. */
export const headersMax = 100;

export const requestHeadersMilliseconds = 60_000;

/**
 * Timeout of a client that receives nothing of a response. The kernel buffers megabytes for it: a client that reads 8 KiB a
 * second shows no progress for minutes.
 */
export const responseIdleMillisecondsMax = 15 * 60_000;

/**
 * Idle timeout between requests. The client or load balancer, with a minute at most, must close first, or a request can race with
 * this close.
 */
export const keepAliveMilliseconds = 65_000;

/** A rejection before routing. */
interface Problem {
  status: number;
  errorCode: ErrorCode;
  outcome: HttpRefusal['outcome'];
  detail: string;
}

const malformed: Problem = {
  status: 400,
  errorCode: 'malformed_http',
  outcome: 'refused',
  detail: 'Malformed HTTP request.',
};
const unknownCoding: Problem = {
  status: 501,
  errorCode: 'unknown_transfer_coding',
  outcome: 'refused',
  detail: 'Unknown transfer coding: use chunked alone.',
};
const headerTooLarge: Problem = {
  status: 431,
  errorCode: 'header_too_large',
  outcome: 'refused',
  detail: 'Request header is too large.',
};
/** By Node's error codes; any other is malformed HTTP. */
const problems: Record<string, Problem> = {
  HPE_INVALID_EOF_STATE: { ...malformed, errorCode: 'incomplete_request', outcome: 'aborted' },
  HPE_HEADER_OVERFLOW: headerTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    errorCode: 'request_timeout',
    outcome: 'refused',
    detail: requestTimedOut().message,
  },
};

export interface ServerOptions {
  /** Idle timeout during a request; the window of its minimum throughput. */
  idleMilliseconds?: number;
  /** Timeout of a client that receives nothing of a response. */
  responseIdleMilliseconds?: number;
  headersMilliseconds?: number;
  /** Maximum number of connections; further ones are closed. */
  connectionsMax?: number;
  /** Receives rejections before routing. */
  onRefusal?: (socket: Socket, refusal: HttpRefusal) => void;
}

/** Creates the HTTP server of an application, not listening yet. Its own rejections have the form of the application's. */
export function createHttpServer(
  application: Express,
  {
    idleMilliseconds = requestIdleMilliseconds,
    responseIdleMilliseconds = responseIdleMillisecondsMax,
    headersMilliseconds = requestHeadersMilliseconds,
    connectionsMax = Infinity,
    onRefusal = () => undefined,
  }: ServerOptions = {},
): Server {
  const refused = new WeakSet<Socket>();
  /** Refuses further data of a connection, after the responses to its requests so far: a client matches them in order. */
  const refuse = (socket: Socket, problem: Problem) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    afterResponses(socket, () => {
      if (!socket.writable) return;
      const requestId = requestIdOf({});
      socket.end(refusalText(problem, requestId));
      const { status, errorCode, outcome } = problem;
      onRefusal(socket, { requestId, status, errorCode, outcome });
    });
  };
  const listener: RequestListener = (request, response) => {
    if (refused.has(request.socket)) return;
    const refusal = refusalOf(request);
    if (refusal) return refuse(request.socket, refusal);
    noteResponse(request.socket, response);
    // Express has no response to a target without a path, such as `foo://bar`.
    application(request as Request, response as Response, () => response.destroy());
  };
  const server = createServer(
    {
      ...messagesOf(application),
      // Node's own rejection has neither a body nor a request id.
      requireHostHeader: false,
      maxHeaderSize: headerBytes,
      headersTimeout: headersMilliseconds,
      connectionsCheckingInterval: headersMilliseconds / 10,
      // A gigabyte over a slow line takes longer than Node's default of five minutes.
      requestTimeout: 0,
      keepAliveTimeout: keepAliveMilliseconds,
    },
    listener,
  );
  // `refusalOf` counts them; Node would silently drop the rest.
  server.maxHeadersCount = 0;
  server.maxConnections = connectionsMax;
  server.timeout = idleMilliseconds;
  // Closes an idle connection, but not during a request: a run can take hours.
  server.on('timeout', (socket: Socket) => {
    if (!owesResponse(socket)) socket.destroy();
  });
  server.on('connection', (socket) => watchReader(socket, responseIdleMilliseconds));
  // Unknown expectations are ignored.
  server.on('checkExpectation', listener);
  server.on('checkContinue', (request, response) => {
    noteExpectation(request, response);
    listener(request, response);
  });
  // Node would destroy the connection, and with it the responses to earlier requests.
  server.on('connect', (_request, socket: Socket) => refuse(socket, malformed));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, problems[error.code ?? ''] ?? malformed);
  });
  return server;
}

/**
 * The responses in progress of each connection. No sets: V8 replaces the table of a changing set every few requests, and the old
 * table keeps all members in memory until a full garbage collection.
 */
const responses = new WeakMap<Socket, ServerResponse[]>();

function noteResponse(socket: Socket, response: ServerResponse): void {
  const open = responses.get(socket) ?? [];
  responses.set(socket, open);
  open.push(response);
  response.on('close', () => open.splice(open.indexOf(response), 1));
}

/** Returns whether a request of the connection is in progress. */
function owesResponse(socket: Socket): boolean {
  return (responses.get(socket)?.length ?? 0) > 0;
}

/** Calls `next` after the responses of the connection, except for an incomplete request that has none yet. */
function afterResponses(socket: Socket, next: () => void): void {
  const awaited = (responses.get(socket) ?? []).filter(({ req, headersSent }) => req.complete || headersSent);
  if (awaited.length === 0) {
    next();
    return;
  }
  let left = awaited.length;
  for (const response of awaited) {
    response.once('close', () => {
      if (--left === 0) next();
    });
  }
}

/** A host with an optional port (RFC 9112, section 3.2); it can be empty. */
const hostForm = /^(?:\[[0-9a-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})*)(?::\d*)?$/i;

/** Returns why a well-formed HTTP request is rejected before routing. */
function refusalOf({ httpVersion, headers, rawHeaders }: IncomingMessage): Problem | undefined {
  const { host, 'transfer-encoding': coding } = headers;
  if (httpVersion === '1.1' && host === undefined) return malformed;
  // Names and values alternate.
  if (rawHeaders.length > 2 * headersMax) return headerTooLarge;
  if (host !== undefined && (!hostForm.test(host) || countHosts(rawHeaders) > 1)) return malformed;
  if (coding === undefined) return undefined;
  // HTTP/1.0 has no transfer coding: a proxy may have seen another end of the body (RFC 9112, section 6.1).
  if (httpVersion === '1.0') return malformed;
  return coding.toLowerCase() === 'chunked' ? undefined : unknownCoding;
}

/** Node drops all hosts but the first; a proxy may have routed by another one. */
function countHosts(rawHeaders: string[]): number {
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host')
    .length;
}

function refusalText({ status, errorCode, detail }: Problem, requestId: string): string {
  const body = JSON.stringify({ detail });
  const headers = {
    Connection: 'close',
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...securityHeaders,
    'x-request-id': requestId,
    'x-error-code': errorCode,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
