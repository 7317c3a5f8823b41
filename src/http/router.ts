import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import type { ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import OpenAPIBackend, { type Document, type Handler, type Request as ApiRequest } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import { invalidShape, malformedRequest, unauthorized, unavailable, unsupportedMediaType } from '../errors';
import type { Log } from '../log';
import { makeReply, type AllChecks, type OperationId, type Reply, type ServedHandlers } from './contract';
import { asServiceError, errorReply } from './error-response';
import { readJsonBody } from './json-body';
import { declaredMediaType } from './media-type';
import { readMultipart } from './multipart';
import { prepareBody, type BodySchema } from './prepare-body';
import { sentQuery, typedQuery, type Parameter } from './query';
import { hasBody, mediaTypeOf } from './request-body';
import { requestIdOf } from './request-id';
import { checkReply } from './response-check';
import { prepareReply, sendReply, type Prepared } from './send-reply';
import { toShapeErrors } from './shape-errors';

/** What the router needs to know. */
export interface RouterOptions {
  /** The OpenAPI document. */
  document: Document;
  handlers: ServedHandlers;
  checks: AllChecks;
  /** Whether an API key is valid. */
  isValidKey: (key: string) => boolean | Promise<boolean>;
  uploadBytesMax: number;
  /** Checks every response against the document, and turns one that breaks it into a 500. For tests. */
  verifyResponses: boolean;
  /** True once the process is about to stop: callers are told to go elsewhere. */
  isDraining: () => boolean;
  log: Log;
}

/** One request on its way through the router. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
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
 * Serves the operations of the document: routing (404, 405), key (401), shape (415, 413, 400, 422), handler. This file,
 * and those beside it, are the only ones that know express and openapi-backend.
 */
export async function createRouter(
  options: RouterOptions,
): Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> {
  const api = await createApi(options);

  return async (request, response) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(request.headers['x-request-id']);
    const exchange = openExchange(request, response, options.log.child({ request_id: requestId }));
    const { log } = exchange;
    const prepare = (reply: Reply): Prepared => {
      if (options.verifyResponses) checkReply(api, exchange.operationId, reply);
      return prepareReply(reply, declaredMediaType(api, exchange.operationId, reply.status));
    };
    let prepared: Prepared;
    try {
      prepared = prepare((await api.handleRequest(exchange.apiRequest, exchange)) as Reply);
    } catch (error) {
      logFailure(log, error);
      prepared = prepareError(error, prepare, log);
    }
    await sendReply(exchange, prepared, requestId);
    log.info(
      {
        method: request.method,
        path: exchange.apiRequest.path,
        operation: exchange.operationId,
        status: prepared.reply.status,
        ms: Math.round(performance.now() - startedAt),
      },
      'request',
    );
  };
}

/** The response to an error; if that cannot be made either, the one that says nothing. */
function prepareError(error: unknown, prepare: (reply: Reply) => Prepared, log: Log): Prepared {
  try {
    return prepare(errorReply(error));
  } catch (second) {
    log.error({ err: second }, 'the response to an error could not be made');
    return prepareReply(errorReply(second), 'application/json');
  }
}

function openExchange(request: IncomingMessage, response: ServerResponse, log: Log): Exchange {
  const url = originForm(request.url ?? '/');
  const queryStart = url.indexOf('?');
  const path = queryStart === -1 ? url : url.slice(0, queryStart);
  const query = queryStart === -1 ? '' : url.slice(queryStart + 1);
  const pathIsMalformed = !isDecodable(path);
  return {
    request,
    response,
    log,
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

async function createApi(options: RouterOptions): Promise<OpenAPIBackend> {
  const api = new OpenAPIBackend({
    definition: servedDocument(options),
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
      ApiKey: ({ request }) => {
        const key = request.headers['x-api-key'];
        return typeof key === 'string' && options.isValidKey(key);
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
      unauthorizedHandler: () => {
        throw unauthorized();
      },
      postSecurityHandler: async ({ operation, security }, exchange) => {
        if (operation.security.length > 0 && !security.authorized) return;
        await checkShape(operation, exchange, options.checks);
      },
      validationFail: ({ validation, request }, exchange) => {
        throw invalidShape(
          toShapeErrors(validation.errors, {
            path: request.params,
            query: exchange.sentQuery,
            header: request.headers,
            body: exchange.sentBody,
          }),
        );
      },
      ...wrapHandlers(options),
    }),
  });
  await api.init();
  rememberOperations(api);
  return api;
}

type ApiHandler = (match: Match, exchange: Exchange) => unknown;

/** openapi-backend types its handlers by `any`; ours say what they use. */
function typed(handlers: Record<string, ApiHandler>): Record<string, Handler> {
  return handlers as unknown as Record<string, Handler>;
}

/** Every handler gets a call in the document's terms. */
function wrapHandlers({ handlers, uploadBytesMax }: RouterOptions): Record<string, ApiHandler> {
  // The types of `ServedHandlers` hold here because the validator has checked the call against the same document.
  const untyped = Object.entries(handlers) as [string, (call: unknown) => Promise<Reply>][];
  return Object.fromEntries(
    untyped.map(([operationId, handler]) => [
      operationId,
      ({ operation, request }, { request: message, apiRequest, checked, log }) =>
        handler({
          path: request.params,
          query: apiRequest.query,
          headers: sentHeaders(operation.parameters, message),
          body: apiRequest.body as unknown,
          form: acceptsForm(operation) ? readMultipart(message, uploadBytesMax) : undefined,
          checked,
          log,
          reply: makeReply,
        }),
    ]),
  );
}

/** The declared headers as they were sent, by the names that the document gives them. */
function sentHeaders(parameters: readonly Parameter[], { method, headers }: IncomingMessage): object {
  const names = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  // A range is asked of GET only (RFC 9110, section 14.2).
  const meant = method === 'GET' ? names : names.filter((name) => name !== 'Range');
  return Object.fromEntries(meant.map((name) => [name, headers[name.toLowerCase()]]));
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
  exchange.checked = await checks[operation.operationId]?.({
    query: exchange.sentQuery,
    body: exchange.sentBody,
  });
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

/**
 * The document as far as it is served: without the operations that have no handler, and with any object accepted as a
 * form, whose parts come in while the handler reads them, and it checks them.
 */
function servedDocument({ document, handlers }: RouterOptions): Document {
  type PathItem = Record<string, { operationId?: string; requestBody?: OpenAPIV3.RequestBodyObject }>;
  const isServed = ([, { operationId }]: [string, PathItem[string]]) =>
    operationId === undefined || Object.hasOwn(handlers, operationId);
  const copy = structuredClone(document);
  const paths = copy.paths as Record<string, PathItem>;
  for (const [path, item] of Object.entries(paths)) {
    paths[path] = Object.fromEntries(Object.entries(item).filter(isServed));
    for (const { requestBody } of Object.values(item)) {
      const form = requestBody?.content['multipart/form-data'];
      if (form) form.schema = { type: 'object' };
    }
  }
  return copy;
}

/** openapi-backend builds its list of operations anew for each request; the document does not change. */
function rememberOperations(api: OpenAPIBackend): void {
  const operations = api.router.getOperations();
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
  api.router.getOperations = () => operations;
  api.router.getOperation = (operationId) => byId.get(operationId);
}

function logFailure(log: Log, error: unknown): void {
  const expected = asServiceError(error);
  if (!expected) log.error({ err: error }, 'request failed');
  else if (expected.data.cause)
    log.warn({ err: expected.data.cause, code: expected.code }, 'request refused');
}

/** A target may be a whole URL (RFC 9112, section 3.2.2); we are whom it asks, whatever host it names. */
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
