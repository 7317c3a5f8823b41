import type { OpenAPIV3 } from 'openapi-types';
import json from '../../generated/openapi.json';
import { methods } from '../../scripts/contract-documents';

export const document = json as unknown as OpenAPIV3.Document;

/** A response of the document, in one of its media types. */
export interface DocumentedResponse {
  operationId: string;
  status: number;
  /** Of an error: its codes (`x-error-codes`). */
  codes: string[];
  /** `none`: without a body. */
  mediaType: string;
  /** Headers of every such response. */
  headers: Record<string, OpenAPIV3.SchemaObject>;
  schema?: OpenAPIV3.SchemaObject;
  /** By name; a single example is called `example`. Empty for a response without a body. */
  examples: Record<string, unknown>;
}

interface Route {
  operationId: string;
  method: string;
  segments: string[];
  responses: OpenAPIV3.ResponsesObject;
}

const routes: Route[] = Object.entries(document.paths).flatMap(([path, item]) =>
  methods.flatMap((method) => {
    const operation = item?.[method];
    if (!operation) return [];
    const { operationId, responses } = operation;
    const segments = path.split('/');
    return [{ operationId: operationId!, method: method.toUpperCase(), segments, responses }];
  }),
);

/** Lists every response of the document: one entry per operation, status and media type. */
export const documentedResponses: DocumentedResponse[] = routes.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, reference]) => {
    const {
      headers = {},
      content = {},
      'x-error-codes': codes = [],
    } = resolve<OpenAPIV3.ResponseObject & { 'x-error-codes'?: string[] }>(reference);
    const common = {
      operationId,
      status: Number(status),
      codes,
      headers: Object.fromEntries(
        Object.entries(headers)
          .map(([name, header]) => [name, resolve<OpenAPIV3.HeaderObject>(header)] as const)
          .filter(([, { required }]) => required)
          .map(([name, { schema }]) => [name, resolve<OpenAPIV3.SchemaObject>(schema!)]),
      ),
    };
    const bodies = Object.entries(content).map(([mediaType, media]) => ({
      ...common,
      mediaType,
      schema: media.schema && resolve<OpenAPIV3.SchemaObject>(media.schema),
      examples: examplesOf(media),
    }));
    return bodies.length > 0 ? bodies : [{ ...common, mediaType: 'none', examples: {} }];
  }),
);

/** Finds the operation of a request in the document, independently of the router; undefined if there is none. HEAD is GET. */
export function operationOf(method: string, target: string): string | undefined {
  const asked = method === 'HEAD' ? 'GET' : method;
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0]!;
  const segments = (path.startsWith('/') ? path : `/${path}`).split('/');
  const fitting = routes.filter(
    (route) =>
      route.method === asked &&
      route.segments.length === segments.length &&
      route.segments.every((segment, at) =>
        isParameter(segment) ? segments[at] !== '' : segment === segments[at],
      ),
  );
  // An exact path precedes a path with a parameter.
  fitting.sort((a, b) => a.segments.filter(isParameter).length - b.segments.filter(isParameter).length);
  return fitting[0]?.operationId;
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

function examplesOf({ example, examples }: OpenAPIV3.MediaTypeObject): Record<string, unknown> {
  if (!examples) return example === undefined ? {} : { example: example as unknown };
  return Object.fromEntries(
    Object.entries(examples).map(([name, named]) => [
      name,
      resolve<OpenAPIV3.ExampleObject>(named).value as unknown,
    ]),
  );
}

