import { operations, withQuery } from '../support/contract';
import { sendRaw } from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.api.loadFeed('sku,product_name,price,currency\nTENT-2,Tent,10,EUR\n');
});

const order = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };
const ofOrder = JSON.stringify(order).slice(1);

/** Posts a JSON text unchanged. */
const post = (json: string | Buffer, path = '/orders') =>
  service.api.send('POST', path, { headers: { 'content-type': 'application/json' }, body: json });

const orders = async () => Number((await service.db('orders').count('* as count'))[0]!.count);
const pristine = Object.getOwnPropertyNames(Object.prototype);

afterEach(() => {
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(pristine);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

describe('a body that names properties of every object', () => {
  it.each([
    ['__proto__', `{"__proto__":{"polluted":1},${ofOrder}`],
    [
      '__proto__ in an item',
      `{"partner_name":"A","items":[{"__proto__":{"polluted":1},"product_id":"PR00001","quantity":1}]}`,
    ],
    ['constructor.prototype', `{"constructor":{"prototype":{"polluted":1}},${ofOrder}`],
    ['methods', `{"toString":null,"hasOwnProperty":1,"valueOf":{},"toJSON":"x",${ofOrder}`],
  ])('is an order with fields that are ignored: %s', async (_what, json) => {
    const { status, body } = await post(json);

    expect(status).toBe(201);
    expect(Object.keys(body)).not.toContain('polluted');
  });

  it.each([
    ['the fields are in __proto__', `{"__proto__":${JSON.stringify(order)}}`, ['partner_name', 'items']],
    ['the name is in __proto__', `{"__proto__":{"partner_name":"A"},"items":[]}`, undefined],
    [
      'an item has its fields in __proto__',
      `{"partner_name":"A","items":[{"__proto__":{"product_id":"PR00001","quantity":1}}]}`,
      ['product_id', 'quantity'],
    ],
  ])('has no field by inheritance: %s', async (_what, json, missing) => {
    const { status, body } = await post(json);

    // An empty list of items is reported first.
    expect(status).toBe(missing ? 422 : 400);
    if (missing) expect((body.detail as { loc: string[] }[]).map(({ loc }) => loc.at(-1))).toEqual(missing);
  });

  it.each(operations.filter(({ method }) => method === 'GET'))(
    '$title ignores them in the query',
    async ({ examplePath }) => {
      const { status } = await service.api.get(
        withQuery(
          examplePath,
          `__proto__[polluted]=1&a[__proto__][polluted]=1&constructor[prototype][polluted]=1&constructor.prototype.polluted=1&__proto__.polluted=1`,
        ),
      );

      expect([200, 404, 409]).toContain(status);
    },
  );

  it.each(['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', '__defineGetter__'])(
    'a %s where a parameter is expected is a value like any other',
    async (name) => {
      expect((await service.api.get(`/products?sort_by=${name}`)).status).toBe(400);
      expect((await service.api.get(`/analytics/sales-over-time?grain=${name}`)).status).toBe(422);
      expect((await service.api.get(`/products?sku=${name}`)).body).toMatchObject({ count: 0 });
      expect((await service.api.get(`/products/${name}`)).status).toBe(404);
      expect((await service.api.get(`/jobs/${name}`)).status).toBe(404);
      expect((await service.api.get(`/${name}`)).status).toBe(404);
    },
  );
});

describe('a JSON bomb', () => {
  const mebibyte = 1024 * 1024;
  const inOrder = (value: string) => `{"x":${value},${ofOrder}`;

  it.each<[string, string | Buffer, number]>([
    ['1 MiB of [', '['.repeat(mebibyte), 400],
    ['1 MiB of {"a":', '{"a":'.repeat(mebibyte / 5), 400],
    ['1 MiB of [ and ]', '['.repeat(mebibyte / 2) + ']'.repeat(mebibyte / 2), 422],
    ['170,000 objects in each other', `${'{"a":'.repeat(170_000)}1${'}'.repeat(170_000)}`, 422],
    [
      'deep nesting in partner_name',
      `{"partner_name":${'['.repeat(1_000)}${']'.repeat(1_000)},"items":[]}`,
      422,
    ],
    ['90,000 keys', `{${Array.from({ length: 90_000 }, (_, at) => `"k${at}":1`).join()},${ofOrder}`, 201],
    ['half a million zeros as items', `{"partner_name":"A","items":[${'0,'.repeat(500_000)}0]}`, 422],
    [
      'keys that are array indices',
      `{${Array.from({ length: 60_000 }, (_, at) => `"${at * 65_536}":1`).join()},${ofOrder}`,
      201,
    ],
    ['one key, again and again', `{${'"a":1,'.repeat(170_000)}${ofOrder}`, 201],
    ['a string of a million characters', inOrder(`"${'x'.repeat(1_000_000)}"`), 201],
    ['a string of escapes', inOrder(`"${'\\u0041'.repeat(170_000)}"`), 201],
    ['a number of a million digits', inOrder('9'.repeat(1_000_000)), 201],
    ['a million digits after the point', inOrder(`0.${'1'.repeat(1_000_000)}`), 201],
    ['an exponent without end', inOrder('1e999999999999'), 201],
  ])('%s gets a documented response, and the service stays alive', async (_what, json, status) => {
    const before = await orders();

    expect((await post(json)).status).toBe(status);
    expect(await orders()).toBe(before + (status === 201 ? 1 : 0));
    expect((await service.api.get('/health')).body.status).toBe('ok');
  });

  const withQuantity = (quantity: string) =>
    `{"partner_name":"A","items":[{"product_id":"PR00001","quantity":${quantity}}]}`;

  it.each(['1e999999', '-1e999999', '1e400', '9'.repeat(400), '9007199254740993', '1e-7', '-0'])(
    'a quantity of %s is 422',
    async (quantity) => {
      const { status } = await post(withQuantity(quantity));

      expect(status).toBe(422);
    },
  );

  it.each(['NaN', 'Infinity', '01', '0x10', '1_000', '+1', '.5', '1.', "'1'", '1n', 'undefined'])(
    'a quantity of %s is not JSON',
    async (quantity) => {
      const { status, body } = await post(withQuantity(quantity));

      expect({ status, body }).toEqual({ status: 400, body: { detail: 'Malformed JSON in request body.' } });
    },
  );

  it.each(['1', '1.0', '1e0', '10E-1', '1000000'])('a quantity of %s is a whole number', async (quantity) => {
    expect((await post(withQuantity(quantity))).status).toBe(201);
  });

  it('the last of two equal keys counts, for any first value', async () => {
    const { status, body } = await post(`{"partner_name":5,"items":[],"__proto__":1,${ofOrder}`);

    expect(status).toBe(201);
    expect(body.partner_name).toBe('Acme Outdoor');
  });

  it('may begin with a byte order mark', async () => {
    expect((await post(Buffer.from(`\ufeff${JSON.stringify(order)}`))).status).toBe(201);
  });

  it.each<[string, string | Buffer]>([
    ['two byte order marks', Buffer.from(`\ufeff\ufeff${JSON.stringify(order)}`)],
    ['UTF-16', Buffer.from(JSON.stringify(order), 'utf16le')],
    [
      'invalid UTF-8',
      Buffer.concat([Buffer.from('{"partner_name":"A'), Buffer.from([0xff]), Buffer.from('","items":[]}')]),
    ],
    ['a second object', `${JSON.stringify(order)}{}`],
    ['a second object after a space', '{} {}'],
    ['a comment', `/**/${JSON.stringify(order)}`],
    ['a comma too many in an object', `{${ofOrder.slice(0, -1)},}`],
    ['a comma too many in a list', '[1,]'],
    ['a NUL after it', `${JSON.stringify(order)}\0`],
    ['a raw line break in a string', '{"partner_name":"A\nB","items":[]}'],
    ['white space alone', ' \r\n\t'],
    ['one space alone', ' '],
    ['an object that does not end', '{'],
    ['a member without a value', '{"partner_name":'],
    ['a string that does not end', '"'],
    ['single quotes', "{'items':[]}"],
    ['the fields of a form', 'partner_name=Acme'],
    ['a word', 'undefined'],
  ])('with %s is not JSON, and creates no order', async (_what, json) => {
    const before = await orders();

    const { status, body } = await post(json);

    expect({ status, body: body as unknown }).toEqual({
      status: 400,
      body: { detail: 'Malformed JSON in request body.' },
    });
    expect(await orders()).toBe(before);
  });

  describe('with a lone surrogate', () => {
    const msg = 'String should be well-formed Unicode, without lone surrogates';
    const item = '{"product_id":"PR00001","quantity":1}';

    it.each<[string, string, (string | number)[], string]>([
      [
        'a high one as partner_name',
        String.raw`{"partner_name":"\ud800","items":[${item}]}`,
        ['partner_name'],
        '\ufffd',
      ],
      [
        'a low one in customer_reference',
        String.raw`{"customer_reference":"A\udc00B",${ofOrder}`,
        ['customer_reference'],
        'A\ufffdB',
      ],
      [
        'a pair in the wrong order in a product_id',
        String.raw`{"partner_name":"A","items":[${item},{"product_id":"\uDC00\uD800","quantity":1}]}`,
        ['items', 1, 'product_id'],
        '\ufffd\ufffd',
      ],
      [
        'one in a field that is ignored',
        String.raw`{"x":[{"y":"\ud800"}],${ofOrder}`,
        ['x', 0, 'y'],
        '\ufffd',
      ],
      ['one in the name of a field', String.raw`{"a\ud800":1,${ofOrder}`, ['a\ufffd'], 'a\ufffd'],
    ])('%s is 422 and creates no order', async (_what, json, loc, input) => {
      const before = await orders();

      const { status, body } = await post(json);

      const error = { type: 'string_unicode', loc: ['body', ...loc], msg, input };
      expect({ status, body }).toEqual({ status: 422, body: { detail: [error] } });
      expect(await orders()).toBe(before);
    });

    it('reports every such string and all other errors at once', async () => {
      const { status, body } = await post(
        String.raw`{"partner_name":"\ud800","customer_reference":"\udfff","items":[{"product_id":"PR00001","quantity":0}]}`,
      );

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([
        { type: 'string_unicode', loc: ['body', 'partner_name'] },
        { type: 'string_unicode', loc: ['body', 'customer_reference'] },
        { type: 'greater_than_equal', loc: ['body', 'items', 0, 'quantity'] },
      ]);
    });

    it('lists at most a hundred such strings', async () => {
      const { status, body } = await post(`{"x":[${String.raw`"\ud800",`.repeat(50_000)}1],${ofOrder}`);

      expect([status, (body.detail as unknown[]).length]).toEqual([422, 100]);
    });

    it('alone, without an object, is not an order', async () => {
      const { status, body } = await post(String.raw`"\ud800"`);

      expect([status, body.detail]).toMatchObject([422, [{ type: 'dict_type', input: '\ufffd' }]]);
    });

    it('is 422 even if another one was used with the Idempotency-Key', async () => {
      const send = (reference: string) =>
        service.api.send('POST', '/orders', {
          headers: { 'content-type': 'application/json', 'idempotency-key': 'surrogates' },
          body: `{"customer_reference":"${reference}",${ofOrder}`,
        });

      expect((await send(String.raw`\ud800`)).status).toBe(422);
      expect((await send(String.raw`\ud801`)).body.detail).toMatchObject([{ type: 'string_unicode' }]);
      expect((await send(String.raw`\ud83d\ude00`)).body).toMatchObject({ customer_reference: '\u{1f600}' });
    });
  });

  it.each(operations.filter(({ hasBody, needsKey, method }) => !hasBody && needsKey && method === 'POST'))(
    '$title takes no body, and ignores one that is sent',
    async ({ examplePath }) => {
      const { status } = await post('['.repeat(10_000), examplePath);

      expect([200, 404, 409]).toContain(status);
    },
  );

  it('is not decompressed', async () => {
    for (const encoding of ['gzip', 'deflate', 'br', 'gzip, gzip', 'x']) {
      const { status } = await sendRaw(service.url, {
        method: 'POST',
        path: '/orders',
        headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'content-encoding': encoding },
        chunks: [JSON.stringify(order)],
      });

      expect(status).toBe(415);
    }
  });
});
