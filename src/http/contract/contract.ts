import type { Readable } from 'node:stream';
import type { operations } from '../../../generated/openapi';
import type { Caller, KeyInUse } from '../../base/caller';
import type { ServiceError, ShapeError } from '../../base/errors';
import type { Log } from '../../base/log';
import type { Peer } from '../../base/concurrency/stall-detector';
import type { EncodedFile } from './encoded-file';
import type { MultipartBody } from '../body/multipart';

/** An operation of the document: `operationId` = handler = test folder. */
export type OperationId = keyof operations;

type Parameters<O extends OperationId> = operations[O]['parameters'];
type Path<O extends OperationId> = Parameters<O> extends { path: infer P } ? P : Record<never, never>;
type Query<O extends OperationId> =
  Parameters<O> extends { query?: infer Q } ? NonNullable<Q> : Record<never, never>;
type Headers<O extends OperationId> =
  Parameters<O> extends { header?: infer H } ? NonNullable<H> : Record<never, never>;
type Content<O extends OperationId> = operations[O] extends { requestBody: { content: infer C } } ? C : never;
type Body<O extends OperationId> = Content<O> extends { 'application/json': infer B } ? B : undefined;
type Form<O extends OperationId> =
  Content<O> extends { 'multipart/form-data': unknown } ? MultipartBody : undefined;

type Responses<O extends OperationId> = operations[O]['responses'];
type Status<O extends OperationId> = keyof Responses<O> & number;
/** JSON as a value; another media type as bytes, or as a stream, which is destroyed when the client disconnects. */
type ResponseBody<R> = R extends { content: infer C }
  ? C extends { 'application/json': infer B }
    ? B
    : Buffer | Readable | EncodedFile
  : undefined;

/** The declared headers of a response, except for the common ones. */
type DeclaredHeaders<R> = R extends { headers: infer H }
  ? { [K in keyof H as string extends K ? never : K extends 'x-request-id' ? never : K]: H[K] }
  : Record<never, never>;
type HeaderArgument<H> = Record<never, never> extends H ? [] : [headers: H];

declare const brand: unique symbol;

/** A response of operation O. Only `Call.reply` makes one: its status, body and headers are declared. */
export interface Reply<O extends OperationId = OperationId> {
  readonly [brand]: O;
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, unknown>;
}

/** Parses a text as the JSON body of a PUT to this path, by its operation's schemas and rules. */
export type ReadAsPut = (path: string, text: string) => { body: unknown } | { errors: ShapeError[] };

/** A validated request, with defaults filled in. */
export interface Call<O extends OperationId> {
  path: Path<O>;
  query: Query<O>;
  /** Declared headers, by their names in the document. */
  headers: Headers<O>;
  body: Body<O>;
  /** The JSON body as it was sent. */
  sentBody: unknown;
  form: Form<O>;
  checked: O extends keyof CheckResults ? CheckResults[O] : undefined;
  /** The owner of the key; undefined where no key is required. */
  caller: O extends PublicOperation ? undefined : Caller;
  /** The state of the key; undefined where none is required. */
  key: O extends PublicOperation ? undefined : KeyInUse;
  /** The `x-request-id` of the response. */
  requestId: string;
  log: Log;
  readAsPut: ReadAsPut;
  /** The client, as the receiver of responses on the connection. */
  client: Peer;
  /** Returns why waits must end: the client has disconnected, its key is invalid, or the process shuts down. */
  refusal: () => ServiceError | undefined;
  /** Whether there is a `refusal`. */
  isAborted: () => boolean;
  reply: <S extends Status<O>>(
    status: S,
    body: ResponseBody<Responses<O>[S]>,
    ...headers: HeaderArgument<DeclaredHeaders<Responses<O>[S]>>
  ) => Reply<O>;
}

/** Translates a call for the domain, and its result into a reply. */
type Handler<O extends OperationId> = (call: Call<O>) => Promise<Reply<O>>;

type PublicOperation = 'getHealth';

/**
 * The input of a check: query values, declared headers and JSON body as sent, and the caller. With `isValid`, no 422 follows: the
 * handler may find out what else a check would need a statement for.
 */
export interface RawRequest {
  isValid: boolean;
  query: Record<string, unknown>;
  headers: Record<string, string | undefined>;
  body: unknown;
  caller: Caller;
}

/** The input of a rule: path parameters, query values and JSON body as sent. */
export interface RuledRequest {
  path: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

/** Results of checks that handlers reuse, by operation; domains add their members. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- domains add to it
export interface CheckResults {}

/** Finds a 400, which precedes the 422s: it gets the raw request and throws errors of the domain. */
type Check<O> = (
  request: RawRequest,
) => O extends keyof CheckResults ? Promise<CheckResults[O]> : Promise<void> | void;

/**
 * Finds violations that the schemas of the document cannot express. Its errors are reported together with the schemas' errors: it must
 * expect a body of any shape.
 */
type Rule = (request: RuledRequest) => ShapeError[];

/** The implementation of an operation. */
interface RegisteredOperation<O extends OperationId> {
  check?: Check<O>;
  rule?: Rule;
  handle: Handler<O>;
}

type Registration<O extends OperationId> = O extends PublicOperation
  ? Pick<RegisteredOperation<O>, 'handle'>
  : O extends keyof CheckResults
    ? RegisteredOperation<O> & { check: Check<O> }
    : RegisteredOperation<O>;

/** Every operation of the document; a missing or unknown one does not compile. */
export type Operations = { [O in OperationId]: Registration<O> };

/** The operations of a domain. */
export type OperationsOf<O extends OperationId> = Pick<Operations, O>;

/** Returns a parameter that has a default in the document, and therefore a value. */
export function defaulted<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The document gives this parameter no default.');
  return value;
}

/** Makes a reply; handlers use the typed `Call.reply`. */
export function makeReply(status: number, body: unknown, headers: Record<string, unknown> = {}): Reply {
  return { status, body, headers } as Reply;
}
