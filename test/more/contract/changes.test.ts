import type { OpenAPIV3 } from 'openapi-types';
import json from '../../../generated/openapi.json';
import { compareContracts } from '../../../scripts/contract-changes';
import { ruleChanges } from '../../../scripts/contract-rules';

const document = json as unknown as OpenAPIV3.Document;

/** Compares once for all these changes, because a comparison takes a second. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a tree of anything, to be changed anywhere
function changesOf(...edits: ((document: any) => void)[]): string[] {
  const copy = structuredClone(document);
  for (const edit of edits) edit(copy);
  return compareContracts(document, copy)
    .map(({ impact, subject, message }) => `${impact} ${subject}: ${message}`)
    .sort();
}

describe('the changes between two documents', () => {
  it('are empty if only texts and examples differ', () => {
    expect(
      changesOf(
        ({ info }) => (info.description = 'Another text.'),
        ({ paths }) => (paths['/orders'].post.description = 'Another text.'),
        ({ components }) => (components.schemas.OrderId.example = 'OR00002'),
      ),
    ).toEqual([]);
  });

  it('are breaking if a client may stop working or compiling', () => {
    const changes = changesOf(
      ({ paths }) => delete paths['/analytics/revenue-share'],
      ({ paths }) => delete paths['/orders'].get,
      ({ paths }) => delete paths['/health'].get.security,
      ({ paths }) => (paths['/products'].get.parameters[6].schema.maximum = 50),
      ({ paths }) => (paths['/products'].get.parameters[6].schema.default = 20),
      ({ paths }) => (paths['/orders/{order_id}'].get.operationId = 'readOrder'),
      ({ paths }) => delete paths['/jobs/{job_id}/run'].post.responses['409'],
      ({ paths }) => delete paths['/feeds/upload'].post.responses['201'].headers.Location,
      ({ paths }) => {
        const { content } = paths['/feeds/template.csv'].get.responses['200'];
        content['text/plain'] = content['text/csv'];
        delete content['text/csv'];
      },
      ({ paths, components }) => {
        paths['/products/{id}'] = paths['/products/{product_id}'];
        paths['/products/{id}'].get.parameters[0] = { ...components.parameters.ProductIdInPath, name: 'id' };
        delete paths['/products/{product_id}'];
      },
      ({ components }) => {
        const { OrderItemRequest } = components.schemas;
        OrderItemRequest.properties.note = { type: 'string', description: 'A note.', example: 'Soon' };
        OrderItemRequest.required.push('note');
      },
      ({ components }) => {
        components.schemas.JobKind = components.schemas.JobType;
        components.schemas.Job.properties.job_type.$ref = '#/components/schemas/JobKind';
        delete components.schemas.JobType;
      },
      (changed) => delete changed['x-webhooks']['job.failed'],
      ({ components }) => (components.parameters.Currency.schema.pattern = '^[A-Z]{3}$'),
    );

    expect(changes.filter((change) => change.startsWith('breaking'))).toMatchInlineSnapshot(`
     [
       "breaking GET /analytics/revenue-share: Path \`/analytics/revenue-share\` was removed.",
       "breaking GET /analytics/sales-by-partner: \`pattern\` changed from '^([A-Z]{3})?$' to '^[A-Z]{3}$'.",
       "breaking GET /analytics/sales-over-time: \`pattern\` changed from '^([A-Z]{3})?$' to '^[A-Z]{3}$'.",
       "breaking GET /feeds/template.csv: Media type \`text/csv\` became \`text/plain\`.",
       "breaking GET /health: The security changed: credentials that were accepted are no longer accepted.",
       "breaking GET /orders/{order_id}: \`operationId\` of operation \`GET /orders/{order_id}\` changed from 'getOrder' to 'readOrder'.",
       "breaking GET /orders: Operation \`GET /orders\` was removed.",
       "breaking GET /products/{product_id}: The path parameters {product_id} became {id}.",
       "breaking GET /products: Upper bound changed from '<= 100' to '<= 50'.",
       "breaking GET /products: modified parameters/6/schema default",
       "breaking JobType: The schema JobType is gone: clients import its type.",
       "breaking POST /feeds/upload: Response header \`Location\` was removed.",
       "breaking POST /jobs/{job_id}/run: Response \`409\` was removed.",
       "breaking POST /jobs/{job_id}/run: The error code \`job_already_queued\` of 409 is gone.",
       "breaking POST /jobs/{job_id}/run: The error code \`job_already_running\` of 409 is gone.",
       "breaking POST /jobs/{job_id}/run: The error code \`run_cancelled\` of 409 is gone.",
       "breaking POST /orders: Properties became required: \`note\`.",
       "breaking webhook job.failed: Path \`/x-webhooks/job.failed\` was removed.",
     ]
    `);
  });

  it('list a change of a shared schema at each of its operations', () => {
    const changes = changesOf(
      ({ components }) => delete components.schemas.OrderItem.properties.line_total,
      ({ components }) => components.schemas.OrderItem.required.pop(),
    );

    expect(new Set(changes.map((change) => change.split(':')[0]))).toEqual(
      new Set([
        'breaking GET /orders',
        'breaking POST /orders',
        'breaking GET /orders/{order_id}',
        'breaking webhook order.created',
      ]),
    );
  });

  it('are additive if no client is affected', () => {
    const changes = changesOf(
      ({ paths }) =>
        (paths['/health/details'] = { get: { ...paths['/health'].get, operationId: 'getDetails' } }),
      ({ paths }) =>
        paths['/orders'].get.parameters.push({
          name: 'status',
          in: 'query',
          description: 'Only orders with this status.',
          schema: { type: 'string' },
          example: 'created',
        }),
      ({ paths }) => (paths['/orders/{order_id}'].get.security = []),
      ({ components }) => {
        components.schemas.Health.properties.version = { type: 'string', description: 'V.', example: '1' };
      },
      ({ components }) => components.schemas.KnownRowIssueCode.enum.push('too_expensive'),
      ({ components }) => {
        components.schemas.Order.properties.note = { type: 'string', description: 'N.', example: 'Soon' };
        components.schemas.Order.required.push('note');
      },
      (changed) => (changed['x-webhooks']['order.changed'] = changed['x-webhooks']['order.created']),
    );

    expect(changes.filter((change) => !change.startsWith('additive'))).toEqual([]);
    expect(changes.filter((change) => !change.includes('too_expensive'))).toMatchInlineSnapshot(`
     [
       "additive GET /health/details: added",
       "additive GET /health: added responses/200/content/application/json/schema/properties/version",
       "additive GET /orders/{order_id}: Other credentials, or none, are accepted too.",
       "additive GET /orders/{order_id}: added responses/200/content/application/json/schema/properties/note",
       "additive GET /orders/{order_id}: added security",
       "additive GET /orders: added parameters/4",
       "additive GET /orders: added responses/200/content/application/json/schema/properties/items/items/properties/note",
       "additive POST /orders: added responses/201/content/application/json/schema/properties/note",
       "additive webhook order.changed: added",
       "additive webhook order.created: added responses/200/content/application/json/schema/properties/data/properties/note",
     ]
    `);
    expect(changes).toContain(
      "additive GET /jobs/{job_id}/issues: Enum of `code` gained values: 'too_expensive'.",
    );
  });
});

describe('an open enum', () => {
  const breakingChanges = (base: OpenAPIV3.Document, revision: OpenAPIV3.Document) =>
    compareContracts(base, revision).flatMap(({ impact, subject, message }) =>
      impact === 'breaking' ? `${subject}: ${message}` : [],
    );
  /** The document with an enum in the form of 1.2.0: its values, marked as extensible. */
  const inOldForm = structuredClone(document);
  const schemasOf = ({ components }: OpenAPIV3.Document) =>
    components!.schemas as unknown as Record<string, { enum: string[] }>;
  schemasOf(inOldForm).RowIssueCode = {
    ...schemasOf(inOldForm).KnownRowIssueCode!,
    'x-extensible': true,
  } as object as { enum: string[] };
  const changed = (change: (schemas: Record<string, { enum: string[] }>) => void) => {
    const copy = structuredClone(document);
    change(schemasOf(copy));
    return copy;
  };

  it('is unchanged if it becomes a text with known values', () => {
    expect(document.components!.schemas!.RowIssueCode).toHaveProperty('x-known-values');
    expect(compareContracts(inOldForm, document)).toEqual([]);
  });

  it.each([
    ['the form of 1.2.0', inOldForm],
    ['the form of the document', document],
  ])('in %s is breaking without one of its values, and not with a new one', (_form, base) => {
    const without = changed(({ KnownRowIssueCode }) => KnownRowIssueCode!.enum.pop());
    const lost = document.components!.schemas!.KnownRowIssueCode as { enum: string[] };
    const more = changed(({ KnownRowIssueCode }) => KnownRowIssueCode!.enum.push('too_expensive'));

    expect(breakingChanges(base, without)).toContainEqual(expect.stringContaining(lost.enum.at(-1)!));
    expect(breakingChanges(base, more)).toEqual([]);
  });

  it.each([
    ['the form of 1.2.0', inOldForm],
    ['the form of the document', document],
  ])('in %s is breaking if it is closed', (_form, base) => {
    const closed = changed((schemas) => (schemas.RowIssueCode = schemas.KnownRowIssueCode!));

    expect(ruleChanges(base, closed)).toEqual([
      { impact: 'breaking', subject: 'RowIssueCode', message: 'The open enum RowIssueCode is closed.' },
    ]);
  });
});

