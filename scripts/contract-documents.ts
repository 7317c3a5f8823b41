import type { OpenAPIV3 } from 'openapi-types';

type Document = OpenAPIV3.Document;

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

interface Pair {
  subject: string;
  path: string;
  revisionPath: string;
  before: OpenAPIV3.OperationObject;
  after: OpenAPIV3.OperationObject;
}

/** Pairs operations of both documents, regardless of the names of path parameters. */
export function pairs(base: Document, revision: Document): Pair[] {
  const shape = (path: string) => path.replaceAll(/\{[^}]+\}/g, '{}');
  return Object.entries(base.paths).flatMap(([path, item]) => {
    const revisionPath = Object.keys(revision.paths).find((other) => shape(other) === shape(path));
    if (revisionPath === undefined) return [];
    return methods.flatMap((method) => {
      const [before, after] = [item?.[method], revision.paths[revisionPath]?.[method]];
      const subject = `${method.toUpperCase()} ${path}`;
      return before && after ? [{ subject, path, revisionPath, before, after }] : [];
    });
  });
}

/** Resolves all references, so that a change of a shared schema shows at each operation. Keeps the security schemes. */
export function withoutReferences(document: Document): unknown {
  const expand = (node: unknown, open: readonly string[]): unknown => {
    if (Array.isArray(node)) return node.map((item) => expand(item, open));
    if (typeof node !== 'object' || node === null) return node;
    const reference = (node as { $ref?: unknown }).$ref;
    if (typeof reference === 'string') {
      if (open.includes(reference))
        throw new Error(`${reference} refers to itself: recursive schemas are not supported.`);
      return expand(at(document, reference), [...open, reference]);
    }
    return withKnownValues(
      Object.fromEntries(Object.entries(node).map(([key, value]) => [key, expand(value, open)])),
    );
  };
  const { components, ...rest } = document;
  return expand({ ...rest, components: { securitySchemes: components?.securitySchemes ?? {} } }, []);
}

/** Gives an open enum the form of 1.2.0: the known values, marked as extensible. */
function withKnownValues(node: Record<string, unknown>): Record<string, unknown> {
  const { 'x-known-values': known, ...rest } = node;
  return known ? { ...rest, enum: (known as { enum: unknown }).enum, 'x-extensible': true } : node;
}

/** Whether a schema is an open enum, in the form of 1.2.0 or later. */
export const isOpenEnum = (schema: object) => 'x-extensible' in schema || 'x-known-values' in schema;

export function steps(pointer: string): string[] {
  return pointer
    .replace(/^#\//, '')
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

export function at(document: unknown, pointer: string): unknown {
  return steps(pointer).reduce<unknown>(
    (node, step) => (node as Record<string, unknown> | undefined)?.[step],
    document,
  );
}

export function isMethod(name: string): boolean {
  return (methods as readonly string[]).includes(name);
}

export interface ErrorCode {
  status: string;
  code: string;
}

/** Lists the error codes of an operation without references, by status. */
export function codesOf({ responses }: OpenAPIV3.OperationObject): ErrorCode[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const { 'x-error-codes': codes = [] } = response as { 'x-error-codes'?: string[] };
    return codes.map((code) => ({ status, code }));
  });
}
