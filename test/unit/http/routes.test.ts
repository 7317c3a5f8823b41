import fc from 'fast-check';
import OpenAPIBackend, { type Document } from 'openapi-backend';
import document from '../../../generated/openapi.json';
import type { Handlers } from '../../../src/http/contract';
import { openRoutes, type Routes } from '../../../src/http/routes';
import { operations } from '../../support/contract';

const definition = document as unknown as Document;
const handlersOf = (ids: string[]) =>
  Object.fromEntries(ids.map((id) => [id, () => Promise.reject(new Error(id))])) as unknown as Handlers;
const allIds = operations.map(({ operationId }) => operationId);

let routes: Routes;
let backend: OpenAPIBackend;
beforeAll(async () => {
  routes = await openRoutes(definition, handlersOf(allIds));
  backend = await new OpenAPIBackend({ definition, quick: true, ignoreTrailingSlashes: false }).init();
});

const templates = Object.keys(document.paths);
const segment = fc.oneof(
  fc.constantFrom('', 'products', 'feeds', 'upload', 'JV00001', '*', '%2F', '%25', '%C3%A4', '.json', 'x{y}'),
  fc.string({ maxLength: 6 }).map((text) => encodeURIComponent(text.replace(/[^ -~]/g, ''))),
);
/** Paths of the document with something in the places of their parameters, and paths that resemble them. */
const path = fc.oneof(
  fc
    .tuple(fc.constantFrom(...templates), fc.array(segment, { minLength: 2, maxLength: 2 }))
    .map(([template, values]) => template.replace(/\{[^}]+\}/g, () => values.shift() ?? 'x')),
  fc.array(segment, { maxLength: 9 }).map((segments) => `/${segments.join('/')}`),
  fc.tuple(fc.constantFrom(...templates), segment).map(([template, rest]) => template + rest),
);
const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS');

it('finds the same operation as openapi-backend for any method and path, cached or not', () => {
  fc.assert(
    fc.property(method, path, (asked, at) => {
      const expected = backend.matchOperation({ method: asked, path: at, headers: {} })?.operationId;
      const found = [routes.find(asked, at), routes.find(asked, at)].map((route) =>
        typeof route === 'object' ? route.operationId : undefined,
      );

      expect(found).toEqual([expected, expected]);
    }),
    { numRuns: 500 },
  );
});

it('distinguishes an unknown path from an unknown method, and lists the allowed methods', () => {
  expect(routes.find('GET', '/nothing/here')).toBe('not_found');
  expect(routes.find('PATCH', '/products/PR00001')).toBe('method_not_allowed');
  expect(routes.allowedMethods('/products/PR00001')).toEqual(['GET', 'HEAD']);
});

it('distinguishes two values of a path parameter', () => {
  const [first, second] = ['/products/PR00001', '/products/PR%2000002'].map((at) => {
    const route = routes.find('GET', at);
    return typeof route === 'object' ? route.pathParameters(at) : route;
  });

  expect(first).toEqual({ product_id: 'PR00001' });
  expect(second).toEqual({ product_id: 'PR 00002' });
});

it('rejects a handler without an operation', async () => {
  await expect(openRoutes(definition, handlersOf([...allIds, 'inventedOperation']))).rejects.toThrow(
    'inventedOperation',
  );
});

it.each([
  ['a parameter in a cookie', '/odd', { in: 'cookie', name: 'c', schema: { type: 'string' } }],
  [
    'a list in one query parameter',
    '/odd',
    { in: 'query', name: 'l', explode: false, schema: { type: 'string' } },
  ],
  ['a path segment that is partly a parameter', '/odd/{id}.json', undefined],
])('rejects a document with %s, which the pipeline does not support', async (_what, oddPath, parameter) => {
  const inPath = { in: 'path', name: 'id', required: true, schema: { type: 'string' } };
  const odd = { get: { operationId: 'getOdd', responses: {}, parameters: [parameter ?? inPath] } };
  const paths = { ...document.paths, [oddPath]: odd };

  await expect(
    openRoutes({ ...document, paths } as unknown as Document, handlersOf([...allIds, 'getOdd'])),
  ).rejects.toThrow('getOdd');
});
