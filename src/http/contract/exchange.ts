import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Caller } from '../../base/caller';
import type { ShapeError } from '../../base/errors';
import type { Log } from '../../base/log';
import type { ReadAsPut } from './contract';
import type { InFlight } from './in-flight';
import type { KeyCheck } from '../keys/key-check';
import { SentRequest } from './prepared-router';
import type { ServedOperation } from './served-operation';
import type { SentValues } from '../../base/shape-errors';
import type { UnknownParameters } from './unknown-parameters';
import { parseQuery } from '../body/well-formed';

/** A middleware of the service; results of earlier ones are in `response.locals.exchange`. */
export type Middleware = (
  request: Request,
  response: Response<unknown, { exchange: Exchange }>,
  next: NextFunction,
) => void | Promise<void>;

/** How a request ended, for its log line. */
export interface RequestEnd {
  status: number;
  error?: unknown;
  /** The source of the response failed midway. */
  truncated?: boolean;
}

/** The parts of the service that a request needs. */
export interface ServiceState {
  openLog: (requestId: string) => Log;
  /** Whether the process is shutting down: requests that need a key get 503. */
  isDraining: () => boolean;
  readAsPut: ReadAsPut;
  inFlight: InFlight;
}

/**
 * Data of one request that the middleware shares. A class: objects with getters of their own would all have different shapes, and
 * each access would be a search.
 */
export class Exchange {
  readonly method: string;
  /** As sent, percent-encoded. */
  readonly path: string;
  readonly query: object;
  readonly sentRequest: SentRequest;
  /** Absent until it is found, and for a file outside of the document. */
  found: ServedOperation | undefined = undefined;
  caller: Caller | undefined = undefined;
  /** Absent where no key is required. */
  keyCheck: KeyCheck | undefined = undefined;
  /** The JSON body, prepared for the validator and the handler. */
  body: object | undefined = undefined;
  sent: SentValues = { path: {}, query: {}, headers: {}, body: undefined };
  /** Query parameters as their types. */
  typedQuery: Record<string, unknown> = {};
  /** Errors of the texts of the body. */
  bodyErrors: ShapeError[] = [];
  /** The result of the operation's check. */
  checked: unknown = undefined;
  /** Absent until the shape is checked, and if there are none to report. */
  unknownParameters: UnknownParameters | undefined = undefined;
  private openedLog: Log | undefined = undefined;
  private isEnded = false;

  /**
   * Reads the request line.
   * @param requestId - the `x-request-id` of the response
   * @param logEnd - writes the line of the log
   */
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly requestId: string,
    private readonly service: ServiceState,
    private readonly logEnd: (end: RequestEnd) => void,
  ) {
    const url = originForm(request.url ?? '/');
    const queryStart = url.indexOf('?');
    this.method = request.method ?? 'GET';
    this.path = queryStart === -1 ? url : url.slice(0, queryStart);
    this.query = queryStart === -1 ? {} : parseQuery(url.slice(queryStart + 1));
    this.sentRequest = new SentRequest(this.method, this.path);
  }

  /** The operation, for middleware after `findOperation`. */
  get operation(): ServedOperation {
    return this.found!;
  }

  /** Created on first use: most requests log only their completion. */
  get log(): Log {
    return (this.openedLog ??= this.service.openLog(this.requestId));
  }

  get readAsPut(): ReadAsPut {
    return this.service.readAsPut;
  }

  get isDraining(): boolean {
    return this.service.isDraining();
  }

  /** Ends the request when its response was handed over; only the first call counts. */
  end(end: RequestEnd): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.service.inFlight.leave();
    this.logEnd(end);
  }
}

/** Removes scheme and host from a target in absolute form (RFC 9112, section 3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
