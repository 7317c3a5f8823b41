import type { Caller, KeyInUse } from '../shared/caller';
import { unauthorized, unavailable, type ServiceError } from '../shared/errors';
import type { Log } from '../shared/log';
import { makeReply, type ReadAsPut } from './contract';
import type { Exchange } from './exchange';
import type { MultipartBody } from './multipart';
import { readerOf } from './slow-client';
import type { Peer } from '../shared/stall-detector';

/** What the pipeline has read and validated. */
interface CallValues {
  path: Record<string, string>;
  query: Record<string, unknown>;
  headers: Record<string, string | undefined>;
  body: object | undefined;
  sentBody: object | undefined;
  form: MultipartBody | undefined;
  checked: unknown;
}

/**
 * The `Call` of a handler; the validators guarantee its types. A class, for the same reason as `Exchange`. Handlers take functions
 * out of it, so that these are no methods.
 */
export class HandlerCall {
  readonly path: CallValues['path'];
  readonly query: CallValues['query'];
  readonly headers: CallValues['headers'];
  readonly body: CallValues['body'];
  readonly sentBody: CallValues['sentBody'];
  readonly form: CallValues['form'];
  readonly checked: CallValues['checked'];
  readonly caller: Caller | undefined;
  readonly key: KeyInUse | undefined;
  readonly requestId: string;
  readonly refusal: () => ServiceError | undefined;
  readonly isAborted: () => boolean;
  readonly reply = makeReply;
  readonly readAsPut: ReadAsPut;

  constructor(
    private readonly exchange: Exchange,
    values: CallValues,
    { isDraining, readAsPut }: { isDraining: () => boolean; readAsPut: ReadAsPut },
  ) {
    this.path = values.path;
    this.query = values.query;
    this.headers = values.headers;
    this.body = values.body;
    this.sentBody = values.sentBody;
    this.form = values.form;
    this.checked = values.checked;
    this.caller = exchange.caller;
    this.requestId = exchange.requestId;
    this.key = exchange.keyCheck;
    this.readAsPut = readAsPut;
    const { socket } = exchange.request;
    this.refusal = () => {
      if (this.key?.isGone()) return unauthorized();
      if (socket.destroyed) return unavailable('the client disconnected');
      return isDraining() ? unavailable('the process is shutting down') : undefined;
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
