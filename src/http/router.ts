import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import OpenAPIBackend, { type Document, type Handler, type Request as ApiRequest } from 'openapi-backend';
import { invalidShape, malformedRequest, unauthorized, unavailable, unsupportedMediaType } from '../errors';
import type { Authenticate } from '../keys/caller';
import type { Log } from '../log';
import {
  makeReply,
  type AllChecks,
  type OperationId,
  type RawRequest,
  type Reply,
  type ServedHandlers,
} from './contract';
import { compileRoutes } from './compiled-routes';
import { asServiceError, errorReply } from './error-response';
import { openExchange, type Exchange } from './exchange';
import { readJsonBody } from './json-body';
import { declaredMediaType } from './media-type';
import { readMultipart } from './multipart';
import { prepareBody, type BodySchema } from './prepare-body';
import { sentQuery, typedQuery, type Parameter } from './query';
import type { CountRequest } from './rate-limit';
import { hasBody, mediaTypeOf } from './request-body';
import { requestIdOf } from './request-id';
import type { RequestLog } from './request-log';
import { checkReply } from './response-check';
import { prepareReply, sendReply, type Prepared } from './send-reply';
import { servedDocument } from './served-document';
import { toShapeErrors } from './shape-errors';

/** What the router needs to know. */
export interface RouterOptions {
  /** The OpenAPI document. */
  document: Document;
  handlers: ServedHandlers;
  checks: AllChecks;
  authenticate: Authenticate;
  countRequest: CountRequest;
  uploadBytesMax: number;
  /** Checks every response against the document, and turns one that breaks it into a 500. For tests. */
  verifyResponses: boolean;
  /** True once the process is about to stop: callers are told to go elsewhere. */
  isDraining: () => boolean;
  log: Log;
  requestLog: RequestLog;
}

