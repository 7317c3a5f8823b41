import fc from 'fast-check';
import type { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import OpenAPIBackend, { type Document, type Operation, type Request } from 'openapi-backend';
import document from '../../generated/openapi.json';
import { compileRoutes } from '../../src/http/compiled-routes';

/** Routes that the document does not have, but that a document can have: cookies, JSON in the query, lists in one text. */
const odd = {
  '/odd/{id}.json': { get: { operationId: 'oddDot', responses: {}, parameters: [parameter('path', 'id')] } },
  '/odd/{id}/of/{name}': {
    get: {
      operationId: 'oddTwo',
      responses: {},
      parameters: [parameter('path', 'id'), parameter('path', 'name')],
    },
    post: {
      operationId: 'oddParameters',
      responses: {},
      parameters: [parameter('cookie', 'c'), { ...parameter('query', 'list'), explode: false }],
    },
  },
  '/odd/{id}/of/all': {
    get: { operationId: 'oddAll', responses: {}, parameters: [parameter('path', 'id')] },
  },
};

function parameter(place: string, name: string) {
  return { in: place, name, required: place === 'path', schema: { type: 'string' } };
}

const customizeAjv = (ajv: Ajv) => {
  addFormats(ajv);
  return ajv;
};

async function open(): Promise<OpenAPIBackend> {
  const definition = { ...document, paths: { ...document.paths, ...odd } } as unknown as Document;
  const options = { quick: true, ignoreTrailingSlashes: false, ajvOpts: { allErrors: true } };
  return new OpenAPIBackend({ definition, ...options, customizeAjv }).init();
}

let plain: OpenAPIBackend;
let compiled: OpenAPIBackend;
beforeAll(async () => {
  [plain, compiled] = [await open(), await open()];
  compileRoutes(compiled);
});

const templates = [...Object.keys(document.paths), ...Object.keys(odd)];
const segment = fc.oneof(
  fc.constantFrom(
    '',
    'products',
    'feeds',
    'JV00001',
    'PR00001',
    '%2F',
    '%25',
    '%C3%A4',
    'a b',
    '.json',
    'x.json',
    '\u00a0',
  ),
  fc.string({ maxLength: 6 }).map((text) => encodeURIComponent(text.replace(/[^ -~]/g, ''))),
);
/** Paths of the document with something in the places of their parameters, and paths that are like them. */
const path = fc.oneof(
  fc
    .tuple(fc.constantFrom(...templates), fc.array(segment, { minLength: 2, maxLength: 2 }))
    .map(([template, values]) => template.replace(/\{[^}]+\}/g, () => values.shift() ?? 'x')),
  fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
  fc.tuple(fc.constantFrom(...templates), segment).map(([template, rest]) => template + rest),
);
const request = fc.record<Request>({
  method: fc.constantFrom('GET', 'get', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'),
  path,
  headers: fc.constantFrom<Request['headers']>(
    {},
    { 'x-api-key': 'k', cookie: 'c=1' },
    { 'content-type': 'a/b' },
  ),
  query: fc.constantFrom<Request['query']>(
    {},
    { limit: '3' },
    { limit: '0', sku: '' },
    { list: 'a,b', limit: ['1', '2'] },
    { sku: ['1', '2'], unknown: 'x' },
  ),
  body: fc.constantFrom<unknown>(undefined, null, {}, { items: [] }, [1], 'text', 7),
});

/** What comes of it, or the beginning of what is thrown. */
function outcome<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    return String(error);
  }
}

const idOf = (found: Operation | string | undefined) =>
  typeof found === 'object' ? found.operationId : found;

it('finds for any request what openapi-backend itself finds', () => {
  fc.assert(
    fc.property(request, fc.boolean(), (asked, strict) => {
      const find = ({ router }: OpenAPIBackend) => idOf(outcome(() => router.matchOperation(asked, strict)));

      expect(find(compiled)).toEqual(find(plain));
    }),
    { numRuns: 500 },
  );
});

it('takes a request apart as openapi-backend itself does, but for cookies that no operation reads', () => {
  fc.assert(
    fc.property(request, (asked) => {
      const operation = plain.router.matchOperation(asked);
      fc.pre(operation !== undefined);
      const parse = ({ router }: OpenAPIBackend, parsed = router.getOperation(operation.operationId!)) =>
        outcome(() => router.parseRequest(asked, parsed));

      const readsCookies = operation.operationId === 'oddParameters';
      const expected = parse(plain);
      expect(parse(compiled)).toEqual(
        typeof expected === 'string' || readsCookies ? expected : { ...expected, cookies: {} },
      );
    }),
    { numRuns: 500 },
  );
});

it('finds the faults that openapi-backend itself finds, and leaves the request as it is', () => {
  fc.assert(
    fc.property(request, (asked) => {
      const operation = plain.router.matchOperation(asked);
      fc.pre(operation !== undefined);
      const before = structuredClone(asked);
      const validate = ({ router, validator }: OpenAPIBackend) => {
        const { valid, errors } = validator.validateRequest(
          asked,
          router.getOperation(operation.operationId!),
        );
        return { valid, errors };
      };

      expect(outcome(() => validate(compiled))).toEqual(outcome(() => validate(plain)));
      expect(asked).toEqual(before);
    }),
    { numRuns: 500 },
  );
});
