import type { OpenAPIV3 } from 'openapi-types';
import json from '../../generated/openapi.json';
import { resolve, type Schema } from '../support/arbitrary';
import {
  filePart,
  formBody,
  formType,
  goodCsv,
  partnerPart,
  uploadParts,
  sendRaw,
  type RawResponse,
} from '../support/requests';
import { operations, withQuery, type Operation } from '../support/contract';
import { inTurn } from '../support/matrix';
import { startTestService, testKey, type TestService } from '../support/service';

/** Every parameter and body field of every operation gets some of each kind; `make test-more` tries all. */
const hostile = {
  SQL: [
    `'; drop table products cascade; --`,
    `1' or '1'='1`,
    `' union select key from api_keys --`,
    `\\'; select pg_sleep(20); --`,
    `?`,
    `:partner_name`,
    `%`,
    `\\`,
    `PR00001/**/or/**/1=1`,
  ],
  'line breaks': [
    'a\r\nX-Injected: 1\r\n\r\n<script>',
    '\nSet-Cookie: injected=1',
    // Faulty code keeps only the low byte: CR and LF.
    'a\u560d\u560aX-Injected: 1',
    '%0d%0aX-Injected: 1',
  ],
  NUL: ['\0', 'a\0b', 'PR00001\0', '%00'],
  'odd texts': [
    '../../../etc/passwd',
    '${7*7}{{7*7}}',
    '\u202e\u2028',
    '\ufffe\uffff',
    '__proto__',
    '99999999999999999999',
    '-1',
    'x'.repeat(3_000),
  ],
};
const kinds = Object.entries(hostile).map(([kind, values]) => ({ kind, values }));

const document = json as unknown as OpenAPIV3.Document;
const parametersOf = ({ path, method }: Operation) => {
  const item = document.paths[path]!;
  const own = item[method.toLowerCase() as 'get']!.parameters ?? [];
  return [...(item.parameters ?? []), ...own].map((each) => resolve<OpenAPIV3.ParameterObject>(each));
};

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.api.loadFeed('sku,product_name,price,currency\nTENT-2,Tent,10,EUR\n,,\n');
  await service.api.post('/orders', order);
});

const order = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };

interface OrderTexts {
  partner_name: string;
  customer_reference?: string | null;
}

/** The tables with columns and row counts, and whether the one product is unchanged. */
async function fingerprint(): Promise<unknown> {
  const { rows } = await service.db.raw<{ rows: { tables: unknown }[] }>(`
    select (select json_agg(relname || '.' || attname order by relname, attname)
            from pg_class join pg_attribute on attrelid = pg_class.oid
            where relnamespace = 'public'::regnamespace and attnum > 0) as tables,
           (select json_agg(p) from products p) as products,
           (select count(*) from orders) as orders, (select count(*) from feeds) as feeds,
           (select count(*) from partners) as partners`);
  return rows[0];
}

/** Checks every response to a hostile request. */
function expectHarmless({ status, headers, text }: RawResponse): void {
  expect(status).toBeGreaterThanOrEqual(200);
  // 501 and above would be undocumented; 500 is a fault of the service, or a response that violates the document.
  expect({ status, text: status < 500 ? '' : text }).toEqual({ status, text: '' });
  expect(status).toBeLessThan(500);
  expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/inject|cookie/i)]));
  expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  // No message of the database.
  expect(text).not.toMatch(/syntax error|pg_catalog|relation "|invalid byte sequence|violates/);
}

/** Sends the operation's example with another path, query or headers. */
async function send(
  { method, examplePath, hasBody, operationId }: Operation,
  { path = examplePath, query = '', headers = {} }: { path?: string; query?: string; headers?: object },
): Promise<RawResponse> {
  const isForm =
    hasBody && !['createOrder', 'replaceFormat', 'replaceSource', 'replaceWebhook'].includes(operationId);
  const body = isForm ? formBody([partnerPart(), filePart()]) : JSON.stringify(order);
  const response = await sendRaw(service.url, {
    method,
    path: withQuery(path, query),
    headers: {
      'x-api-key': testKey,
      ...(hasBody && { 'content-type': isForm ? formType : 'application/json' }),
      ...headers,
    },
    chunks: hasBody ? [body] : [],
  });
  expectHarmless(response);
  return response;
}

