import fc from 'fast-check';
import type { OpenAPIV3 } from 'openapi-types';
import json from '../../generated/openapi.json';
import type { ApiResponse } from '../support/api-client';
import { beyondLimits, fitting, resolve, unfitting, type Schema } from '../support/arbitrary';
import { startTestService, type TestService } from '../support/service';

/**
 * What Schemathesis does, in small: requests made of the document's schemas, right ones and wrong ones. The service
 * checks each of its responses against the document (`verifyResponses`), so that one that breaks it is a 500 here.
 *
 * Repeat a run with CONTRACT_SEED=n; CONTRACT_RUNS=n is how many requests are made of each kind.
 */
const seed = Number(process.env.CONTRACT_SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.CONTRACT_RUNS ?? 15);
process.stdout.write(`requests made of the document: seed ${seed}, ${numRuns} of each kind\n`);

const document = json as unknown as OpenAPIV3.Document;

type Parameter = OpenAPIV3.ParameterObject & { schema: Schema };

interface Operation {
  title: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body?: Schema;
  isForm: boolean;
  needsKey: boolean;
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  (['get', 'post'] as const).flatMap((method) => {
    const operation = item?.[method];
    if (!operation) return [];
    const content = operation.requestBody
      ? resolve<OpenAPIV3.RequestBodyObject>(operation.requestBody).content
      : {};
    const schema = content['application/json']?.schema;
    return {
      title: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters: (operation.parameters ?? []).map(
        (each) => resolve<OpenAPIV3.ParameterObject>(each) as Parameter,
      ),
      body: schema && resolve<Schema>(schema),
      isForm: 'multipart/form-data' in content,
      needsKey: (operation.security ?? document.security ?? []).length > 0,
    };
  }),
);

interface Request {
  path: Record<string, string>;
  query: Record<string, string>;
  body?: unknown;
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.api.loadFeed('sku,product_name,price\nA,Tent,10\nB,Lamp,NA\n');
  await service.api.post('/orders', { partner_name: 'A', items: [{ product_id: 'PR00001', quantity: 1 }] });
});

function send(operation: Operation, { path, query, body }: Request): Promise<ApiResponse> {
  const filled = operation.path.replace(/\{(.+?)\}/g, (_, name: string) => encodeURIComponent(path[name]!));
  const search = new URLSearchParams(query).toString();
  const init = body === undefined ? {} : jsonBody(body);
  return service.api.send(operation.method, search ? `${filled}?${search}` : filled, init);
}

const jsonBody = (body: unknown) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const inPlace = ({ parameters }: Operation, place: string) => parameters.filter((each) => each.in === place);

/** A known id, an unknown one, and any text. A path cannot end in a dot segment. */
const anyId = (example: unknown) =>
  fc
    .oneof(fc.constant(String(example)), fc.constant('XX99999'), fc.string({ unit: 'binary', minLength: 1 }))
    .filter((id) => id !== '.' && id !== '..');

const asText = (schema: Schema) => fitting(schema).map(String);

/** Values of parameters with a rule that no schema expresses. */
const ruled: Record<string, fc.Arbitrary<string>> = {
  q: fc.array(fc.stringMatching(/^[a-zé]{2,9}$/), { maxLength: 8 }).map((words) => words.join(' ')),
};

/** No schema expresses that the names `.` and `..` are reserved. */
function hasNoReservedName(body: unknown): boolean {
  const { partner_name: name } = body as { partner_name?: unknown };
  return typeof name !== 'string' || !['.', '..'].includes(name.trim());
}

/** Parameters that are refused for some feeds, at some times, with other parameters, or as names of nothing. */
const oftenRefused = ['max_withdrawn', 'as_of', 'format'];

function rightRequest(operation: Operation): fc.Arbitrary<Request> {
  const path = Object.fromEntries(
    inPlace(operation, 'path').map(({ name, example }) => [name, anyId(example)]),
  );
  const parameters = inPlace(operation, 'query').filter(({ name }) => !oftenRefused.includes(name));
  const query = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, ruled[name] ?? asText(schema)]),
  );
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
  return fc.record({
    path: fc.record(path),
    query: fc.record(query, { requiredKeys }),
    body: operation.body ? fitting(operation.body).filter(hasNoReservedName) : fc.constant(undefined),
  });
}

/** Texts that are no value of a query parameter. */
function wrongTexts({ schema: node, allowEmptyValue }: Parameter): fc.Arbitrary<string>[] {
  const schema = resolve<Schema>(node);
  const beyond = beyondLimits(schema).map((values) => values.map(String));
  if (schema.type === 'boolean') return [fc.constantFrom('0', '1', 'True', ' true', 'yes', 'null')];
  if (schema.type !== 'integer') return beyond.map((texts) => texts.filter((text) => text !== ''));
  return [
    ...beyond,
    fc.constantFrom(
      ...(allowEmptyValue ? [] : ['']),
      ' 1',
      '1.5',
      '1e1',
      '0x10',
      'one',
      '1,0',
      'NaN',
      '99999999999999999999',
    ),
  ];
}

