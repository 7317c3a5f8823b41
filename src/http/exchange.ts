import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import type { Request as ApiRequest } from 'openapi-backend';
import type { Caller } from '../keys/caller';
import type { Log } from '../log';
import type { OperationId } from './contract';

/** One request on its way through the router. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Made when it is needed first: most requests have nothing to say. */
  readonly log: Log;
  /** What openapi-backend sees: query and body are filled in when they are known. */
  readonly apiRequest: ApiRequest & { path: string };
  readonly pathIsMalformed: boolean;
  /** Known once the route is. */
  operationId?: OperationId;
  /** Declared query parameters as they were sent. */
  sentQuery: Record<string, unknown>;
  /** The JSON body as it was sent. */
  sentBody?: object;
  /** What the operation's check has found out. */
  checked?: unknown;
  /** Known once the key is. */
  caller?: Caller;
  /** Why it could not be found out. */
  authenticationError?: unknown;
}

/** Begins with what the request line and the headers tell. */
export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  openLog: () => Log,
): Exchange {
  const url = originForm(request.url ?? '/');
  const queryStart = url.indexOf('?');
  const path = queryStart === -1 ? url : url.slice(0, queryStart);
  const query = queryStart === -1 ? '' : url.slice(queryStart + 1);
  const pathIsMalformed = !isDecodable(path);
  let log: Log | undefined;
  return {
    request,
    response,
    get log() {
      return (log ??= openLog());
    },
    apiRequest: {
      method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
      // openapi-backend decodes the path before the key is checked; what cannot be decoded is reported after that.
      path: pathIsMalformed ? path.replaceAll('%', '%25') : path,
      headers: request.headers as ApiRequest['headers'],
      query: parseQuery(query) as ApiRequest['query'],
      body: undefined,
    },
    pathIsMalformed,
    sentQuery: {},
  };
}

/** A target may be a whole URL (RFC 9112, section 3.2.2); we are whom it asks, whatever host it names. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
