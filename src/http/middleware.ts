import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { requireWriteAccess, type Authenticate } from '../base/caller';
import {
  invalidShape,
  malformedPath,
  methodNotAllowed,
  routeNotFound,
  unauthorized,
  unavailable,
  unsupportedMediaType,
} from '../base/errors';
import { unlessCopied } from './reply/caching';
import { requestIdOf } from './reply/common-headers';
import { EncodedFile } from './contract/encoded-file';
import { Exchange, type Middleware, type ServiceState } from './contract/exchange';
import { readJsonBody } from './body/json-body';
import { KeyCheck } from './keys/key-check';
import type { OpenApi } from './contract/operations';
import { prepareBody } from './body/prepare-body';
import type { SentRequest } from './contract/prepared-router';
import { sentQuery, typedQuery } from './body/query';
import type { CountRequest } from './rate-limit';
import { hasBody, mediaTypeOf } from './body/request-body';
import type { RequestLog } from './request-log';
import { prepareReply, sendReply } from './reply/send-reply';
import type { ServedOperation } from './contract/served-operation';
import { onePerPlace, type SentValues } from '../base/shape-errors';
import { findUnknownParameters, strictErrors } from './contract/unknown-parameters';
import { toWellFormed } from './body/well-formed';
import type { DelayWrongKey } from './keys/wrong-keys';

/** Begins the request: its id, its log, and the log line of its end. */
export function beginRequest(requestLog: RequestLog, service: ServiceState): Middleware {
  return (request, response, next) => {
    const requestId = requestIdOf(request.headers);
    const logEnd = requestLog.watch(request, response, requestId);
    service.inFlight.enter();
    response.setHeader('x-request-id', requestId);
    const exchange = new Exchange(request, response, requestId, service, (end) =>
      logEnd({
        operation: exchange.found?.operationId,
        caller: exchange.caller,
        path: exchange.path,
        ...end,
      }),
    );
    response.locals.exchange = exchange;
    next();
  };
}

/** Finds the operation. @throws route_not_found, method_not_allowed */
export function findOperation(openApi: OpenApi): Middleware {
  return (_request, response, next) => {
    const { exchange } = response.locals;
    exchange.found = openApi.find(exchange.sentRequest);
    if (exchange.found) return next();
    const allowed = openApi.allowedMethods(exchange.path);
    throw allowed.length > 0 ? methodNotAllowed(allowed) : routeNotFound();
  };
}

/** Finds the caller of the key. @throws unavailable at shutdown, except for `GET /health`; unauthorized */
export function requireCaller(authenticate: Authenticate, delayWrongKey: DelayWrongKey): Middleware {
  return async (request, response, next) => {
    const { exchange } = response.locals;
    if (exchange.operation.needsKey) {
      if (exchange.isDraining) throw unavailable('the process is shutting down');
      const key = request.headers['x-api-key'];
      if (typeof key !== 'string') throw unauthorized();
      exchange.caller = await authenticate(key);
      if (!exchange.caller) {
        await delayWrongKey(request.socket.remoteAddress);
        throw unauthorized();
      }
      exchange.keyCheck = new KeyCheck(async () => (await authenticate(key)) !== undefined);
    }
    next();
  };
}

/** Counts the request of the key. @throws rate_limited */
export function limitRateOfKey(countRequest: CountRequest): Middleware {
  return async (_request, response, next) => {
    const { caller } = response.locals.exchange;
    if (caller) await countRequest(caller);
    next();
  };
}

/** Reads a JSON body; the handler of the operation reads a form. @throws unsupported_media_type, body_too_large, malformed_json */
export const readBody: Middleware = async (request, response, next) => {
  const { exchange } = response.locals;
  const { body } = exchange.operation;
  if (body) {
    const isSent = hasBody(request);
    if (isSent && mediaTypeOf(request) !== body.mediaType) throw unsupportedMediaType(body.mediaType);
    if (isSent && body.mediaType === 'application/json') {
      const { value, errors } = await readJsonBody(request, body.bytesMax);
      exchange.sent.body = value;
      exchange.body = prepareBody(value, body.schema);
      exchange.bodyErrors = errors;
    }
  }
  // A body can take hours.
  await exchange.keyCheck?.requireInUse();
  next();
};

/** Checks the request by the operation's check, the document, and the operation's rule. @throws errors of the check; validation_error */
export function checkShape(openApi: OpenApi): Middleware {
  return async (request, response, next) => {
    const { exchange } = response.locals;
    const { operation, caller, sent, sentRequest } = exchange;
    const { parameters, check } = operation;
    const { value: query, errors } = toWellFormed(sentQuery(parameters, exchange.query), ['query']);
    sent.query = query;
    sent.headers = sentHeaders(operation, request);
    exchange.typedQuery = typedQuery(parameters, query);
    sentRequest.query = exchange.typedQuery as SentRequest['query'];
    sentRequest.headers = sent.headers as SentRequest['headers'];
    sentRequest.body = exchange.body;
    sent.path = pathParameters(openApi, sentRequest);
    errors.push(...exchange.bodyErrors, ...openApi.shapeErrors(sentRequest, sent));
    exchange.unknownParameters = findUnknownParameters(
      parameters,
      exchange.query,
      // Node joins the values of this header.
      request.headers.prefer as string | undefined,
    );
    if (exchange.unknownParameters) errors.push(...strictErrors(exchange.unknownParameters));
    // Its 400 precedes the 422s.
    if (caller && check) exchange.checked = await check({ ...sent, caller, isValid: errors.length === 0 });
    if (errors.length > 0) throw invalidShape(onePerPlace(errors));
    next();
  };
}

/** Requires a key that may write for operations that change data. @throws read_only_key */
export const requirePermission: Middleware = (_request, response, next) => {
  const { operation, caller } = response.locals.exchange;
  if (caller && !operation.isRead) requireWriteAccess(caller);
  next();
};

/** Calls the operation, and sends its reply. @throws errors of the handler */
export function callOperation(openApi: OpenApi, verifyResponses: boolean): Middleware {
  return async (request, response) => {
    const { exchange } = response.locals;
    const reply = await openApi.call(exchange.sentRequest, exchange);
    // Checked after a wait; a stream is checked while it is sent. A completed write is reported in any case.
    const isStream = reply.body instanceof Readable || reply.body instanceof EncodedFile;
    if (exchange.operation.isRead && !isStream) await exchange.keyCheck?.requireInUse();
    await sendReply(exchange, prepareReply(unlessCopied(request, reply), exchange, verifyResponses));
  };
}

/** @throws malformed_path when the path cannot be decoded */
function pathParameters(openApi: OpenApi, request: SentRequest): Record<string, string> {
  try {
    return openApi.pathParameters(request);
  } catch (error) {
    throw malformedPath(error);
  }
}

/** Returns the declared headers as sent, by their names in the document. */
function sentHeaders(
  { parameters }: ServedOperation,
  { method, headers }: IncomingMessage,
): SentValues['headers'] {
  const sent: SentValues['headers'] = {};
  for (const { in: place, name } of parameters) {
    // `Range` applies to GET only (RFC 9110, section 14.2).
    if (place !== 'header' || (name === 'Range' && method !== 'GET')) continue;
    // Node returns no declared header as a list.
    sent[name] = headers[name.toLowerCase()] as string | undefined;
  }
  return sent;
}