const reading = operations.filter(({ hasBody }) => !hasBody);
const places = (place: string) =>
  reading
    .flatMap((operation) =>
      parametersOf(operation)
        .filter((parameter) => parameter.in === place)
        .map((parameter) => ({ operation, parameter })),
    )
    .flatMap(({ operation, parameter: { name, schema } }, at) =>
      kinds.map(({ kind, values }) => ({
        title: operation.title,
        name,
        schema: resolve<Schema>(schema!),
        kind,
        values: inTurn(values, at, 1),
        operation,
        at,
      })),
    );

describe('in a path', () => {
  it.each(places('path'))(
    'of $title, $kind as $name finds no resource, and changes nothing',
    async ({ operation, values, name }) => {
      const before = await fingerprint();

      for (const value of values) {
        const path = operation.path.replace(`{${name}}`, encodeURIComponent(value));
        const [, query] = operation.examplePath.split('?');
        const { status } = await send(operation, { path: path.replace(/\{.+?\}/g, 'x'), query });

        expect([200, 404]).toContain(status);
        if (status === 200) expect(operation.path).toMatch(/by-feed/);
      }
      expect(await fingerprint()).toEqual(before);
    },
  );
});

describe('in a query', () => {
  it.each(places('query'))(
    'of $title, $kind as $name is compared as a value or rejected, and changes nothing',
    async ({ operation, values, name, kind, schema }) => {
      const before = await fingerprint();

      for (const value of values) {
        const { status } = await send(operation, { query: `${name}=${encodeURIComponent(value)}` });

        expect([200, 400, 404, 409, 422]).toContain(status);
        // The database stores no NUL, so a query with one would fail.
        const holdsNul = kind === 'NUL' && value.includes('\0') && schema.type === 'string';
        if (holdsNul && !operation.path.includes('{')) expect([400, 422]).toContain(status);
      }
      expect(await fingerprint()).toEqual(before);
    },
  );

  it.each(places('query').filter(({ kind }) => kind === 'SQL'))(
    'of $title, a malformed or nested $name is compared as a value or rejected',
    async ({ operation, name, at }) => {
      const queries = [
        `${name}=%ff%fe&${name}=%c0%af`,
        `${name}=%`,
        `${name}=%zz`,
        `${name}[]=a&${name}[$ne]=b`,
        `${name}=a&${name}=b`,
        `${name}=${'a&x='.repeat(2_000)}`,
        name,
        `${encodeURIComponent(`${name}\0`)}=1`,
      ];
      for (const query of inTurn(queries, at, 2)) {
        const { status } = await send(operation, { query });

        expect([200, 400, 404, 409, 422]).toContain(status);
      }
    },
  );

  it.each([
    ['%ff', '\ufffd'],
    ['Caf%E9', 'Caf\ufffd'],
    ['%ED%A0%80', '\ufffd\ufffd\ufffd'],
    ['100%+%c0%af', '100% \ufffd\ufffd'],
  ])('bytes that are not UTF-8 are 422: %s', async (text, input) => {
    const { status, body } = await service.api.get(`/products?brand=${text}&limit=0`);

    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { type: 'string_unicode', loc: ['query', 'brand'], input },
      { type: 'greater_than_equal', loc: ['query', 'limit'] },
    ]);
  });

  it('bytes that are not UTF-8 in an unknown parameter are ignored', async () => {
    expect((await service.api.get('/products?x=%ff&%ff=x')).status).toBe(200);
  });

  it('bytes that are not UTF-8 in sort_by, order or cursor are an invalid value', async () => {
    for (const name of ['sort_by', 'order', 'cursor']) {
      expect((await service.api.get(`/products?brand=%ff&${name}=%ff`)).status).toBe(400);
    }
  });

  it.each(['100%', '%zz', '%EF%BF%BD', '%F0%9F%98%80', '%25ff', '%E4%BD%A0%'])(
    '%s is decoded and compared as text',
    async (text) => {
      expect((await service.api.get(`/products?brand=${text}`)).body).toMatchObject({ count: 0 });
    },
  );

  it.each(['sku', 'brand', 'category', 'partner_name'])('%% and _ in %s are not wildcards', async (name) => {
    for (const value of ['%', '_', 'TENT__', 'T%', '.*', "' or ''='"]) {
      const { body } = await service.api.get(`/products?${name}=${encodeURIComponent(value)}`);

      expect(body).toMatchObject({ count: 0 });
    }
  });
});