/** What openapi-backend tells of a request, as far as we use it. */
interface Match {
  api: OpenAPIBackend;
  operation: {
    operationId: OperationId;
    parameters: Parameter[];
    requestBody?: { content: Record<string, { schema: BodySchema }> };
    security: unknown[];
  };
  request: { params: Record<string, string>; headers: IncomingMessage['headers'] };
  security: { authorized: boolean };
  validation: { errors: ErrorObject[] };
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Serves the operations of the document: routing (404, 405), key (401, 429), shape (415, 413, 400, 422), handler. This file,
 * and those beside it, are the only ones that know express and openapi-backend.
 */
export async function createRouter(
  options: RouterOptions,
): Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> {
  const api = await createApi(options);

  return async (request, response) => {
    const requestId = requestIdOf(request.headers);
    const logEnd = options.requestLog.watch(request, response, requestId);
    const exchange = openExchange(request, response, () => options.log.child({ request_id: requestId }));
    const prepare = (reply: Reply): Prepared => {
      if (options.verifyResponses) checkReply(api, exchange.operationId, reply);
      return prepareReply(reply, declaredMediaType(api, exchange.operationId, reply.status));
    };
    let prepared: Prepared;
    let failure: unknown;
    try {
      prepared = prepare((await api.handleRequest(exchange.apiRequest, exchange)) as Reply);
    } catch (error) {
      failure = error;
      logFailure(exchange, error);
      prepared = prepareError(error, prepare, exchange);
    }
    // Node closes idle connections at a stop, not those with a request in flight: their clients would go on using them.
    if (options.isDraining()) response.setHeader('Connection', 'close');
    const isWhole = await sendReply(exchange, prepared, requestId);
    const { operationId: operation, caller, apiRequest } = exchange;
    const { status } = prepared.reply;
    logEnd({ operation, caller, path: apiRequest.path, status, error: failure, truncated: !isWhole });
  };
}

/** The response to an error; if that cannot be made either, the one that says nothing. */
function prepareError(error: unknown, prepare: (reply: Reply) => Prepared, exchange: Exchange): Prepared {
  try {
    return prepare(errorReply(error));
  } catch (second) {
    exchange.log.error({ err: second }, 'the response to an error could not be made');
    return prepareReply(errorReply(second), 'application/json');
  }
}

async function createApi(options: RouterOptions): Promise<OpenAPIBackend> {
  const api = new OpenAPIBackend({
    definition: servedDocument(options.document, options.handlers),
    strict: true,
    // Validators are compiled when they are first needed: a second less to start, and 40 MB less memory. That the
    // document is valid, and every schema compiles, is a test of its own.
    quick: true,
    ignoreTrailingSlashes: false,
    ajvOpts: { allErrors: true },
    customizeAjv: (ajv) => {
      addFormats(ajv);
      return ajv;
    },
    securityHandlers: typed({
      ApiKey: async ({ request }, exchange) => {
        const key = request.headers['x-api-key'];
        if (typeof key !== 'string') return false;
        try {
          exchange.caller = await options.authenticate(key);
        } catch (error) {
          // openapi-backend would take it for a wrong key.
          exchange.authenticationError = error;
        }
        return exchange.caller !== undefined;
      },
    }),
    handlers: typed({
      notFound: () => makeReply(404, { detail: 'Not Found' }),
      methodNotAllowed: ({ api }, exchange) =>
        makeReply(405, { detail: 'Method Not Allowed' }, { Allow: allowedMethods(api, exchange).join(', ') }),
      postRoutingHandler: ({ operation }: Partial<Match>, exchange) => {
        if (!operation) return;
        exchange.operationId = operation.operationId;
        // Health is shown to the end.
        if (operation.security.length > 0 && options.isDraining()) {
          throw unavailable('the process is about to stop');
        }
        exchange.sentQuery = sentQuery(operation.parameters, exchange.apiRequest.query as object);
        exchange.apiRequest.query = typedQuery(
          operation.parameters,
          exchange.sentQuery,
        ) as ApiRequest['query'];
      },
      unauthorizedHandler: (_match, { authenticationError }) => {
        throw authenticationError ?? unauthorized();
      },
      postSecurityHandler: async ({ operation, security }, exchange) => {
        if (operation.security.length > 0) {
          if (!security.authorized) return;
          await options.countRequest(exchange.caller!);
        }
        await checkShape(operation, exchange, options.checks);
      },
      validationFail: ({ operation, validation, request }, exchange) => {
        throw invalidShape(
          toShapeErrors(validation.errors, {
            path: request.params,
            query: exchange.sentQuery,
            header: sentHeaders(operation.parameters, exchange.request),
            body: exchange.sentBody,
          }),
        );
      },
      ...wrapHandlers(options),
    }),
  });
  await api.init();
  compileRoutes(api);
  return api;
}

type AnyChecks = Partial<Record<OperationId, (request: RawRequest) => unknown>>;

type ApiHandler = (match: Match, exchange: Exchange) => unknown;

/** openapi-backend types its handlers by `any`; ours say what they use. */
function typed(handlers: Record<string, ApiHandler>): Record<string, Handler> {
  return handlers as unknown as Record<string, Handler>;
}

/** Every handler gets a call in the document's terms. */
function wrapHandlers({ handlers, uploadBytesMax, isDraining }: RouterOptions): Record<string, ApiHandler> {
  // The types of `ServedHandlers` hold here because the validator has checked the call against the same document.
  const untyped = Object.entries(handlers) as [string, (call: unknown) => Promise<Reply>][];
  return Object.fromEntries(
    untyped.map(([operationId, handler]) => [
      operationId,
      ({ operation, request }, exchange) =>
        handler({
          path: request.params,
          query: exchange.apiRequest.query,
          headers: sentHeaders(operation.parameters, exchange.request),
          body: exchange.apiRequest.body as unknown,
          sentBody: exchange.sentBody,
          form: acceptsForm(operation) ? readMultipart(exchange.request, uploadBytesMax) : undefined,
          checked: exchange.checked,
          caller: exchange.caller,
          get log() {
            return exchange.log;
          },
          isGivenUp: () => exchange.request.socket.destroyed || isDraining(),
          reply: makeReply,
        }),
    ]),
  );
}

/** The declared headers as they were sent, by the names that the document gives them. */
function sentHeaders(
  parameters: readonly Parameter[],
  { method, headers }: IncomingMessage,
): Record<string, string | undefined> {
  const names = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  // A range is asked of GET only (RFC 9110, section 14.2).
  const meant = method === 'GET' ? names : names.filter((name) => name !== 'Range');
  // Of all that Node gives as a list, none is declared.
  return Object.fromEntries(meant.map((name) => [name, headers[name.toLowerCase()] as string | undefined]));
}

/** What can be wrong before the validator looks: the path, the body's media type and syntax, and what outranks a 422. */
async function checkShape(
  operation: Match['operation'],
  exchange: Exchange,
  checks: AllChecks,
): Promise<void> {
  const { request, apiRequest } = exchange;
  if (operation.requestBody) {
    const [[mediaType, { schema }]] = Object.entries(operation.requestBody.content) as [
      [string, { schema: BodySchema }],
    ];
    if (hasBody(request) && mediaTypeOf(request) !== mediaType) throw unsupportedMediaType(mediaType);
    if (acceptsForm(operation)) apiRequest.body = {};
    else if (hasBody(request)) {
      exchange.sentBody = await readJsonBody(request);
      apiRequest.body = prepareBody(exchange.sentBody, schema);
    }
  }
  if (exchange.pathIsMalformed) throw malformedRequest('Malformed request path.');
  const { sentQuery: query, sentBody: body, caller } = exchange;
  const check = (checks as AnyChecks)[operation.operationId];
  // Checks are for operations that need a key, which has been looked at by now.
  if (caller && check) {
    exchange.checked = await check({
      query,
      headers: sentHeaders(operation.parameters, request),
      body,
      caller,
    });
  }
}

function acceptsForm({ requestBody }: Match['operation']): boolean {
  return requestBody !== undefined && 'multipart/form-data' in requestBody.content;
}

function allowedMethods(api: OpenAPIBackend, { apiRequest }: Exchange): string[] {
  return methods.filter((method) => {
    const asked = method === 'HEAD' ? 'GET' : method;
    return api.router.matchOperation({ method: asked, path: apiRequest.path, headers: {} }) !== undefined;
  });
}

function logFailure(exchange: Exchange, error: unknown): void {
  const expected = asServiceError(error);
  if (!expected) exchange.log.error({ err: error }, 'request failed');
  else if (expected.data.cause)
    exchange.log.warn({ err: expected.data.cause, code: expected.code }, 'request refused');
}
