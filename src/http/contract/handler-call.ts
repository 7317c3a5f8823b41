import type { Caller, KeyInUse } from '../../base/caller';
import { unauthorized, unavailable, type ServiceError } from '../../base/errors';
import type { Log } from '../../base/log';
import { makeReply, type ReadAsPut } from './contract';
import type { Exchange } from './exchange';
import type { MultipartBody } from '../body/multipart';
import type { SentValues } from '../../base/shape-errors';
import { readerOf } from '../body/slow-client';
import type { Peer } from '../../base/concurrency/stall-detector';

/**
 * The `Call` of a handler; the validators guarantee its types. A class, for the same reason as `Exchange`. Its functions are no
 * methods, because handlers destructure it.
 */
export class HandlerCall {
  readonly path: SentValues['path'];
  readonly query: Record<string, unknown>;
  readonly headers: SentValues['headers'];
  readonly body: object | undefined;
  readonly sentBody: object | undefined;
  readonly checked: unknown;
  readonly caller: Caller | undefined;
  readonly key: KeyInUse | undefined;
  readonly readAsPut: ReadAsPut;
  readonly requestId: string;
  readonly refusal: () => ServiceError | undefined;
  readonly isAborted: () => boolean;
  readonly reply = makeReply;

  /** @param form - of an operation with one */
  constructor(
    private readonly exchange: Exchange,
    readonly form: MultipartBody | undefined,
  ) {
    const { sent, caller, keyCheck } = exchange;
    this.path = sent.path;
    this.query = exchange.typedQuery;
    this.headers = sent.headers;
    this.body = exchange.body;
    this.sentBody = sent.body;
    this.checked = exchange.checked;
    this.caller = caller;
    this.requestId = exchange.requestId;
    this.key = keyCheck;
    this.readAsPut = exchange.readAsPut;
    const { socket } = exchange.request;
    this.refusal = () => {
      if (this.key?.isGone()) return unauthorized();
      if (socket.destroyed) return unavailable('the client disconnected');
      return exchange.isDraining ? unavailable('the process is shutting down') : undefined;
    };
    this.isAborted = () => this.refusal() !== undefined;
  }

  get client(): Peer {
    return readerOf(this.exchange.request.socket);
  }

  get log(): Log {
    return this.exchange.log;
  }
}