describe('in a header', () => {
  const sendable = (values: readonly string[]) =>
    values
      // Clients can send these unchanged; others make the request malformed.
      .map((value) => Buffer.from(value).toString('latin1'))
      .filter((value) => !/\p{Cc}/u.test(value.replaceAll(/[\x80-\x9f]/g, '')));
  const sent = sendable(Object.values(hostile).flat());
  const ofEveryKind = Object.values(hostile).flatMap((values) => sendable(values).slice(0, 2));

  it.each(operations)('of $title, hostile texts are compared as values or ignored', async (operation) => {
    const declared = parametersOf(operation).filter((parameter) => parameter.in === 'header');
    const before = await fingerprint();

    // Unread headers are tried with one operation.
    const ofAll = operation === operations[0] ? ['x-request-id', 'x-forwarded-for'] : [];
    for (const name of [...declared.map((parameter) => parameter.name), 'accept', ...ofAll]) {
      for (const value of ofEveryKind) {
        const { status } = await send(operation, { headers: { [name]: value } });

        expect([200, 201, 206, 304, 404, 409, 416, 422]).toContain(status);
      }
    }
    if (!operation.hasBody && operation.method === 'GET') expect(await fingerprint()).toEqual(before);
  });

  it('hostile texts as the key are rejected with 401', async () => {
    for (const value of sent) {
      expect(
        (await sendRaw(service.url, { method: 'GET', path: '/products', headers: { 'x-api-key': value } }))
          .status,
      ).toBe(401);
    }
  });
});

describe('in a body', () => {
  it.each(kinds)('$kind in the fields of an order is stored exactly or rejected', async ({ values }) => {
    for (const value of values) {
      for (const body of [
        { ...order, partner_name: value },
        { ...order, customer_reference: value },
        { ...order, items: [{ product_id: value, quantity: 1 }] },
        { ...order, items: [{ product_id: 'PR00001', quantity: value }] },
        { ...order, [value]: value },
      ]) {
        const response = await service.api.post('/orders', body);

        expect([201, 404, 422]).toContain(response.status);
        if (value.includes('\0') && !(value in body)) expect([404, 422]).toContain(response.status);
        if (response.status !== 201) continue;
        const { partner_name: partner, customer_reference: reference = null }: OrderTexts = body;
        expect(response.body).toMatchObject({
          partner_name: partner.trim(),
          customer_reference: reference,
        });
        expect((await service.api.get(`/orders/${response.body.order_id}`)).body).toEqual(response.body);
      }
    }
    expect((await service.api.get('/products')).body).toMatchObject({ count: 1 });
  });

  it.each(kinds)(
    '$kind as partner_name and file name of an upload is stored exactly or rejected',
    async ({ values }) => {
      for (const value of values) {
        const file = filePart();
        const headers = [
          `Content-Disposition: form-data; name="file"; filename*=UTF-8''${encodeURIComponent(value).replace(/['()*]/g, '_')}.csv`,
          file.headers[1]!,
        ];
        const named = await uploadParts(service.api, partnerPart(value), file);
        const stored = await uploadParts(service.api, partnerPart(), { ...file, headers });

        expect([201, 422]).toContain(named.status);
        expect(stored.status).toBe(201);
        if (named.status === 201) {
          const { body } = await service.api.get(`/feeds/${named.body.feed_id}`);
          expect(body.partner_name).toBe(value.trim());
        }
        const download = await sendRaw(service.url, {
          method: 'GET',
          path: `/feeds/${stored.body.feed_id}/raw`,
          headers: { 'x-api-key': testKey },
        });
        expectHarmless(download);
        expect(download.text).toBe(goodCsv);
      }
    },
  );
});
