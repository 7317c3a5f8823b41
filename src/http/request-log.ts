import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../base/caller';
import type { ErrorCode } from '../base/errors';
import type { Log } from '../base/log';
import type { OperationId } from './contract/contract';
import { asServiceError } from './reply/error-response';

/** The outcomes of a request; the reference of the log and of the metrics lists them. */
export const requestOutcomes = {
  ok: 'The response was sent.',
  refused: 'The response was 4xx or 503, also where the HTTP server rejected the request before routing.',
  failed: 'The response was 500. A line of level `error` with the same `request_id` has the cause.',
  aborted:
    'The connection ended before the response was sent: the client disconnected, or `SHUTDOWN_SECONDS` had passed.',
  truncated:
    'The source of the response failed midway, and the connection was closed. A line of level `error` has the cause.',
} as const;

export type RequestOutcome = keyof typeof requestOutcomes;

/** The fields of the log line of a request; the reference of the log is generated from them. */
export const requestLogFields = {
  request_id: 'The `x-request-id` of the response. Other lines about the request have it too.',
  key: 'Name of the API key; absent without a valid one.',
  operation: '`operationId` of the contract; absent for an unknown route, a page or malformed HTTP.',
  method: 'Method of the request.',
  path: 'Path without the query. Segments other than words of the contract and identifiers show as `*`.',
  status: 'Status of the response, also of one that was not sent completely.',
  outcome: 'One of the outcomes below.',
  error_code: 'Why the request was refused: the `x-error-code` of the response.',
  duration_ms: 'Milliseconds from the headers of the request to the end of the response.',
  bytes_in:
    'Bytes received on the connection since the previous request, headers included. Pipelined requests share them.',
  bytes_out: 'Bytes sent on the connection since the previous request, headers included.',
} as const;

type RequestLogLine = Record<keyof typeof requestLogFields, unknown>;

/** A completed request, for metrics. */
export interface RequestRecord {
  /** Absent for an unknown route or malformed HTTP. */
  operation?: OperationId;
  status: number;
  outcome: RequestOutcome;
  /** From the headers to the end of the response; absent for malformed HTTP. */
  seconds?: number;
  /** Headers included. */
  bytesIn: number;
}

/** A request that the HTTP server rejects before routing. */
export interface HttpRefusal {
  requestId: string;
  status: number;
  errorCode: ErrorCode;
  /** `aborted`: the client has closed its side of the connection during the request. */
  outcome: 'refused' | 'aborted';
}

interface HandledRequest {
  operation?: OperationId;
  caller?: Caller;
  /** As sent, without the query. */
  path: string;
  status: number;
  error?: unknown;
  /** The source of the response failed midway. */
  truncated?: boolean;
}

/** A log line: a request, or a rejection before routing. */
interface Line {
  requestId: string;
  operation?: OperationId;
  key?: string;
  method?: string;
  path?: string;
  milliseconds?: number;
}

interface HttpOutcome {
  status: number;
  outcome: RequestOutcome;
  errorCode?: ErrorCode;
}

interface Connection {
  bytesRead: number;
  bytesWritten: number;
  /**
   * Functions that end each request in progress when the connection closes. An array for the same reason as the responses of the server.
   */
  readonly open: (() => void)[];
  refusal?: HttpRefusal;
}

/** Longer paths are truncated; no path of the contract has more segments. */
const segmentsMax = 8;

/** Logs each completed request, without key, body and query. Parts of the path that may be secret are masked. */
export class RequestLog {
  private readonly connections = new WeakMap<Socket, Connection>();
  private readonly paths: ReadonlySet<string>;
  private readonly words: ReadonlySet<string>;
  private readonly log: Log;