function wrongRequests(operation: Operation): [string, fc.Arbitrary<Request>][] {
  const right = rightRequest(operation);
  const wrong: [string, fc.Arbitrary<Request>][] = [];
  for (const parameter of inPlace(operation, 'query')) {
    const texts = wrongTexts(parameter);
    if (texts.length === 0) continue;
    wrong.push([
      parameter.name,
      fc.tuple(right, fc.oneof(...texts)).map(([request, text]) => ({
        ...request,
        query: { ...request.query, [parameter.name]: text },
      })),
    ]);
  }
  if (operation.body) {
    const bodies = unfitting(operation.body);
    wrong.push(['body', fc.tuple(right, bodies).map(([request, body]) => ({ ...request, body }))]);
  }
  return wrong;
}

/** Forms have tests of their own. */
const withInput = operations.filter(
  ({ parameters, body, isForm }) => !isForm && (parameters.length > 0 || body !== undefined),
);

describe('a valid request', () => {
  it.each(withInput)(
    '$title is never rejected for its shape, and its response is documented',
    async (operation) => {
      await fc.assert(
        fc.asyncProperty(rightRequest(operation), async (request) => {
          const { status } = await send(operation, request);

          // The requested resource may be unknown or in another state: 400, 404 or 409.
          expect([200, 201, 400, 404, 409]).toContain(status);
        }),
        { seed, numRuns },
      );
    },
  );
});

describe('a request with one invalid part', () => {
  it.each(
    withInput.flatMap((operation) =>
      wrongRequests(operation).map(([part, request]) => ({
        title: operation.title,
        part,
        operation,
        request,
      })),
    ),
  )('$title is rejected for its $part', async ({ operation, request }) => {
    await fc.assert(
      fc.asyncProperty(request, async (each) => {
        const { status } = await send(operation, each);

        expect([400, 422]).toContain(status);
      }),
      { seed, numRuns },
    );
  });
});

describe('a form', () => {
  const forms = operations.filter(({ isForm }) => isForm);
  const partnerName = fitting({ $ref: '#/components/schemas/PartnerName' }) as fc.Arbitrary<string>;
  const rows = fc.string({ unit: fc.constantFrom(...'a1,;"\n\r\t é😀'), maxLength: 80 });

  it.each(forms)('$title accepts any rows below a valid header, and their run ends', async ({ path }) => {
    await fc.assert(
      fc.asyncProperty(partnerName, rows, async (name, text) => {
        const csv = `sku,product_name\n${text}`;
        const { status, body } = await service.api.send('POST', path, { body: form(name, csv) });

        expect([200, 201]).toContain(status);
        const jobId: unknown = body.validation_job_id;
        if (typeof jobId === 'string')
          expect((await service.api.post(`/jobs/${jobId}/run`)).status).toBe(200);
      }),
      { seed, numRuns },
    );
  });

  it.each(forms)('$title rejects or describes any bytes, and never fails with 500', async ({ path }) => {
    await fc.assert(
      fc.asyncProperty(partnerName, fc.uint8Array({ maxLength: 60 }), async (name, bytes) => {
        const { status } = await service.api.send('POST', path, { body: form(name, bytes) });

        expect(status).toBe(path === '/feeds/inspect' ? 200 : 400);
      }),
      { seed, numRuns },
    );
  });
});

function form(partnerName: string, file: string | Uint8Array<ArrayBuffer>): FormData {
  const parts = new FormData();
  parts.set('partner_name', partnerName);
  parts.set('file', new Blob([file], { type: 'text/csv' }), 'feed.csv');
  return parts;
}

describe('an invalid key', () => {
  it.each(operations.filter(({ needsKey }) => needsKey))(
    'is rejected by $title',
    async ({ method, path }) => {
      const key = fc.string({
        unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      });
      await fc.assert(
        fc.asyncProperty(key, async (text) => {
          const { status } = await service.api.withKey(text).send(method, path.replaceAll(/\{.+?\}/g, 'x'));

          expect(status).toBe(401);
        }),
        { seed, numRuns: Math.ceil(numRuns / 5) },
      );
    },
  );
});

describe('a link', () => {
  const links = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item?.post?.responses ?? {}).flatMap(([status, response]) =>
      Object.entries(resolve<OpenAPIV3.ResponseObject>(response).links ?? {}).map(([name, link]) => ({
        title: `${path} ${status} ${name}`,
        response: resolve<OpenAPIV3.ResponseObject>(response),
        link: resolve<OpenAPIV3.LinkObject>(link),
      })),
    ),
  );

  it.each(links)('$title refers to an operation with its parameters', ({ response, link }) => {
    const target = Object.entries(document.paths)
      .flatMap(([, item]) => [item?.get, item?.post])
      .find((operation) => operation?.operationId === link.operationId);
    const names = (target?.parameters ?? []).map((each) => resolve<OpenAPIV3.ParameterObject>(each).name);
    const media = response.content!['application/json']!;
    const properties = Object.keys(resolve<Schema>(media.schema!).properties!);

    expect(Object.keys(link.parameters!).filter((name) => !names.includes(name))).toEqual([]);
    for (const expression of Object.values(link.parameters!)) {
      expect(properties).toContain(/^\$response\.body#\/(\w+)$/.exec(expression as string)?.[1]);
    }
  });

  it('there are some', () => {
    expect(links.length).toBeGreaterThan(10);
  });
});