export function resolve<T extends object>(value: OpenAPIV3.ReferenceObject | T): T {
  if (!('$ref' in value)) return value;
  let target: unknown = document;
  for (const key of value.$ref.split('/').slice(1)) {
    target = (target as Record<string, unknown>)[key.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return resolve(target as T);
}

/** An operation of the document, with a request built from the document's examples. */
export interface Operation {
  /** `GET /feeds/{feed_id}` */
  title: string;
  operationId: string;
  method: string;
  /** With parameter names in braces. */
  path: string;
  /** With the examples of required parameters; a preview, if the operation has one. */
  examplePath: string;
  /** Builds the body of the example and its media type for one request. */
  exampleBody: () => RequestInit;
  needsKey: boolean;
  hasBody: boolean;
  /** The documented status of success. */
  success: number;
  mediaType: string;
  /** Its headers in lower case: the declared ones, and the common ones. */
  headers: string[];
}

function exampleBody({ requestBody }: OpenAPIV3.OperationObject): RequestInit {
  if (!requestBody) return {};
  const { content } = resolve<OpenAPIV3.RequestBodyObject>(requestBody);
  const [mediaType, { example, encoding }] = Object.entries(content)[0]!;
  if (mediaType !== 'multipart/form-data') {
    return { headers: { 'content-type': mediaType }, body: JSON.stringify(example) };
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(example as Record<string, string>)) {
    const type = encoding?.[name]?.contentType;
    if (type === undefined) form.set(name, value);
    else form.set(name, new Blob([value], { type }), `${name}.csv`);
  }
  return { body: form };
}
/** Default security headers of every response, by names in lower case. */
const promised = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  methods
    .filter((method) => item?.[method] !== undefined)
    .map((method) => {
      const operation = item![method]!;
      // 202, 204 and 206 are for unfinished work, for clients with a current state, and for a Range: the example is none of
      // these. Beside 200, 201 is for a resource that does not exist yet.
      const statuses = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
      const success =
        statuses.length === 1
          ? statuses
          : statuses.filter(
              (status) => !/0[246]$/.test(status) && !(status === '201' && statuses.includes('200')),
            );
      if (success.length !== 1) throw new Error(`${path}: one status of success is expected`);
      return {
        title: `${method.toUpperCase()} ${path}`,
        operationId: operation.operationId!,
        method: method.toUpperCase(),
        path,
        examplePath: fillIn(path, [...(item!.parameters ?? []), ...(operation.parameters ?? [])]),
        exampleBody: () => exampleBody(operation),
        needsKey: (operation.security ?? document.security ?? []).length > 0,
        hasBody: operation.requestBody !== undefined,
        success: Number(success[0]),
        mediaType: mediaTypeOf(operation.responses[success[0]!]!),
        headers: headersOf(operation.responses[success[0]!]!),
      };
    }),
);

/** Lists the documented methods of a requested path, sorted; HEAD wherever there is GET. */
export function allowedMethods(sentPath: string): string[] {
  const segments = sentPath.split('?', 1)[0]!.split('/');
  const declared = operations
    .filter(({ path }) => {
      const template = path.split('/');
      return (
        template.length === segments.length &&
        template.every((segment, index) => /^\{.+\}$/.test(segment) || segment === segments[index])
      );
    })
    .map(({ method }) => method);
  return [...new Set(declared.includes('GET') ? [...declared, 'HEAD'] : declared)].sort();
}

/** Lists the parameters of an operation: of its path item, and its own. */
export function parametersOf({ path, method }: Operation): OpenAPIV3.ParameterObject[] {
  const item = document.paths[path]!;
  const operation = item[method.toLowerCase() as 'get']!;
  return [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
    resolve<OpenAPIV3.ParameterObject>,
  );
}

function headersOf(response: OpenAPIV3.ReferenceObject | OpenAPIV3.ResponseObject): string[] {
  const { headers = {} } = resolve<OpenAPIV3.ResponseObject>(response);
  const ofNode = ['content-type', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'date'];
  return [...Object.keys(headers), ...Object.keys(promised), ...ofNode].map((name) => name.toLowerCase());
}

function mediaTypeOf(response: OpenAPIV3.ReferenceObject | OpenAPIV3.ResponseObject): string {
  const [mediaType, another] = Object.keys(resolve<OpenAPIV3.ResponseObject>(response).content ?? {});
  if (mediaType === undefined || another !== undefined) throw new Error('one media type is expected');
  return mediaType;
}

export function withQuery(path: string, query: string): string {
  if (query === '') return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query.replace(/^\?/, '')}`;
}

function fillIn(path: string, parameters: (OpenAPIV3.ReferenceObject | OpenAPIV3.ParameterObject)[]): string {
  const query = parameters
    .map(resolve)
    .filter((each) => each.in === 'query' && (each.required || each.name === 'dry_run'))
    .map(({ name, example }) => `${name}=${name === 'dry_run' ? 'true' : String(example)}`);
  const filledIn = path.replace(/\{(.+?)\}/g, (_, name: string) => {
    const parameter = parameters
      .map(resolve)
      .find((candidate) => candidate.in === 'path' && candidate.name === name);
    if (typeof parameter?.example !== 'string') throw new Error(`${path}: ${name} has no example`);
    return encodeURIComponent(parameter.example);
  });
  return withQuery(filledIn, query.join('&'));
}

/** Fails if a response lacks a security header. @param own - other values of its operation; null: the header must be absent */
export function expectSecurityHeaders(
  headers: Pick<Headers, 'get'>,
  own: Partial<Record<keyof typeof promised, string | null>> = {},
): void {
  const names = Object.keys(promised) as (keyof typeof promised)[];
  const sent = Object.fromEntries(names.map((name) => [name, headers.get(name)]));
  expect(sent).toEqual({ ...promised, ...own });
  // Over plain HTTP it must be absent.
  expect(headers.get('strict-transport-security')).toBeNull();
}