  /** @param paths - the served paths; their words are logged @param observe - receives each request, for metrics */
  constructor(
    log: Log,
    paths: readonly string[],
    private readonly observe: (record: RequestRecord) => void = () => undefined,
  ) {
    this.paths = new Set(paths);
    this.words = new Set(paths.flatMap((path) => path.split('/')));
    // The fields contain no headers; redaction would take longer than the rest.
    this.log = log.child({}, { redact: [] });
  }

  /** Observes a request. @returns a function to call once, when the response was handed over */
  watch(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): (handled: HandledRequest) => void {
    const startedAt = performance.now();
    const { socket } = request;
    const connection = this.connectionOf(socket);
    let handled: HandledRequest | undefined;
    // `writableFinished` is also true of a response to a closed connection.
    let isFinished = false;
    let isOver = false;
    const write = (handled: HandledRequest) => {
      this.write(socket, connection, outcomeOf(handled, isFinished, connection.refusal), {
        requestId,
        operation: handled.operation,
        key: handled.caller?.keyName,
        method: request.method,
        path: this.shownPath(handled.path),
        milliseconds: performance.now() - startedAt,
      });
    };
    const end = () => {
      if (isOver) return;
      isOver = true;
      connection.open.splice(connection.open.indexOf(end), 1);
      if (handled) write(handled);
    };
    connection.open.push(end);
    response.on('finish', () => (isFinished = true)).on('close', end);
    return (how) => {
      handled = how;
      if (isOver) write(how);
    };
  }

  /** Logs a rejection by the HTTP server. During a request, the rejection is its outcome instead. */
  refused(socket: Socket, refusal: HttpRefusal): void {
    const connection = this.connectionOf(socket);
    if (connection.open.length > 0) connection.refusal = refusal;
    else this.write(socket, connection, refusal, refusal);
  }

  private write(
    socket: Socket,
    connection: Connection,
    { status, outcome, errorCode }: HttpOutcome,
    { requestId, operation, key, method, path, milliseconds }: Line,
  ): void {
    const bytesIn = socket.bytesRead - connection.bytesRead;
    const bytesOut = socket.bytesWritten - connection.bytesWritten;
    connection.bytesRead += bytesIn;
    connection.bytesWritten += bytesOut;
    this.log.info(
      {
        request_id: requestId,
        key,
        operation,
        method,
        path,
        status,
        outcome,
        error_code: errorCode,
        duration_ms: milliseconds && Math.round(milliseconds),
        bytes_in: bytesIn,
        bytes_out: bytesOut,
      } satisfies RequestLogLine,
      'request',
    );
    this.observe({ operation, status, outcome, seconds: milliseconds && milliseconds / 1000, bytesIn });
  }

  /** Masks segments that are neither words of the contract nor identifiers: a path can contain a key by mistake. */
  private shownPath(path: string): string {
    if (this.paths.has(path)) return path;
    const isShown = (segment: string) => this.words.has(segment) || /^[A-Z]{2}\d{5,15}$/.test(segment);
    return path
      .split('/', segmentsMax)
      .map((segment) => (isShown(segment) ? segment : '*'))
      .join('/');
  }

  private connectionOf(socket: Socket): Connection {
    const known = this.connections.get(socket);
    if (known) return known;
    const connection: Connection = { bytesRead: 0, bytesWritten: 0, open: [] };
    this.connections.set(socket, connection);
    // A pipelined request that waits behind another gets no event of its own.
    socket.once('close', () => {
      for (const end of [...connection.open]) end();
    });
    return connection;
  }
}

function outcomeOf(
  { status, error, truncated }: HandledRequest,
  isSent: boolean,
  refusal: HttpRefusal | undefined,
): HttpOutcome {
  if (refusal) return refusal;
  if (truncated) return { status, outcome: 'truncated' };
  if (!isSent) return { status, outcome: 'aborted' };
  if (status < 400) return { status, outcome: 'ok' };
  if (status === 500) return { status, outcome: 'failed', errorCode: 'internal_error' };
  return { status, outcome: 'refused', errorCode: asServiceError(error)?.code };
}
