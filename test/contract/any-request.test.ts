import fc from 'fast-check';
import type { OpenAPIV3 } from 'openapi-types';
import type { components } from '../../generated/openapi';
import json from '../../generated/openapi.json';
import type { ApiResponse } from '../support/api-client';
import { beyondLimits, fitting, resolve, unfitting, type Schema } from '../support/arbitrary';
import { putFormat } from '../support/format-requests';
import { casesFor } from '../support/fuzz';
import { startTestService, type TestService } from '../support/service';
import { putSource } from '../support/source-requests';
import { putWebhook } from '../support/webhook-requests';
import { keepFormatRules, keepSourceRules, keepWebhookRules } from './rules';

/** Valid and invalid requests from the document's schemas, like Schemathesis. The service turns violations into 500s. */
const cases = () => casesFor('requests made of the document', 15);

const document = json as unknown as OpenAPIV3.Document;

type Parameter = OpenAPIV3.ParameterObject & { schema: Schema };

type FormatDefinition = components['schemas']['FormatDefinition'];
type SourceDefinition = components['schemas']['SourceDefinition'];
type WebhookDefinition = components['schemas']['WebhookDefinition'];

interface Operation {
  title: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body?: Schema;
  isForm: boolean;
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  (['get', 'post', 'put', 'delete'] as const).flatMap((method) => {
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
  service = await startTestService({ partnerWebhookPrivateAddresses: true });
  await service.api.loadFeed('sku,product_name,price\nA,Tent,10\nB,Lamp,NA\n');
  await service.api.post('/orders', { partner_name: 'A', items: [{ product_id: 'PR00001', quantity: 1 }] });
  // From the examples of the document.
  await putFormat(service.api, 'Acme Outdoor', 'weekly-price-list');
  await putSource(service.api, 'Acme Outdoor', 'daily-export', { url: 'https://feeds.example/' });
  await putWebhook(service.api, 'Acme Outdoor', 'job-events', { url: 'https://127.0.0.1:1/' });
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

/** A day, or its beginning, as the schema says. */
const dayOf = (day: string) => (schema: Schema) =>
  fc.constant(resolve<Schema>(schema).format === 'date' ? day : `${day}T00:00:00Z`);

/** Values of parameters with a rule that no schema expresses. */
const ruled: Record<string, (schema: Schema) => fc.Arbitrary<string>> = {
  from: dayOf('2026-03-01'),
  to: dayOf('2026-03-02'),
  q: () => fc.array(fc.stringMatching(/^[a-zé]{2,9}$/), { maxLength: 8 }).map((words) => words.join(' ')),
};

/** No schema expresses that the names `.` and `..` are reserved. */
function hasNoReservedName(body: unknown): boolean {
  const { partner_name: name } = body as { partner_name?: unknown };
  return typeof name !== 'string' || !['.', '..'].includes(name.trim());
}

/** Bodies with rules that no schema expresses. */
const keepRules: Record<string, (body: unknown) => unknown> = {
  '/partners/{partner_name}/formats/{format_name}': (body) => keepFormatRules(body as FormatDefinition),
  '/partners/{partner_name}/sources/{source_name}': (body) => keepSourceRules(body as SourceDefinition),
  '/partners/{partner_name}/webhooks/{webhook_name}': (body) => keepWebhookRules(body as WebhookDefinition),
};

/** PUT creates what a path names. A partner's path lacks the schema of its name. */
const nameSchema = ({ name, schema }: Parameter): Schema =>
  resolve<Schema>(name === 'partner_name' ? { $ref: '#/components/schemas/PartnerName' } : schema);

/** Parameters that are rejected for some feeds, at some times, with other parameters, or as unknown names. */
const oftenRefused = ['max_withdrawn', 'as_of', 'format'];

function rightRequest(operation: Operation): fc.Arbitrary<Request> {
  const path = Object.fromEntries(
    inPlace(operation, 'path').map((parameter) => [
      parameter.name,
      operation.method === 'PUT' ? fitting(nameSchema(parameter)).map(String) : anyId(parameter.example),
    ]),
  );
  const parameters = inPlace(operation, 'query').filter(({ name }) => !oftenRefused.includes(name));
  const query = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, (ruled[name] ?? asText)(schema)]),
  );
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
  return fc.record({
    path: fc.record(path).filter(hasNoReservedName),
    query: fc.record(query, { requiredKeys }),
    body: operation.body
      ? fitting(operation.body)
          .filter(hasNoReservedName)
          .map(keepRules[operation.path] ?? ((body) => body))
      : fc.constant(undefined),
  });
}

