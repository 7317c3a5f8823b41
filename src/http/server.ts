import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { Router, type Request, type Response } from 'express';
import { requestTimedOut } from '../shared/errors';
import { noteExpectation } from './request-body';
import { requestIdOf, securityHeaders } from './common-headers';
import type { HttpRefusal } from './request-log';
import { watchReader, requestIdleMilliseconds } from './slow-client';

/**
 * A request's target and headers: Node's own default, written down because a flag of Node can change it. Proxies refuse
 * as much or less.
 */
export const headerBytes = 16 * 1024;

/** Headers of a request; clients and proxies together send some thirty. Node drops those beyond its limit silently. */
export const headersMax = 100;

/** How long the headers of a request may take to arrive, byte by byte or not at all. */
export const requestHeadersMilliseconds = 60_000;

/**
 * How long a client may take nothing of a response. Much more than that: the kernel takes megabytes for it at once, and
 * then nothing until most of that has gone; a client that reads 8 KiB a second shows no movement for minutes.
 */
export const responseIdleMillisecondsMax = 15 * 60_000;

/**
 * How long a connection may wait for its next request. Clients and load balancers give theirs up after a minute at
 * most; whoever closes first must be they, or a request is lost on the way.
 */
export const keepAliveMilliseconds = 65_000;

/** Answers a request; what it throws is a fault of the application. */
export type HandleRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Why a request does not get as far as the application; `error` is for the log. */
interface Problem {
  status: number;
  error: string;
  outcome: HttpRefusal['outcome'];
  detail: string;
}

const malformed: Problem = {
  status: 400,
  error: 'malformed_http',
  outcome: 'refused',
  detail: 'Malformed HTTP request.',
};
const headerTooLarge: Problem = {
  status: 431,
  error: 'header_too_large',
  outcome: 'refused',
  detail: 'Request header is too large.',
};
/** By Node's codes; with any other, it is malformed. */
const problems: Record<string, Problem> = {
  HPE_INVALID_EOF_STATE: { ...malformed, error: 'incomplete_request', outcome: 'aborted' },
  HPE_HEADER_OVERFLOW: headerTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    error: 'request_timeout',
    outcome: 'refused',
    detail: requestTimedOut().message,
  },
};

/** How patient the server is, and how much it takes on; the defaults are for one that serves real clients. */
export interface ServerOptions {
  /** How long a client may be silent amid a request; its pace is measured over that time. */
  idleMilliseconds?: number;
  /** How long it may take nothing of a response. */
  responseIdleMilliseconds?: number;
  /** How long it may take for the headers of one. */
  headersMilliseconds?: number;
  /** Connections at a time; one more is closed at once. */
  connectionsMax?: number;
  /** Whether other processes listen on the same port. */
  sharesPort?: boolean;
  /** Is told of the server's own refusals. */
  onRefusal?: (socket: Socket, refusal: HttpRefusal) => void;
}

/** An HTTP server for the application, not listening yet. Its own refusals look like the application's. */
export function createHttpServer(
  handle: HandleRequest,
  {
    idleMilliseconds = requestIdleMilliseconds,
    responseIdleMilliseconds = responseIdleMillisecondsMax,
    headersMilliseconds = requestHeadersMilliseconds,
    connectionsMax = Infinity,
    sharesPort = false,
    onRefusal = () => undefined,
  }: ServerOptions = {},
): Server {
  const refuse = (socket: Socket, problem: Problem) => {
    const requestId = requestIdOf({});
    socket.end(refusalText(problem, requestId));
    const { status, error, outcome } = problem;
    onRefusal(socket, { requestId, status, error, outcome });
  };
  const router = Router();
  router.use((request: IncomingMessage, response: ServerResponse) => {
    const refusal = refusalOf(request);
    if (refusal) {
      // While an earlier request waits for its answer, it would be taken for that.
      if (owesAnswer(request.socket)) request.socket.destroy();
      else refuse(request.socket, refusal);
      return undefined;
    }
    noteResponse(request.socket, response);
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    return handle(request, response);
  });
  // express' router without its application, which would swap the prototypes of both for its response helpers: that takes
  // longer than the rest of a request.
  const app = (request: IncomingMessage, response: ServerResponse) =>
    router(request as Request, response as Response, () => response.destroy());

  const server = createServer(
    {
      // Node's own refusal of a request without Host has neither a body nor a request id.
      requireHostHeader: false,
      maxHeaderSize: headerBytes,
      headersTimeout: headersMilliseconds,
      connectionsCheckingInterval: headersMilliseconds / 10,
      // A gigabyte over a slow line takes longer than the five minutes that Node gives a request by default.
      requestTimeout: 0,
      keepAliveTimeout: keepAliveMilliseconds,
    },
    app,
  );
  // Node would drop those beyond it, and say nothing; ours are counted when they are there.
  server.maxHeadersCount = 0;
  // What one of several processes refuses that way is offered to it again and again, as long as there is room in none.
  if (sharesPort) closeBeyond(server, connectionsMax);
  else server.maxConnections = connectionsMax;
  server.timeout = idleMilliseconds;
  // A silent connection is closed, but not while we owe an answer: a run takes as long as it takes.
  server.on('timeout', (socket: Socket) => {
    if (!owesAnswer(socket)) socket.destroy();
  });
  server.on('connection', (socket) => watchReader(socket, responseIdleMilliseconds));
  // An expectation that is not known is ignored, not refused.
  server.on('checkExpectation', app);
  server.on('checkContinue', (request, response) => {
    noteExpectation(request, response);
    app(request, response);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Amid a response, it would be taken for a part of that.
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) socket.destroy();
    else refuse(socket, problems[error.code ?? ''] ?? malformed);
  });
  return server;
}

/** Closes connections at once while there are so many others. */
function closeBeyond(server: Server, connectionsMax: number): void {
  let open = 0;
  server.on('connection', (socket) => {
    socket.once('close', () => open--);
    if (++open > connectionsMax) socket.destroy();
  });
}

/** The responses of each connection that are not over. */
const responses = new WeakMap<Socket, Set<ServerResponse>>();

function noteResponse(socket: Socket, response: ServerResponse): void {
  const open = responses.get(socket) ?? new Set();
  responses.set(socket, open.add(response));
  response.on('close', () => open.delete(response));
}

/** Whether a request over the connection is not answered yet. */
function owesAnswer(socket: Socket): boolean {
  return (responses.get(socket)?.size ?? 0) > 0;
}

/** Whether a part of a response has gone out over it. */
function isAnswering(socket: Socket): boolean {
  return [...(responses.get(socket) ?? [])].some(({ headersSent }) => headersSent);
}

/** Why a request does not get as far as the application, though it is HTTP. */
function refusalOf({ httpVersion, headers, rawHeaders }: IncomingMessage): Problem | undefined {
  if (httpVersion === '1.1' && headers.host === undefined) return malformed;
  // Names and values, one after the other.
  if (rawHeaders.length > 2 * headersMax) return headerTooLarge;
  return undefined;
}

function refusalText({ status, detail }: Problem, requestId: string): string {
  const body = JSON.stringify({ detail });
  const headers = {
    Connection: 'close',
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...securityHeaders,
    'x-request-id': requestId,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
