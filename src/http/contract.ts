import type { Readable } from 'node:stream';
import type { operations } from '../../generated/openapi';
import type { Caller } from '../shared/caller';
import type { Log } from '../shared/log';
import type { MultipartBody } from './multipart';

/** The operations of the document: `operationId` = handler = test file. */
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
/**
 * JSON as a value; any other media type as its bytes, or as a stream, which is read while it is sent and destroyed when
 * the client goes away.
 */
type ResponseBody<R> = R extends { content: infer C }
  ? C extends { 'application/json': infer B }
    ? B
    : Buffer | Readable
  : undefined;

/** The headers that a response declares, but for those that every response has anyway. */
type DeclaredHeaders<R> = R extends { headers: infer H }
  ? { [K in keyof H as string extends K ? never : K extends 'x-request-id' ? never : K]: H[K] }
  : Record<never, never>;
type HeaderArgument<H> = Record<never, never> extends H ? [] : [headers: H];

declare const brand: unique symbol;

/** An answer to operation O; only `Call.reply` makes one, so its status, body and headers are as declared. */
export interface Reply<O extends OperationId = OperationId> {
  readonly [brand]: O;
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, unknown>;
}

/** A request that has passed the boundary: it has the shape that the document declares, defaults filled in. */
export interface Call<O extends OperationId> {
  path: Path<O>;
  query: Query<O>;
  /** The declared headers, by the names that the document gives them. */
  headers: Headers<O>;
  body: Body<O>;
  /** The JSON body before anything was trimmed or filled in. */
  sentBody: unknown;
  /** A multipart body, read while it comes in. */
  form: Form<O>;
  /** What the operation's check has found out. */
  checked: O extends keyof CheckResults ? CheckResults[O] : undefined;
  /** Who asks; nobody in particular, where no key is needed. */
  caller: O extends PublicOperation ? undefined : Caller;
  log: Log;
  /** How many bytes the client has taken of the responses on its connection. */
  bytesTaken: () => number;
  /** Whether the client has gone, or the process is about to stop: then nothing should be waited for. */
  isGivenUp: () => boolean;
  reply: <S extends Status<O>>(
    status: S,
    body: ResponseBody<Responses<O>[S]>,
    ...headers: HeaderArgument<DeclaredHeaders<Responses<O>[S]>>
  ) => Reply<O>;
}

/** Translates a call into the domain's terms and its result into a reply; nothing else. */
type Handler<O extends OperationId> = (call: Call<O>) => Promise<Reply<O>>;

/** One handler for every operation: a missing or unknown one does not compile. */
export type Handlers = { [O in OperationId]: Handler<O> };

/** Operations that need no key. */
type PublicOperation = 'getHealth';

/** What a check sees: query values, declared headers and the JSON body as they were sent, and who asks. */
export interface RawRequest {
  query: Record<string, unknown>;
  headers: Record<string, string | undefined>;
  body: unknown;
  caller: Caller;
}

/**
 * What checks find out that the handler needs too, so that the database is asked only once. Domains add theirs, by
 * operation.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- domains add to it
export interface CheckResults {}

type Check<O> = (
  request: RawRequest,
) => O extends keyof CheckResults ? Promise<CheckResults[O]> : Promise<void> | void;

/**
 * Checks of single operations whose failure (400) outranks the 422s, so that they look at the raw request first. They
 * throw the same errors as the domain.
 */
export type Checks = { [O in Exclude<OperationId, PublicOperation>]?: Check<O> };

/** The checks of all domains; those whose result a handler needs are there. */
export type AllChecks = Checks & Required<Pick<Checks, keyof CheckResults>>;

/** A parameter that has a default in the document, and so always a value here. */
export function defaulted<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The document gives this parameter no default.');
  return value;
}

/** The only way to a reply; typed by `Call.reply`. */
export function makeReply(status: number, body: unknown, headers: Record<string, unknown> = {}): Reply {
  return { status, body, headers } as Reply;
}
