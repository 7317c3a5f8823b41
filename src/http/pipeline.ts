import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Document } from 'openapi-backend';
import {
  invalidShape,
  malformedRequest,
  unauthorized,
  unavailable,
  ServiceError,
  unsupportedMediaType,
  type ShapeError,
} from '../shared/errors';
import { requireWriteAccess, type Authenticate, type Caller } from '../shared/caller';
import type { Log } from '../shared/log';
import {
  makeReply,
  type AllChecks,
  type Handlers,
  type OperationId,
  type RawRequest,
  type ReadAsPut,
  type Reply,
  type Rules,
} from './contract';
import { unlessCopied } from './caching';
import { EncodedFile } from './encoded-file';
import { asServiceError, errorReply } from './error-response';
import { Exchange } from './exchange';
import { HandlerCall } from './handler-call';
import { parseJsonBody, readJsonBody } from './json-body';
import { KeyCheck } from './key-check';
import { openMultipart } from './multipart';
import { prepareBody } from './prepare-body';
import { sentQuery, typedQuery } from './query';
import type { CountRequest } from './rate-limit';
import { hasBody, mediaTypeOf } from './request-body';
import { requestIdOf } from './common-headers';
import type { RequestLog } from './request-log';
import { openRoutes, type Route, type Routes } from './routes';
import { prepareReply, sendReply, type PreparedReply } from './send-reply';
import { onePerPlace, toShapeErrors, withoutInput, withPointers } from './shape-errors';
import { withStaticFiles, type StaticFiles } from './static-files';
import {
  findUnknownParameters,
  strictErrors,
  withParameterHeaders,
  type UnknownParameters,
} from './unknown-parameters';
import { toWellFormed } from './well-formed';
import type { DelayWrongKey } from './wrong-keys';

interface PipelineOptions {
  /** The OpenAPI document. */
  document: Document;
  handlers: Handlers;
  checks: AllChecks;
  rules: Rules;
  /** Files outside the document. */
  staticFiles?: StaticFiles;
  authenticate: Authenticate;
  delayWrongKey: DelayWrongKey;
  countRequest: CountRequest;
  uploadBytesMax: number;
  /** Validates every response against the document; a violation is a 500. For tests. */
  verifyResponses: boolean;
  /** Whether the process is shutting down: requests that need a key get 503. */
  isDraining: () => boolean;
  log: Log;
  requestLog: RequestLog;
}

type Options = PipelineOptions & { routes: Routes; readAsPut: ReadAsPut };

/** Serves the operations of the document and files. @throws when document and handlers do not match */
export async function createPipeline(
  options: PipelineOptions,
): Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> {
  const operations = await openRoutes(options.document, options.handlers);
  const routes = withStaticFiles(operations, options.staticFiles ?? new Map());
  const routed = { ...options, routes, readAsPut: readerOfPuts(routes, options.rules) };
  const openLog = (requestId: string) => options.log.child({ request_id: requestId });

  return async (request, response) => {
    const requestId = requestIdOf(request.headers);
    const logCompletion = options.requestLog.watch(request, response, requestId);
    const exchange = new Exchange(request, response, requestId, openLog);
    let prepared: PreparedReply;
    let failure: unknown;
    try {
      prepared = prepare(await respond(exchange, routed), exchange, options);
    } catch (error) {
      failure = error;
      logFailure(exchange, error);
      prepared = prepareError(error, exchange, options);
    }
    // At shutdown, Node closes idle connections only; clients would reuse those with a request in progress.
    if (options.isDraining()) response.setHeader('Connection', 'close');
    const isWhole = await sendReply(exchange, prepared, requestId);
    const { route, caller, path } = exchange;
    const { status } = prepared.reply;
    logCompletion({
      operation: route?.operationId,
      caller,
      path,
      status,
      error: failure,
      truncated: !isWhole,
    });
  };
}

