import type { OpenAPIV3 } from 'openapi-types';
import json from '../../generated/openapi.json';

const document = json as unknown as OpenAPIV3.Document;
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** A response of the document, in one of its media types. */
export interface DocumentedResponse {
  operationId: string;
  status: number;
  /** `none`: without a body. */
  mediaType: string;
  /** Those that every such response has. */
  headers: Record<string, OpenAPIV3.SchemaObject>;
  schema?: OpenAPIV3.SchemaObject;
  /** By name; the only one is called `example`. Empty for a response without a body. */
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

/** Every response of the document: one entry for each operation, status and media type. */
export const documentedResponses: DocumentedResponse[] = routes.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, reference]) => {
    const { headers = {}, content = {} } = resolve<OpenAPIV3.ResponseObject>(reference);
    const common = {
      operationId,
      status: Number(status),
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

/**
 * The operation that a request asks for, as the document has it, whatever the router says; undefined where there is none.
 * HEAD is GET's.
 */
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
  // A path to the letter comes before a path with a parameter.
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

function resolve<T extends object>(value: OpenAPIV3.ReferenceObject | T): T {
  if (!('$ref' in value)) return value;
  let target: unknown = document;
  for (const key of value.$ref.split('/').slice(1)) {
    target = (target as Record<string, unknown>)[key.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return resolve(target as T);
}
