import fc from 'fast-check';
import OpenAPIBackend, { type Document } from 'openapi-backend';
import document from '../../../generated/openapi.json';
import type { Operations } from '../../../src/http/contract/contract';
import { openOperations, type OpenApi } from '../../../src/http/contract/operations';
import { SentRequest } from '../../../src/http/contract/prepared-router';
import { operations } from '../../support/contract';

const definition = document as unknown as Document;
const operationsOf = (ids: string[]) =>
  Object.fromEntries(
    ids.map((id) => [id, { handle: () => Promise.reject(new Error(id)) }]),
  ) as unknown as Operations;
const open = (from: Document, ids: string[]) => openOperations(from, operationsOf(ids), 1024);
const allIds = operations.map(({ operationId }) => operationId);

const find = (method: string, path: string) => openApi.find(new SentRequest(method, path));

let openApi: OpenApi;
let backend: OpenAPIBackend;
beforeAll(async () => {
  openApi = await open(definition, allIds);
  backend = await new OpenAPIBackend({ definition, quick: true, ignoreTrailingSlashes: false }).init();
});

const templates = Object.keys(document.paths);
const segment = fc.oneof(
  fc.constantFrom('', 'products', 'feeds', 'upload', 'JV00001', '*', '%2F', '%25', '%C3%A4', '.json', 'x{y}'),
  fc.string({ maxLength: 6 }).map((text) => encodeURIComponent(text.replace(/[^ -~]/g, ''))),
);
/** Paths of the document with values for their parameters, and similar paths. */
const path = fc.oneof(
  fc
    .tuple(fc.constantFrom(...templates), fc.array(segment, { minLength: 2, maxLength: 2 }))
    .map(([template, values]) => template.replace(/\{[^}]+\}/g, () => values.shift() ?? 'x')),
  fc.array(segment, { maxLength: 9 }).map((segments) => `/${segments.join('/')}`),
  fc.tuple(fc.constantFrom(...templates), segment).map(([template, rest]) => template + rest),
);
const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS');

it('finds the operation and the path parameters of openapi-backend for any method and path, cached or not', () => {
  fc.assert(
    fc.property(method, path, (asked, at) => {
      const request = { method: asked, path: at, headers: {} };
      const expected = backend.matchOperation(request);
      const found = [find(asked, at), find(asked, at)].map((each) => each?.operationId);

      expect(found).toEqual([expected?.operationId, expected?.operationId]);
      if (expected)
        expect(openApi.pathParameters(new SentRequest(asked, at))).toEqual(
          backend.router.parseRequest(request, expected).params,
        );
    }),
    { numRuns: 500 },
  );
});

it('lists the allowed methods of a path: none for an unknown one', () => {
  expect(find('PATCH', '/products/PR00001')).toBeUndefined();
  expect(openApi.allowedMethods('/products/PR00001')).toEqual(['GET', 'HEAD']);
  expect(openApi.allowedMethods('/nothing/here')).toEqual([]);
});

it('distinguishes two values of a path parameter', () => {
  const [first, second] = ['/products/PR00001', '/products/PR%2000002'].map((at) =>
    openApi.pathParameters(new SentRequest('GET', at)),
  );

  expect(first).toEqual({ product_id: 'PR00001' });
  expect(second).toEqual({ product_id: 'PR 00002' });
});

it('rejects a handler without an operation', async () => {
  await expect(open(definition, [...allIds, 'inventedOperation'])).rejects.toThrow('inventedOperation');
});

it.each([
  ['a parameter in a cookie', '/odd', { in: 'cookie', name: 'c', schema: { type: 'string' } }],
  [
    'a list in one query parameter',
    '/odd',
    { in: 'query', name: 'l', explode: false, schema: { type: 'string' } },
  ],
  ['a path segment that is partly a parameter', '/odd/{id}.json', undefined],
])('rejects a document with %s, which the service does not support', async (_what, oddPath, parameter) => {
  const inPath = { in: 'path', name: 'id', required: true, schema: { type: 'string' } };
  const odd = { get: { operationId: 'getOdd', responses: {}, parameters: [parameter ?? inPath] } };
  const paths = { ...document.paths, [oddPath]: odd };

  await expect(open({ ...document, paths } as unknown as Document, [...allIds, 'getOdd'])).rejects.toThrow(
    'getOdd',
  );
});