/** Takes a request through all checks, in the order of the contract, to its handler. */
async function respond(exchange: Exchange, options: Options): Promise<Reply> {
  const route = options.routes.find(exchange.method, exchange.path, exchange.request.headers);
  if (route === 'not_found') return makeReply(404, { detail: 'Not Found' });
  if (route === 'method_not_allowed') {
    const allow = options.routes.allowedMethods(exchange.path).join(', ');
    return makeReply(405, { detail: 'Method Not Allowed' }, { Allow: allow });
  }
  exchange.route = route;
  if (route.needsKey) {
    // 503; `GET /health` answers to the end.
    if (options.isDraining()) throw unavailable('the process is shutting down');
    // 401, then 429
    exchange.caller = await authenticate(exchange.request, options);
    const key = exchange.request.headers['x-api-key'] as string;
    exchange.keyCheck = new KeyCheck(async () => (await options.authenticate(key)) !== undefined);
    await options.countRequest(exchange.caller);
  }
  // 415, 413, 400
  const { sentBody, body, errors: bodyErrors } = await readBody(exchange.request, route);
  // A body can take hours.
  await exchange.keyCheck?.requireInUse();
  const path = pathParameters(route, exchange);
  const { value: query, errors } = toWellFormed(sentQuery(route.parameters, exchange.query), ['query']);
  errors.push(...bodyErrors);
  const headers = sentHeaders(route, exchange.request);
  const sent = { path, query, headers, body: sentBody };
  const checked = await checkOperation(route, sent, exchange.caller, options.checks);
  // 422
  const typed = typedQuery(route.parameters, query);
  const values = { path, query: typed, header: exchange.request.headers, requestBody: body };
  errors.push(...shapeErrors(route, sent, values), ...brokenRules(route, sent, options.rules));
  exchange.unknownParameters = unknownParameters(route, exchange);
  if (exchange.unknownParameters) errors.push(...strictErrors(exchange.unknownParameters));
  if (errors.length > 0) throw invalidShape(onePerPlace(errors));
  // 403
  if (exchange.caller && !onlyReads(exchange.method, route)) requireWriteAccess(exchange.caller);
  // 403, 404, 409
  const form = isForm(route)
    ? openMultipart(exchange.request, options.uploadBytesMax, exchange.keyCheck)
    : undefined;
  const call = new HandlerCall(
    exchange,
    { path, query: typed, headers, body, sentBody, form, checked },
    options,
  );
  const reply = await route.handle(call);
  // After a wait; a stream is checked while it is sent. What was written is said.
  const isStream = reply.body instanceof Readable || reply.body instanceof EncodedFile;
  if (onlyReads(exchange.method, route) && !isStream) await exchange.keyCheck?.requireInUse();
  return unlessCopied(exchange.request, reply);
}

/** Operations with POST that only read. */
const readingOperations: ReadonlySet<OperationId> = new Set(['inspectFeed', 'planJob']);

function onlyReads(method: string, { operationId }: Route): boolean {
  const isRead = operationId !== undefined && readingOperations.has(operationId);
  return method === 'GET' || method === 'HEAD' || isRead;
}

/** @throws unauthorized; errors of the database */
async function authenticate({ headers, socket }: IncomingMessage, options: Options): Promise<Caller> {
  const key = headers['x-api-key'];
  if (typeof key !== 'string') throw unauthorized();
  const caller = await options.authenticate(key);
  if (caller) return caller;
  await options.delayWrongKey(socket.remoteAddress);
  throw unauthorized();
}

/** Reads a JSON body; its handler reads a form. @throws unsupported_media_type, too_large, malformed_request */
async function readBody(
  request: IncomingMessage,
  route: Route,
): Promise<{ sentBody?: object; body?: object; errors: ShapeError[] }> {
  if (!route.body) return { errors: [] };
  const isSent = hasBody(request);
  if (isSent && mediaTypeOf(request) !== route.body.mediaType)
    throw unsupportedMediaType(route.body.mediaType);
  if (isForm(route)) return { body: {}, errors: [] };
  if (!isSent) return { errors: [] };
  const { value: sentBody, errors } = await readJsonBody(request, route.body.bytesMax);
  return { sentBody, body: prepareBody(sentBody, route.body.schema), errors };
}

const isForm = (route: Route) => route.body?.mediaType === 'multipart/form-data';

/** @throws malformed_request when the path cannot be decoded */
function pathParameters(route: Route, { path }: Exchange): Record<string, string> {
  try {
    return route.pathParameters(path);
  } catch (error) {
    throw malformedRequest('Malformed request path.', error);
  }
}