it('a header that a response always has from now on is additive', () => {
  const optional = structuredClone(document);
  (optional.components!.headers!.RequestId as { required: boolean }).required = false;

  expect(compareContracts(optional, document).filter(({ impact }) => impact === 'breaking')).toEqual([]);
});

describe('an error code', () => {
  const withCodes = (codes: Record<string, string[]>, raw = ['raw_file_removed']) => {
    const copy = structuredClone(document);
    const responses = copy.paths['/jobs/{job_id}/run']!.post!.responses as Record<string, object>;
    for (const [status, each] of Object.entries(codes))
      responses[status] = { ...responses[status], 'x-error-codes': each };
    copy.components!.responses!.RawFileRemoved = {
      ...copy.components!.responses!.RawFileRemoved,
      'x-error-codes': raw,
    } as object as OpenAPIV3.ResponseObject;
    return copy;
  };
  const changesTo = (revision: OpenAPIV3.Document, base = document) =>
    ruleChanges(base, revision).map(({ impact, subject, message }) => `${impact} ${subject}: ${message}`);

  it('is breaking if it is gone or has another status, and additive if it is new', () => {
    const revision = withCodes({
      400: ['malformed_path'],
      409: ['job_already_running', 'not_a_validation_job', 'format_in_use'],
    });

    expect(changesTo(revision).sort()).toEqual([
      'additive POST /jobs/{job_id}/run: The error code `format_in_use` of 409 is new.',
      'breaking POST /jobs/{job_id}/run: The error code `job_already_queued` of 409 is gone.',
      'breaking POST /jobs/{job_id}/run: The error code `not_a_validation_job` of 400 moved to 409.',
      'breaking POST /jobs/{job_id}/run: The error code `run_cancelled` of 409 is gone.',
    ]);
  });

  it('is compared at each operation of a shared response', () => {
    const changes = changesTo(withCodes({}, []));

    expect(changes).toContain(
      'breaking POST /jobs/{job_id}/run: The error code `raw_file_removed` of 410 is gone.',
    );
    expect(changes).toContain(
      'breaking GET /feeds/{feed_id}/raw: The error code `raw_file_removed` of 410 is gone.',
    );
  });

  it('is no change of a response that had no codes', () => {
    expect(changesTo(document, withCodes({ 409: [] }))).toEqual([]);
  });
});

