import addFormats from 'ajv-formats';
import { parse } from 'csv-parse/sync';
import OpenAPIBackend, { type Document } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import document from '../../generated/openapi.json';
import { methods } from '../../scripts/contract-documents';
import { operations, parametersOf, resolve } from '../support/contract';

// The running service compiles validators on first use; here all of them are compiled, and the document is checked.
const api = new OpenAPIBackend({
  definition: structuredClone(document) as unknown as Document,
  strict: true,
  ajvOpts: { allErrors: true },
  customizeAjv: (ajv) => {
    addFormats(ajv);
    return ajv;
  },
});
beforeAll(async () => {
  await api.init();
});

interface ResponseExample {
  operationId: string;
  status: number;
  mediaType: string;
  name: string;
  value: unknown;
}

function responseExamples(): ResponseExample[] {
  return api.router.getOperations().flatMap(({ operationId, responses }) =>
    Object.entries(responses as Record<string, OpenAPIV3.ResponseObject>).flatMap(([status, response]) =>
      Object.entries(response.content ?? {}).flatMap(([mediaType, media]) => {
        const named = media.examples as Record<string, OpenAPIV3.ExampleObject> | undefined;
        const examples = named
          ? Object.entries(named).map(([name, example]) => [name, example.value as unknown] as const)
          : [['example', media.example as unknown] as const];
        return examples.map(([name, value]) => ({
          operationId: operationId!,
          status: Number(status),
          mediaType,
          name,
          value,
        }));
      }),
    ),
  );
}

/** Checks the example of a CSV file: all rows have as many cells as the header. */
function csvErrors(value: unknown): string | null {
  if (typeof value !== 'string') return 'no text';
  try {
    return parse(value).length > 1 ? null : 'no rows';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the document', () => {
  it('is a valid OpenAPI 3.0 document all of whose schemas compile', () => {
    expect(api.initialized).toBe(true);
  });

  it('has a valid example for every response', () => {
    const examples = responseExamples();

    expect(examples.length).toBeGreaterThan(100);
    expect(new Set(examples.map(({ mediaType }) => mediaType))).toEqual(
      new Set(['application/json', 'text/csv', 'text/event-stream']),
    );
    for (const { operationId, status, mediaType, name, value } of examples) {
      expect({ operationId, status, name, value }).toEqual({
        operationId,
        status,
        name,
        value: expect.anything() as unknown,
      });
      // A part of a file need not be valid.
      if (status === 206) continue;
      const errors =
        mediaType === 'application/json'
          ? api.validateResponse(value, operationId, status).errors
          : mediaType === 'text/csv'
            ? csvErrors(value)
            : typeof value === 'string'
              ? null
              : 'no text';
      expect({ operationId, status, name, errors }).toEqual({ operationId, status, name, errors: null });
    }
  });

  it('has an introduction of at most eight lines, which stands at the head of generated files', () => {
    expect(document.info.description.trimEnd().split('\n').length).toBeLessThanOrEqual(8);
  });

  it('describes the message of each known type of event, and of the ping', () => {
    const known = document.components.schemas.KnownEventType.enum;
    expect(Object.keys(document['x-webhooks']).sort()).toEqual([...known, 'webhook.ping'].sort());
  });

  it('describes the headers of all responses as components, except the code of an error, whose example differs', () => {
    const inline = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, OpenAPIV3.OperationObject>).flatMap(([method, operation]) =>
        Object.values(operation.responses as Record<string, OpenAPIV3.ResponseObject>).flatMap((response) =>
          Object.entries(response.headers ?? {})
            .filter(([name, header]) => name !== 'x-error-code' && !('$ref' in header))
            .map(([name]) => `${method} ${path}: ${name}`),
        ),
      ),
    );
    expect(inline).toEqual([]);
  });

  it('shares error responses: no two operations describe the same one', () => {
    const inline = Object.values(document.paths).flatMap((item) =>
      Object.values(item as Record<string, OpenAPIV3.OperationObject>).flatMap(({ operationId, responses }) =>
        Object.entries(responses)
          .filter(([status, response]) => Number(status) >= 400 && !('$ref' in response))
          .map(([status, response]) => ({
            name: `${operationId} ${status}`,
            body: JSON.stringify((response as OpenAPIV3.ResponseObject).content),
          })),
      ),
    );

    const repeated = inline.filter(({ body, name }) =>
      inline.some((other) => other.body === body && other.name !== name),
    );
    expect(inline.length).toBeGreaterThan(10);
    expect(repeated.map(({ name }) => name)).toEqual([]);
  });

  it('has an example for every response that is CSV', () => {
    const contents = api.router
      .getOperations()
      .flatMap(({ responses }) =>
        Object.values(responses as Record<string, OpenAPIV3.ResponseObject>).flatMap(
          ({ content }) => content?.['text/csv'] ?? [],
        ),
      );

    expect(contents.length).toBeGreaterThan(0);
    for (const { example } of contents) expect(example).toEqual(expect.any(String));
  });

  it('has an example for every parameter and every property', () => {
    const missing: string[] = [];
    const look = (node: unknown, path: string) => {
      if (
        typeof node !== 'object' ||
        node === null ||
        path.endsWith('/example') ||
        path.includes('/examples/')
      )
        return;
      const schema = node as OpenAPIV3.SchemaObject;
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        const isOfSchema = '$ref' in property || ('items' in property && '$ref' in property.items);
        if (!isOfSchema && property.example === undefined) missing.push(`${path}/properties/${name}`);
      }
      const parameter = node as OpenAPIV3.ParameterObject;
      if (
        typeof parameter.in === 'string' &&
        path.includes('parameters') &&
        parameter.example === undefined
      ) {
        missing.push(path);
      }
      for (const [key, child] of Object.entries(node)) look(child, `${path}/${key}`);
    };
    look(document, '');

    expect(missing).toEqual([]);
  });

  it('declares 401, 429, 500 and 503 wherever a key is needed', () => {
    for (const { operationId, responses, security } of api.router.getOperations()) {
      const declared = Object.keys(responses ?? {});
      const expected = security?.length ? ['401', '429', '500', '503'] : [];
      expect({ operationId, missing: expected.filter((status) => !declared.includes(status)) }).toEqual({
        operationId,
        missing: [],
      });
    }
  });
});

describe('a link', () => {
  const links = Object.values(document.paths as OpenAPIV3.PathsObject).flatMap((item) =>
    methods.flatMap((method) =>
      Object.entries(item?.[method]?.responses ?? {}).flatMap(([status, response]) =>
        Object.entries(resolve<OpenAPIV3.ResponseObject>(response).links ?? {}).map(([name, link]) => ({
          title: `${item![method]!.operationId} ${status} ${name}`,
          response: resolve<OpenAPIV3.ResponseObject>(response),
          link: resolve<OpenAPIV3.LinkObject>(link),
        })),
      ),
    ),
  );

  it.each(links)('$title refers to an operation with its parameters', ({ response, link }) => {
    const target = operations.find(({ operationId }) => operationId === link.operationId)!;
    const names = parametersOf(target).map(({ name }) => name);
    const { schema } = response.content!['application/json']!;
    const properties = Object.keys(resolve<OpenAPIV3.SchemaObject>(schema!).properties!);

    expect(Object.keys(link.parameters!).filter((name) => !names.includes(name))).toEqual([]);
    for (const expression of Object.values(link.parameters!)) {
      expect(properties).toContain(/^\$response\.body#\/(\w+)$/.exec(expression as string)?.[1]);
    }
  });

  it('the document has links', () => {
    expect(links.length).toBeGreaterThan(10);
  });
});