/** Returns the declared headers as sent, by their names in the document. */
function sentHeaders(
  { parameters }: Route,
  { method, headers }: IncomingMessage,
): Record<string, string | undefined> {
  const sent: Record<string, string | undefined> = {};
  for (const { in: place, name } of parameters) {
    // `Range` applies to GET only (RFC 9110, section 14.2).
    if (place !== 'header' || (name === 'Range' && method !== 'GET')) continue;
    // No declared header is one that Node returns as a list.
    sent[name] = headers[name.toLowerCase()] as string | undefined;
  }
  return sent;
}

interface SentValues {
  path: Record<string, string>;
  query: Record<string, unknown>;
  headers: Record<string, string | undefined>;
  body: object | undefined;
}

type AnyChecks = Partial<Record<OperationId, (request: RawRequest) => unknown>>;

/** Runs the operation's check, whose 400 precedes the 422s. @returns its result */
function checkOperation(
  { operationId }: Route,
  { query, headers, body }: SentValues,
  caller: Caller | undefined,
  checks: AllChecks,
): unknown {
  const check = operationId && (checks as AnyChecks)[operationId];
  return caller && check ? check({ query, headers, body, caller }) : undefined;
}

/** Finds the unknown parameters of an operation; undefined for a file outside of the document. */
function unknownParameters(
  { operationId, parameters }: Route,
  { query, request }: Exchange,
): UnknownParameters | undefined {
  // Node joins the values of this header.
  const prefer = request.headers.prefer as string | undefined;
  return operationId && findUnknownParameters(parameters, query, prefer);
}

/** Returns the errors by the operation's own rule. */
function brokenRules({ operationId }: Route, { path, body }: SentValues, rules: Rules): ShapeError[] {
  return (operationId && rules[operationId]?.({ path, body })) ?? [];
}

function readerOfPuts(routes: Routes, rules: Rules): ReadAsPut {
  return (target, text) => {
    const route = routes.find('PUT', target) as Route;
    const { value: sentBody, errors } = parsedJson(text);
    const path = route.pathParameters(target);
    const sent = { path, query: {}, headers: {}, body: sentBody };
    const body = prepareBody(sentBody, route.body!.schema);
    if (sentBody) {
      const values = { path, query: {}, header: {}, requestBody: body };
      errors.push(...shapeErrors(route, sent, values), ...brokenRules(route, sent, rules));
    }
    return errors.length > 0 ? { errors: onePerPlace(errors) } : { body };
  };
}

function parsedJson(text: string): { value?: object; errors: ShapeError[] } {
  try {
    return parseJsonBody(text);
  } catch (error) {
    const fault = { type: 'json_invalid', loc: ['body'], msg: 'Input should be valid JSON', input: null };
    return { errors: (error instanceof ServiceError && error.data.shapeErrors) || [fault] };
  }
}

/** Returns the violations of the document's schemas, as the response shows them. */
function shapeErrors(
  route: Route,
  sent: SentValues,
  values: Parameters<Route['violations']>[0],
): ShapeError[] {
  const violations = route.violations(values);
  if (violations.length === 0) return [];
  const { path, query, headers: header, body } = sent;
  return toShapeErrors(violations, { path, query, header, body });
}

function prepare(
  made: Reply,
  { route, unknownParameters: unknown }: Exchange,
  { verifyResponses }: PipelineOptions,
): PreparedReply {
  const reply = unknown ? withParameterHeaders(made, unknown) : made;
  if (verifyResponses) route?.checkReply(reply);
  return prepareReply(reply, route?.mediaTypeOf(reply.status) ?? 'application/json');
}

/** Makes the response to an error; a 500 if that fails too. */
function prepareError(error: unknown, exchange: Exchange, options: PipelineOptions): PreparedReply {
  try {
    const body = exchange.route?.body;
    const hidden = body?.isSecret ? withoutInput(error) : error;
    const shown = body?.hasPointers ? withPointers(hidden) : hidden;
    return prepare(errorReply(shown), exchange, options);
  } catch (second) {
    exchange.log.error({ err: second }, 'failed to make the response to an error');
    return prepareReply(errorReply(second), 'application/json');
  }
}

function logFailure(exchange: Exchange, error: unknown): void {
  const expected = asServiceError(error);
  if (!expected) exchange.log.error({ err: error }, 'request failed');
  // The line of the request says enough of a malformed body, and its cause quotes it.
  else if (expected.data.cause && expected.code !== 'malformed_request')
    exchange.log.warn({ err: expected.data.cause, code: expected.code }, 'request refused');
}
