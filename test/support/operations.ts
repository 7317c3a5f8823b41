import type { OpenAPIV3 } from 'openapi-types';
import json from '../../generated/openapi.json';

const document = json as unknown as OpenAPIV3.Document;
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** An operation of the document, with a request made of the document's own examples. */
export interface Operation {
  /** `GET /feeds/{feed_id}` */
  title: string;
  operationId: string;
  method: string;
  /** With the names of its parameters in braces. */
  path: string;
  /** With the parameters' examples. */
  examplePath: string;
  /** The body of the example and its media type, to be made anew for each request. */
  exampleBody: () => RequestInit;
  needsKey: boolean;
  hasBody: boolean;
  /** The documented status of success. */
  success: number;
  /** The media type of its body. */
  mediaType: string;
}

/** Every operation of the document: a new endpoint is among them. */
export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  methods
    .filter((method) => item?.[method] !== undefined)
    .map((method) => {
      const operation = item![method]!;
      // 202, 204 and 206 are for what is not done yet, for who has it all, and for a Range: the example is none of these.
      const success = Object.keys(operation.responses).filter((status) => /^2(?!0[246])/.test(status));
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
      };
    }),
);

/** The methods that the document has for a path as it is sent, sorted; HEAD wherever there is GET. */
export function allowedMethods(sentPath: string): string[] {
  const segments = sentPath.split('/');
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

/** The parameters of an operation: those of its path item, and its own. */
export function parametersOf({ path, method }: Operation): OpenAPIV3.ParameterObject[] {
  const item = document.paths[path]!;
  const operation = item[method.toLowerCase() as 'get']!;
  return [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
    resolve<OpenAPIV3.ParameterObject>,
  );
}

function mediaTypeOf(response: OpenAPIV3.ReferenceObject | OpenAPIV3.ResponseObject): string {
  const [mediaType, another] = Object.keys(resolve<OpenAPIV3.ResponseObject>(response).content ?? {});
  if (mediaType === undefined || another !== undefined) throw new Error('one media type is expected');
  return mediaType;
}

function fillIn(path: string, parameters: (OpenAPIV3.ReferenceObject | OpenAPIV3.ParameterObject)[]): string {
  return path.replace(/\{(.+?)\}/g, (_, name: string) => {
    const parameter = parameters
      .map(resolve)
      .find((candidate) => candidate.in === 'path' && candidate.name === name);
    if (typeof parameter?.example !== 'string') throw new Error(`${path}: ${name} has no example`);
    return parameter.example;
  });
}

function resolve<T extends object>(value: OpenAPIV3.ReferenceObject | T): T {
  if (!('$ref' in value)) return value;
  let target: unknown = document;
  for (const segment of value.$ref.split('/').slice(1)) target = (target as Record<string, unknown>)[segment];
  return target as T;
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
