import type { ErrorObject } from 'ajv';
import type { OpenAPIBackend, Operation, ParsedRequest, Request } from 'openapi-backend';
import type { Parameter } from './query';

/** An operation, and what openapi-backend would make of its path for each request. */
interface Route {
  operation: Operation;
  /** Matches the path; its groups are the parameters, by position. */
  pattern: RegExp;
  names: string[];
  /**
   * Whether no parameter is a cookie, a list or JSON, and none but those of the query is anything but a text: they are
   * taken as they were sent, and the validator changes none of them.
   */
  isPlain: boolean;
}

/**
 * openapi-backend builds its list of operations, and a pattern for each of them, anew for each request, and takes the
 * request apart three times: three quarters of what it costs. The document does not change, so its router is given
 * methods that do the same with what was made once; whatever they do not cover goes to its own.
 */
export function compileRoutes({ router, validator }: OpenAPIBackend): void {
  const operations = router.getOperations();
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
  const routes = new Map(operations.map((operation) => [operation, compile(operation)]));
  const templated = [...routes.values()].filter(({ names }) => names.length > 0).sort(bySpecificity);
  const exact = new Map(
    operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const),
  );
  const matchOperation = router.matchOperation.bind(router) as (
    request: Request,
    strict: boolean,
  ) => Operation;
  const parseRequest = router.parseRequest.bind(router);
  const validateRequest = validator.validateRequest.bind(validator);

  router.getOperations = () => operations;
  router.getOperation = (operationId) => byId.get(operationId);

  router.matchOperation = (request, strict: boolean = false) => {
    const { method, path } = router.normalizeRequest(request);
    const normalized = router.normalizePath(path);
    return (
      exact.get(`${method} ${normalized}`) ??
      templated.find(({ operation, pattern }) => operation.method === method && pattern.test(normalized))
        ?.operation ??
      // What is left is nothing of ours, or another method of it: which of them, and what follows, it knows.
      matchOperation(request, strict)
    );
  };

  router.parseRequest = (request, operation) => {
    const route = operation && routes.get(operation);
    if (!route) return operation ? parseRequest(request, operation) : beforeRouting(request);
    if (!route.isPlain || typeof request.query !== 'object') return parseRequest(request, operation);
    const { method, path } = router.normalizeRequest(request);
    return {
      ...request,
      method,
      path,
      params: paramsOf(route, router.normalizePath(path)),
      query: { ...request.query },
      cookies: {},
      requestBody: request.body as unknown,
    };
  };

  validator.validateRequest = (request, operation) => {
    const route = typeof operation === 'object' ? routes.get(operation) : undefined;
    const body: unknown = request.body;
    if (
      !route?.isPlain ||
      typeof request.query !== 'object' ||
      (body !== undefined && typeof body !== 'object')
    ) {
      return validateRequest(request, operation);
    }
    const values = {
      path: paramsOf(route, router.normalizePath(router.normalizeRequest(request).path)),
      query: { ...request.query },
      header: request.headers,
      cookie: {},
      ...(body !== undefined && { requestBody: body }),
    };
    const errors: ErrorObject[] = [];
    for (const validate of validator.getRequestValidatorsForOperation(route.operation.operationId!)) {
      if (!validate(values)) errors.push(...validate.errors!);
    }
    return { valid: errors.length === 0, errors: errors.length === 0 ? null : errors };
  };
}

/** Nobody looks at a request before its operation is known. */
function beforeRouting({ method, path, headers }: Request): ParsedRequest {
  return { method, path, headers, params: {}, query: {}, cookies: {}, requestBody: undefined };
}

function paramsOf({ pattern, names }: Route, path: string): Record<string, string> {
  const params: Record<string, string> = {};
  const values = pattern.exec(path);
  names.forEach((name, at) => (params[name] = decodeURIComponent(values![at + 1]!)));
  return params;
}

const parameterOfPath = /\{[^{}]+\}/g;

/** What a path matches that is templated so in the document; a group for each parameter. */
export function patternOf(template: string): RegExp {
  const literals = template.split(parameterOfPath).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literals.join('([^/]+)')}$`);
}

function compile(operation: Operation): Route {
  const parameters = operation.parameters as Parameter[];
  return {
    operation,
    pattern: patternOf(operation.path),
    names: [...operation.path.matchAll(parameterOfPath)].map(([template]) => template.slice(1, -1)),
    isPlain: parameters.every(
      ({ in: place, content, explode, schema }) =>
        place !== 'cookie' &&
        !content &&
        explode !== false &&
        schema.type !== 'array' &&
        (place === 'query' || schema.type === 'string'),
    ),
  };
}

/** The order in which openapi-backend tries them. */
function bySpecificity(one: Route, other: Route): number {
  const literalLength = ({ operation }: Route) => operation.path.replace(parameterOfPath, '').length;
  return literalLength(other) - literalLength(one);
}
