import type { OpenAPIV3 } from 'openapi-types';
import json from '../../../generated/openapi.json';
import { compareContracts, type Change } from '../../../scripts/contract-changes';
import { judge } from '../../../scripts/contract-verdict';

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

it('opening an extensible enum is no change, and removing one of its values is breaking', () => {
  const closed = structuredClone(document);
  const { RowIssueCode, KnownRowIssueCode } = closed.components!.schemas! as Record<string, object>;
  closed.components!.schemas!.RowIssueCode = { ...KnownRowIssueCode, 'x-extensible': true } as object;
  expect(RowIssueCode).toMatchObject({ 'x-extensible': true });
  const withoutValue = structuredClone(document);
  (withoutValue.components!.schemas!.KnownRowIssueCode as { enum: string[] }).enum.pop();

  expect(compareContracts(closed, document)).toEqual([]);
  expect(compareContracts(closed, withoutValue).filter(({ impact }) => impact === 'breaking')).not.toEqual(
    [],
  );
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

describe('the verdict', () => {
  const breaking: Change = { impact: 'breaking', subject: 'GET /orders', message: 'Gone.' };
  const additive: Change = { impact: 'additive', subject: 'GET /orders', message: 'A parameter more.' };
  const entry = (version: string, text = '### Added\n\n- Something.\n', date = '2026-12-01') =>
    `## [${version}] - ${date}\n\n${text}\n`;
  const first = entry('1.0.0', undefined, '2026-11-21');
  const judged = (changes: Change[], version: string, ...newer: string[]) =>
    judge({ released: '1.0.0', version, changelog: `# Changes\n\n${newer.join('')}${first}`, changes });

  it('accepts additions with a new minor version, and listed breaking changes with a new major version', () => {
    expect(judged([], '1.0.0')).toEqual([]);
    expect(judged([], '1.0.1', entry('1.0.1'))).toEqual([]);
    expect(judged([additive], '1.1.0', entry('1.1.0'))).toEqual([]);
    expect(
      judged([breaking, additive], '2.0.0', entry('2.0.0', '### Breaking\n\n- `GET /orders` is gone.\n')),
    ).toEqual([]);
  });

  it('rejects an addition without a new minor version', () => {
    const advice =
      'The changes need version 1.1.0 at least: set info.version, and add "## [1.1.0] - <date>" on top of spec/CHANGELOG.md.';

    expect(judged([additive], '1.0.0')).toEqual([advice]);
    expect(judged([additive], '1.0.1', entry('1.0.1'))).toEqual([advice]);
  });

  it('rejects a breaking change without a new major version', () => {
    expect(judged([breaking], '1.1.0', entry('1.1.0', '### Breaking\n\n- `GET /orders` is gone.\n'))).toEqual(
      [
        'The changes need version 2.0.0 at least: set info.version, and add "## [2.0.0] - <date>" on top of spec/CHANGELOG.md.',
      ],
    );
  });

  it('rejects a breaking change that the newest entry does not list', () => {
    const named = '### Breaking\n\n- `GET /orders/{order_id}` and `POST /orders` are gone.\n';

    expect(judged([breaking], '2.0.0', entry('2.0.0'))).toEqual([
      'The entry 2.0.0 of spec/CHANGELOG.md has no section "### Breaking".',
    ]);
    expect(judged([breaking], '2.0.0', entry('2.0.0', named))).toEqual([
      '"### Breaking" of 2.0.0 in spec/CHANGELOG.md does not name `GET /orders`.',
    ]);
  });

  it('rejects a version that is not the newest entry', () => {
    expect(judged([additive], '1.0.0', entry('1.1.0'))).toEqual([
      'info.version is 1.0.0, the newest entry of spec/CHANGELOG.md 1.1.0.',
    ]);
    expect(judged([], '1.1.0')).toEqual([
      'info.version is 1.1.0, the newest entry of spec/CHANGELOG.md 1.0.0.',
    ]);
  });

  it('rejects entries out of order, and a changelog without entries or without the released version', () => {
    expect(judged([], '1.1.0', entry('1.1.0'), entry('1.2.0'))).toEqual([
      'In spec/CHANGELOG.md, 1.1.0 stands before 1.2.0: newest first, with later dates.',
    ]);
    expect(judged([], '1.1.0', entry('1.1.0', undefined, '2026-01-01'))).toEqual([
      'In spec/CHANGELOG.md, 1.1.0 stands before 1.0.0: newest first, with later dates.',
    ]);
    expect(judge({ released: '1.0.0', version: '1.0.0', changelog: '# Changes\n', changes: [] })).toEqual([
      'spec/CHANGELOG.md has no entry of the form "## [1.0.0] - 2026-01-31".',
    ]);
    expect(judge({ released: '1.0.0', version: '1.1.0', changelog: entry('1.1.0'), changes: [] })).toEqual([
      'spec/CHANGELOG.md has no entry for the released version 1.0.0.',
    ]);
  });
});
