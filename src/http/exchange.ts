import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../shared/caller';
import type { Log } from '../shared/log';
import type { Route } from './routes';
import type { UnknownParameters } from './unknown-parameters';
import { parseQuery } from './well-formed';

/** One request on its way through the pipeline. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The `x-request-id` of the response. */
  readonly requestId: string;
  /** Created on first use: most requests log only their completion. */
  readonly log: Log;
  readonly method: string;
  /** As sent, percent-encoded. */
  readonly path: string;
  readonly query: object;
  route?: Route;
  caller?: Caller;
  /** Absent until the key is checked, and for a file outside of the document. */
  unknownParameters?: UnknownParameters;
}

/** Opens the exchange from the request line and the headers. */
export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  openLog: () => Log,
): Exchange {
  const url = originForm(request.url ?? '/');
  const queryStart = url.indexOf('?');
  let log: Log | undefined;
  return {
    request,
    response,
    requestId,
    get log() {
      return (log ??= openLog());
    },
    method: request.method ?? 'GET',
    path: queryStart === -1 ? url : url.slice(0, queryStart),
    query: queryStart === -1 ? {} : parseQuery(url.slice(queryStart + 1)),
  };
}

/** Removes scheme and host from a target in absolute form (RFC 9112, section 3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
