import { sendRaw } from '../../../support/requests';
import { testKey } from '../../../support/service';
import { service, load, orderOf, order, sendText, sendChunked, storedRows, expectRefusal } from './requests';

describe('POST /orders', () => {
  describe('400', () => {
    const noItems = { status: 400, body: { detail: 'Order must contain at least one item.' } };
    const mixed = { status: 400, body: { detail: 'Order items must share one currency.' } };

    it.each([
      { partner_name: 'Acme Outdoor', items: [] },
      { items: [] },
      { partner_name: '', customer_reference: 5, items: [] },
    ])('rejects an order without items, before any other error: %j', async (body) => {
      await expectRefusal(() => service.api.post('/orders', body), noItems);
    });

    it('rejects items in different currencies', async () => {
      const euros = { product_id: await load('1', { currency: 'EUR' }), quantity: 1 };
      const dollars = { product_id: await load('1', { currency: 'USD' }), quantity: 1 };
      const none = { product_id: await load('1'), quantity: 1 };

      await expectRefusal(() => order([euros, dollars]), mixed);
      await expectRefusal(() => order([euros, euros, none]), mixed);
      await expectRefusal(() => order([none, euros]), mixed);
    });
  });

  describe('413', () => {
    const tooLarge = { status: 413, body: { detail: 'Request body exceeds the limit of 1048576 bytes.' } };
    let text: string;
    beforeAll(async () => {
      text = JSON.stringify(orderOf([{ product_id: await load('1'), quantity: 1 }]));
    });

    it.each([1024 * 1024 + 1, 5 * 1024 * 1024])('rejects a body of %d bytes', async (bytes) => {
      await expectRefusal(() => sendText(text.padEnd(bytes)), tooLarge);
    });

    it.each([1024 * 1024 + 1, 5 * 1024 * 1024])(
      'rejects a body of %d bytes without Content-Length',
      async (bytes) => {
        await expectRefusal(() => sendChunked(text.padEnd(bytes).match(/.{1,60000}/gs)!), tooLarge);
      },
    );

    it('rejects a too large body by its Content-Length, before it is sent', async () => {
      await expectRefusal(async () => {
        const { status, text: body } = await sendRaw(service.url, {
          method: 'POST',
          path: '/orders',
          headers: {
            'x-api-key': testKey,
            'content-type': 'application/json',
            'content-length': 1024 * 1024 + 1,
          },
          chunks: ['not JSON'],
          unfinished: true,
        });
        return { status, body: JSON.parse(body) as unknown };
      }, tooLarge);
    });
  });

  describe('415', () => {
    const unsupported = {
      status: 415,
      body: { detail: 'Unsupported media type. Send the body as application/json.' },
    };
    let text: string;
    beforeAll(async () => {
      text = JSON.stringify(orderOf([{ product_id: await load('1'), quantity: 1 }]));
    });

    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/xml',
      'text/json',
      'application/*',
      'json',
      null,
    ])('rejects a body of the media type %s', async (contentType) => {
      await expectRefusal(() => sendText(text, contentType), unsupported);
    });

    it('precedes the checks of content and size', async () => {
      await expectRefusal(() => sendText('{', 'text/plain'), unsupported);
      await expectRefusal(() => sendText(' '.repeat(2 * 1024 * 1024), 'text/plain'), unsupported);
    });
  });

  describe('422', () => {
    const item = { product_id: 'PR00001', quantity: 1 };
    const withQuantity = (quantity: unknown) => ({
      partner_name: 'Acme',
      items: [{ product_id: 'PR00001', quantity }],
    });
    const withName = (partner_name: unknown) => ({ partner_name, items: [item] });

    const missing = (loc: (string | number)[], input: unknown) => ({
      type: 'missing',
      loc,
      msg: 'Field required',
      input,
    });
    const wrong = (type: string, expected: string, loc: (string | number)[], input: unknown) => ({
      type,
      loc,
      msg: `Input should be a valid ${expected}`,
      input,
    });
    const notAString = (loc: (string | number)[], input: unknown) =>
      wrong('string_type', 'string', loc, input);
    const notAnInteger = (loc: (string | number)[], input: unknown) =>
      wrong('int_type', 'integer', loc, input);
    const notAList = (loc: (string | number)[], input: unknown) => wrong('list_type', 'list', loc, input);
    const notAnObject = (loc: (string | number)[], input: unknown) =>
      wrong('dict_type', 'object', loc, input);
    const tooSmall = (loc: (string | number)[], input: unknown) => ({
      type: 'greater_than_equal',
      loc,
      msg: 'Input should be greater than or equal to 1',
      input,
      ctx: { ge: 1 },
    });
    const tooLarge = (loc: (string | number)[], input: unknown) => ({
      type: 'less_than_equal',
      loc,
      msg: 'Input should be less than or equal to 1000000',
      input,
      ctx: { le: 1_000_000 },
    });
    const tooLong = (loc: (string | number)[], input: unknown) => ({
      type: 'string_too_long',
      loc,
      msg: 'String should have at most 255 characters',
      input,
      ctx: { max_length: 255 },
    });
    const tooShort = (loc: (string | number)[], input: unknown) => ({
      type: 'string_too_short',
      loc,
      msg: 'String should have at least 1 character',
      input,
      ctx: { min_length: 1 },
    });
    const mismatch = (loc: (string | number)[], input: unknown, pattern: string) => ({
      type: 'string_pattern_mismatch',
      loc,
      msg: `String should match pattern '${pattern}'`,
      input,
      ctx: { pattern },
    });
    const referencePattern = String.raw`^[^\u0000]*$`;

    const quantity = ['body', 'items', 0, 'quantity'];
    const name = ['body', 'partner_name'];
    const reference = ['body', 'customer_reference'];

    it.each<[string, unknown, (body: unknown) => unknown[]]>([
      ['no partner_name', { items: [item] }, (body) => [missing(name, body)]],
      ['no items', { partner_name: 'A' }, (body) => [missing(['body', 'items'], body)]],
      ['nothing', {}, (body) => [missing(name, body), missing(['body', 'items'], body)]],
      [
        'an item without product_id',
        { partner_name: 'A', items: [item, { quantity: 1 }] },
        () => [missing(['body', 'items', 1, 'product_id'], { quantity: 1 })],
      ],
      [
        'an item without quantity',
        { partner_name: 'A', items: [{ product_id: 'PR00001' }] },
        () => [missing(quantity, { product_id: 'PR00001' })],
      ],
      ['items null', { partner_name: 'A', items: null }, () => [notAList(['body', 'items'], null)]],
      [
        'items an object',
        { partner_name: 'A', items: { 0: item } },
        () => [notAList(['body', 'items'], { 0: item })],
      ],
      [
        'items a string',
        { partner_name: 'A', items: 'PR00001' },
        () => [notAList(['body', 'items'], 'PR00001')],
      ],
      ['an item null', { partner_name: 'A', items: [null] }, () => [notAnObject(['body', 'items', 0], null)]],
      [
        'an item a string',
        { partner_name: 'A', items: ['PR00001'] },
        () => [notAnObject(['body', 'items', 0], 'PR00001')],
      ],
      [
        'an item a list',
        { partner_name: 'A', items: [[item]] },
        () => [notAnObject(['body', 'items', 0], [item])],
      ],
      ['quantity 0', withQuantity(0), () => [tooSmall(quantity, 0)]],
      ['quantity -1', withQuantity(-1), () => [tooSmall(quantity, -1)]],
      ['quantity 1.5', withQuantity(1.5), () => [notAnInteger(quantity, 1.5)]],
      ['quantity "2"', withQuantity('2'), () => [notAnInteger(quantity, '2')]],
      ['quantity null', withQuantity(null), () => [notAnInteger(quantity, null)]],
      ['quantity true', withQuantity(true), () => [notAnInteger(quantity, true)]],
      ['quantity [1]', withQuantity([1]), () => [notAnInteger(quantity, [1])]],
      ['quantity 1000001', withQuantity(1_000_001), () => [tooLarge(quantity, 1_000_001)]],
      ['quantity 1e300', withQuantity(1e300), () => [tooLarge(quantity, 1e300)]],
      [
        'product_id a number',
        { partner_name: 'A', items: [{ product_id: 1, quantity: 1 }] },
        () => [notAString(['body', 'items', 0, 'product_id'], 1)],
      ],
      [
        'product_id null',
        { partner_name: 'A', items: [{ product_id: null, quantity: 1 }] },
        () => [notAString(['body', 'items', 0, 'product_id'], null)],
      ],
      ['partner_name null', withName(null), () => [notAString(name, null)]],
      ['partner_name a number', withName(5), () => [notAString(name, 5)]],
      ['partner_name a list', withName(['A']), () => [notAString(name, ['A'])]],
      [
        'customer_reference a number',
        { ...withName('A'), customer_reference: 5 },
        () => [notAString(reference, 5)],
      ],
      [
        'customer_reference of 256',
        { ...withName('A'), customer_reference: 'é'.repeat(256) },
        () => [tooLong(reference, 'é'.repeat(256))],
      ],
      [
        'customer_reference with a NUL',
        { ...withName('A'), customer_reference: '\0' },
        () => [mismatch(reference, '\0', referencePattern)],
      ],
      ['a body that is a list', [], (body) => [notAnObject(['body'], body)]],
      ['a body that is a list of orders', [withName('A')], (body) => [notAnObject(['body'], body)]],
      ['a body that is a string', 'order', (body) => [notAnObject(['body'], body)]],
      ['a body that is a number', 5, (body) => [notAnObject(['body'], body)]],
      ['a body that is true', true, (body) => [notAnObject(['body'], body)]],
      ['a body that is null', null, (body) => [notAnObject(['body'], body)]],
    ])('reports the error: %s', async (_, body, entries) => {
      await expectRefusal(() => service.api.post('/orders', body), {
        status: 422,
        body: { detail: entries(body) },
      });
    });

    it('reports all errors at once', async () => {
      const body = {
        customer_reference: 7,
        items: [{ quantity: 0 }, { product_id: 1 }, item, { product_id: 'PR00001', quantity: 'x' }, null],
      };
      const before = await storedRows();

      const { status, body: answer } = await service.api.post('/orders', body);

      expect(status).toBe(422);
      const entries = [
        missing(name, body),
        notAString(reference, 7),
        missing(['body', 'items', 0, 'product_id'], { quantity: 0 }),
        tooSmall(['body', 'items', 0, 'quantity'], 0),
        notAString(['body', 'items', 1, 'product_id'], 1),
        missing(['body', 'items', 1, 'quantity'], { product_id: 1 }),
        notAnInteger(['body', 'items', 3, 'quantity'], 'x'),
        notAnObject(['body', 'items', 4], null),
      ];
      expect(answer.detail).toHaveLength(entries.length);
      expect(answer).toEqual({ detail: expect.arrayContaining(entries) });
      expect(await storedRows()).toEqual(before);
    });

    it('accepts at most 1,000 items', async () => {
      const product_id = await load('1');
      const items = Array.from({ length: 1_001 }, () => ({ product_id, quantity: 1 }));
      const before = await storedRows();

      const { status, body } = await order(items);

      expect(status).toBe(422);
      expect(body).toEqual({
        detail: [
          {
            type: 'too_long',
            loc: ['body', 'items'],
            msg: expect.stringMatching(/^List should have at most 1000 items/),
            input: null,
            ctx: expect.objectContaining({ max_length: 1_000 }),
          },
        ],
      });
      expect(await storedRows()).toEqual(before);
    });

    it('reports other errors among the first 1,001 items', async () => {
      const items: object[] = Array.from({ length: 5_000 }, () => item);
      items[7] = { ...item, quantity: 0 };
      items[1_002] = { ...item, quantity: 0 };

      const { status, body } = await service.api.post('/orders', { partner_name: ' ', items });

      expect(status).toBe(422);
      expect(body.detail).toHaveLength(3);
      expect(body.detail).toEqual(
        expect.arrayContaining([
          tooShort(name, ' '),
          tooSmall(['body', 'items', 7, 'quantity'], 0),
          expect.objectContaining({ type: 'too_long', loc: ['body', 'items'], input: null }),
        ]),
      );
    });

    it('is short for a body with many errors', async () => {
      const body = `{"partner_name":"Acme","items":[${'{},'.repeat(300_000)}{}]}`;
      const sent = performance.now();

      const response = await sendText(body);

      expect(response.status).toBe(422);
      expect(response.body.detail).toHaveLength(2 * 1_001 + 1);
      expect(performance.now() - sent).toBeLessThan(10_000);
    });

    const absent = { status: 422, body: { detail: [missing(['body'], null)] } };

    it.each<Record<string, string>>([{}, { 'content-type': 'application/json' }])(
      'requires a body, with the headers %j',
      async (headers) => {
        await expectRefusal(() => service.api.post('/orders', undefined, headers), absent);
      },
    );

    it('requires a body, also if an empty one has no Content-Length', async () => {
      await expectRefusal(() => sendChunked([]), absent);
    });

    it('precedes 404 and 409', async () => {
      await expectRefusal(() => service.api.post('/orders', withQuantity(0)), {
        status: 422,
        body: { detail: [tooSmall(quantity, 0)] },
      });
    });

    it.each([32, 100_000])('rejects a body nested %i levels deep', async (depth) => {
      const text = `{"items":[],"extra":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      const before = await storedRows();

      const response = await sendText(text);

      expect([response.status, response.body]).toEqual([
        422,
        {
          detail: [
            {
              type: 'nesting_too_deep',
              loc: ['body'],
              msg: 'Input should be nested at most 32 levels deep',
              input: null,
              ctx: { max_depth: 32 },
            },
          ],
        },
      ]);
      expect(await storedRows()).toEqual(before);
    });
  });
});