/** Texts that are not a value of a query parameter. */
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
  if (operation.method === 'PUT') {
    for (const parameter of inPlace(operation, 'path')) {
      // A path cannot have an empty segment or end in a dot segment.
      const names = fc
        .oneof(...beyondLimits(nameSchema(parameter)))
        .map(String)
        .filter((name) => !['', '.', '..'].includes(name));
      wrong.push([
        parameter.name,
        fc.tuple(right, names).map(([request, name]) => ({
          ...request,
          path: { ...request.path, [parameter.name]: name },
        })),
      ]);
    }
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
        cases(),
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
      cases(),
    );
  });
});

describe('a definition', () => {
  const put = withInput.filter(({ method }) => method === 'PUT');

  it.each(put)('$title is returned by GET as it was accepted', async (operation) => {
    await fc.assert(
      fc.asyncProperty(rightRequest(operation), async (request) => {
        const { status, body } = await send(operation, request);
        // The name is trimmed, as in an upload.
        const path = { ...request.path, partner_name: body.partner_name as string };
        const read = await send({ ...operation, method: 'GET' }, { path, query: {} });

        // The secret of a webhook is shown only once.
        const { secret: _secret, ...shown } = body as { secret?: string };
        expect([200, 201]).toContain(status);
        expect({ status: read.status, body: read.body as unknown }).toEqual({ status: 200, body: shown });
      }),
      cases(),
    );
  });

  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  it('of a format is stored exactly', async () => {
    const definition = fitting({ $ref: '#/components/schemas/FormatDefinition' }).map((body) =>
      keepFormatRules(body as FormatDefinition),
    );
    await fc.assert(
      fc.asyncProperty(definition, async (sent) => {
        const { body } = await putFormat(service.api, 'Acme Outdoor', 'weekly-price-list', sent);

        expect(body.definition).toEqual(asJson(sent));
      }),
      cases(),
    );
  });

  it('of a source is stored exactly, and its secrets are masked', async () => {
    const mask = '********';
    const definition = fitting({ $ref: '#/components/schemas/SourceDefinition' }).map((body) =>
      keepSourceRules(body as SourceDefinition),
    );
    await fc.assert(
      fc.asyncProperty(definition, async (sent) => {
        const { body } = await putSource(service.api, 'Acme Outdoor', 'daily-export', sent);

        const { headers, basic_auth: auth } = sent;
        const masked = {
          ...(headers && { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, mask])) }),
          ...(auth && { basic_auth: { ...auth, password: mask } }),
        };
        expect(body.definition).toMatchObject(asJson({ ...sent, ...masked }) as object);
      }),
      cases(),
    );
  });

  it.each(put)('$title is accepted or rejected by a rule if it fits its schema', async (operation) => {
    await fc.assert(
      fc.asyncProperty(rightRequest(operation), fitting(operation.body!), async (request, body) => {
        const { status } = await send(operation, { ...request, body });

        expect([200, 201, 422]).toContain(status);
      }),
      cases(),
    );
  });
});

describe('a form', () => {
  const forms = operations.filter(({ isForm }) => isForm);
  const partnerName = fitting({ $ref: '#/components/schemas/PartnerName' }) as fc.Arbitrary<string>;

  it.each(forms)('$title accepts any partner name that fits its schema', async ({ path }) => {
    await fc.assert(
      fc.asyncProperty(partnerName, async (name) => {
        fc.pre(hasNoReservedName({ partner_name: name }));
        const parts = new FormData();
        parts.set('partner_name', name);
        parts.set('file', new Blob(['sku,product_name\nA,Tent\n'], { type: 'text/csv' }), 'feed.csv');
        const { status } = await service.api.send('POST', path, { body: parts });

        expect([200, 201]).toContain(status);
      }),
      cases(),
    );
  });
});
