import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../shared/caller';
import type { Log } from '../shared/log';
import type { KeyCheck } from './key-check';
import type { Route } from './routes';
import type { UnknownParameters } from './unknown-parameters';
import { parseQuery } from './well-formed';

/**
 * One request on its way through the pipeline. A class: with a getter of its own, each object would have another shape, and each
 * access to one would be a search.
 */
export class Exchange {
  readonly method: string;
  /** As sent, percent-encoded. */
  readonly path: string;
  readonly query: object;
  route: Route | undefined;
  caller: Caller | undefined;
  /** Absent where no key is required. */
  keyCheck: KeyCheck | undefined;
  /** Absent until the key is checked, and for a file outside of the document. */
  unknownParameters: UnknownParameters | undefined;
  private openedLog: Log | undefined;

  /** Reads the request line. @param requestId - the `x-request-id` of the response */
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly requestId: string,
    private readonly openLog: (requestId: string) => Log,
  ) {
    const url = originForm(request.url ?? '/');
    const queryStart = url.indexOf('?');
    this.method = request.method ?? 'GET';
    this.path = queryStart === -1 ? url : url.slice(0, queryStart);
    this.query = queryStart === -1 ? {} : parseQuery(url.slice(queryStart + 1));
    this.route = undefined;
    this.caller = undefined;
    this.keyCheck = undefined;
    this.unknownParameters = undefined;
    this.openedLog = undefined;
  }

  /** Created on first use: most requests log only their completion. */
  get log(): Log {
    return (this.openedLog ??= this.openLog(this.requestId));
  }
}

/** Removes scheme and host from a target in absolute form (RFC 9112, section 3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
