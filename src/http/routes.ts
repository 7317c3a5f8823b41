import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import OpenAPIBackend, { type Document, type Operation } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import type { Handlers, OperationId, Reply } from './contract';
import type { BodySchema } from './prepare-body';
import type { Parameter } from './query';
import { checkReply } from './response-check';

/** The values of a request for the validators. */
interface RequestValues {
  path: Record<string, string>;
  query: Record<string, unknown>;
  header: object;
  requestBody?: object;
}

/** The body of a request, as the document describes it. */
interface RouteBody {
  mediaType: string;
  schema: BodySchema;
  /** `x-max-bytes`; undefined: the maximum of every JSON body. */
  bytesMax: number | undefined;
  /** `x-error-pointers`: whether the errors of the body have a JSON pointer. */
  hasPointers: boolean;
  /** `x-secret`: whether the body has secrets, so that errors and logs show nothing of it. */
  isSecret: boolean;
}

/** The extensions of a request body. */
type RequestBody = OpenAPIV3.RequestBodyObject & {
  'x-max-bytes'?: number;
  'x-error-pointers'?: boolean;
  'x-secret'?: boolean;
};

/** An operation of the document, or a file outside it. */
export interface Route {
  /** Undefined for a file. */
  readonly operationId: OperationId | undefined;
  readonly parameters: readonly Parameter[];
  /** Undefined without a body. */
  readonly body: RouteBody | undefined;
  readonly needsKey: boolean;
  readonly handle: (call: unknown) => Promise<Reply>;
  /** Decodes the path parameters. @throws URIError */
  pathParameters(path: string): Record<string, string>;
  violations(values: RequestValues): ErrorObject[];
  /** Returns the declared media type of a response; by default JSON. */
  mediaTypeOf(status: number): string;
  /** @throws Error when the reply violates the document */
  checkReply(reply: Reply): void;
}

export interface Routes {
  /** Finds the operation of a method and a path, or a file that the headers accept; HEAD counts as GET. */
  find(
    method: string,
    path: string,
    headers?: IncomingHttpHeaders,
  ): Route | 'not_found' | 'method_not_allowed';
  /** Lists the methods of a path, for `Allow`. */
  allowedMethods(path: string): string[];
}

/** Cached matches: openapi-backend compiles a pattern of every path template for each match (0.1 to 1 ms). */
const matchesKept = 1_000;

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Opens the routes of the document: openapi-backend matches, its Ajv validators validate.
 * @throws Error when the document has an unsupported feature, or a handler has no operation
 */
export async function openRoutes(document: Document, handlers: Handlers): Promise<Routes> {
  const api = new OpenAPIBackend({
    definition: servedDocument(document),
    strict: true,
    // Validators are compiled on first use: the start takes a second and 40 MB less. A test compiles all.
    quick: true,
    ignoreTrailingSlashes: false,
    ajvOpts: { allErrors: true },
    customizeAjv: (ajv) => {
      addFormats(ajv);
      return ajv;
    },
  });
  await api.init();
  const operations = api.getOperations();
  // It would make the list anew for each handler and each match.
  api.router.getOperations = () => operations;
  api.register(handlers as Record<string, (call: unknown) => Promise<Reply>>);
  const routes = new Map(operations.map((operation) => [operation.operationId, openRoute(api, operation)]));
  const literals = new Set(operations.flatMap(({ path }) => path.split('/').filter(isLiteral)));
  const matches = new LRUCache<string, Route | 'not_found' | 'method_not_allowed'>({ max: matchesKept });

  const match = (method: string, path: string) => {
    try {
      return routes.get(api.router.matchOperation({ method, path, headers: {} }, true).operationId)!;
    } catch (error) {
      return (error as Error).message.startsWith('405') ? 'method_not_allowed' : 'not_found';
    }
  };

  const find: Routes['find'] = (method, path) => {
    const asked = method === 'HEAD' ? 'GET' : method;
    const shape = path.split('/', segmentsMax).map(shapeOf).join('/');
    const key = `${asked} ${shape}`;
    const known = matches.get(key);
    if (known !== undefined) return known;
    const found = match(asked, shape);
    matches.set(key, found);
    return found;
  };
  const shapeOf = (segment: string) => (segment === '' || literals.has(segment) ? segment : '*');
  /** Longer paths are truncated to one segment more than any operation has. */
  const segmentsMax = Math.max(...operations.map(({ path }) => path.split('/').length)) + 1;

  return {
    find,
    allowedMethods: (path) => methods.filter((method) => typeof find(method, path) === 'object'),
  };
}

function openRoute(api: OpenAPIBackend, operation: Operation): Route {
  const operationId = operation.operationId as OperationId;
  const parameters = operation.parameters as Parameter[];
  const template = operation.path.split('/');
  const names = template.flatMap((segment, at) =>
    isLiteral(segment) ? [] : [{ at, name: segment.slice(1, -1) }],
  );
  requirePlain(operation, parameters, template);
  const requestBody = operation.requestBody as RequestBody | undefined;
  return {
    operationId,
    parameters,
    body: requestBody && routeBody(requestBody),
    needsKey: operation.security!.length > 0,
    handle: api.handlers[operationId] as Route['handle'],
    pathParameters(path) {
      if (names.length === 0) return {};
      const segments = path.split('/');
      return Object.fromEntries(names.map(({ at, name }) => [name, decodeURIComponent(segments[at]!)]));
    },
    violations(values) {
      const validators = api.validator.getRequestValidatorsForOperation(operationId);
      return validators.flatMap((validate) => (validate(values) ? [] : validate.errors!));
    },
    mediaTypeOf(status) {
      const response = operation.responses?.[status] as OpenAPIV3.ResponseObject | undefined;
      return Object.keys(response?.content ?? {})[0] ?? 'application/json';
    },
    checkReply: (reply) => checkReply(api, operation, reply),
  };
}

function routeBody(requestBody: RequestBody): RouteBody {
  const [[mediaType, { schema }]] = Object.entries(requestBody.content) as [
    [string, OpenAPIV3.MediaTypeObject],
  ];
  return {
    mediaType,
    schema: schema as BodySchema,
    bytesMax: requestBody['x-max-bytes'],
    hasPointers: requestBody['x-error-pointers'] ?? false,
    isSecret: requestBody['x-secret'] ?? false,
  };
}

const isLiteral = (segment: string) => !segment.includes('{');

/** @throws Error for parameters, paths and security that the pipeline does not support */
function requirePlain(
  { operationId, security }: Operation,
  parameters: Parameter[],
  template: string[],
): void {
  const isPlain =
    template.every((segment) => isLiteral(segment) || /^\{[^{}]+\}$/.test(segment)) &&
    parameters.every(
      ({ in: place, content, explode, schema }) =>
        place !== 'cookie' &&
        !content &&
        explode !== false &&
        schema.type !== 'array' &&
        (place === 'query' || schema.type === 'string'),
    ) &&
    security!.every((requirement) => Object.keys(requirement).join() === 'ApiKey');
  if (!isPlain)
    throw new Error(`Operation ${operationId} has a path, parameter or security that is not supported.`);
}

/** Copies the document with any object as a form: handlers check the parts while they arrive. */
function servedDocument(document: Document): Document {
  type PathItem = Record<string, { requestBody?: OpenAPIV3.RequestBodyObject }>;
  const copy = structuredClone(document);
  for (const item of Object.values(copy.paths as Record<string, PathItem>)) {
    for (const { requestBody } of Object.values(item)) {
      const form = requestBody?.content['multipart/form-data'];
      if (form) form.schema = { type: 'object' };
    }
  }
  return copy;
}