it('a pattern that additionally admits the empty text is additive', () => {
  const narrow = structuredClone(document);
  (narrow.components!.parameters!.Currency as { schema: { pattern: string } }).schema.pattern = '^[A-Z]{3}$';

  expect(compareContracts(narrow, document).filter(({ impact }) => impact === 'breaking')).toEqual([]);
});

describe('an operation that moves out of the document', () => {
  const moveOut = (outside: string[]) =>
    changesOf(
      (changed) => (changed['x-outside-contract'] = outside),
      ({ paths }) => delete paths['/health'],
      ({ components }) => delete components.schemas.Health,
      ({ components }) => delete components.schemas.HealthStatus,
      ({ components }) => delete components.schemas.DatabaseState,
    );

  it('is additive, with its unshared schemas', () => {
    expect(moveOut(['GET /health'])).toEqual([
      'additive GET /health: Left the document; the address is served as before.',
    ]);
  });

  it('is breaking if x-outside-contract does not name it', () => {
    expect(moveOut(['GET /docs'])).toContain('breaking GET /health: Path `/health` was removed.');
  });
});

describe('a response body that requires a parameter', () => {
  const changes = (parameter: string) =>
    changesOf(({ paths, components }) => {
      components.schemas.TooManyBody = {
        type: 'object',
        'x-only-with': parameter,
        properties: { detail: { type: 'string' } },
      };
      components.schemas.OrderListBody = {
        anyOf: [{ $ref: '#/components/schemas/OrderList' }, { $ref: '#/components/schemas/TooManyBody' }],
      };
      const { get } = paths['/orders'];
      get.parameters.push({ name: 'status', in: 'query', schema: { type: 'string' } });
      get.responses['200'].content['application/json'].schema.$ref = '#/components/schemas/OrderListBody';
    }).filter((change) => change.startsWith('breaking'));

  it('is additive if the parameter is new', () => {
    expect(changes('status')).toEqual([]);
  });

  it('is breaking if clients may send the parameter', () => {
    expect(changes('cursor')).not.toEqual([]);
  });

  it('is additive if the parameter is new, also where it is a part of the body', () => {
    const inItems = (parameter: string) =>
      changesOf(({ components }) => {
        const { items } = components.schemas.OrderList.properties;
        items.items = { anyOf: [items.items, { type: 'string', 'x-only-with': parameter }] };
      }).filter((change) => change.startsWith('breaking'));

    expect(inItems('status')).toEqual([]);
    expect(inItems('cursor')).not.toEqual([]);
  });
});
