import { aTimestamp } from '../../../support/expectations';
import type { ApiResponse } from '../../../support/api-client';
import { loadProducts } from '../../../support/catalog';
import { sendRaw } from '../../../support/requests';
import { startTestService, testKey, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Every product of these tests has a sku of its own. */
let products = 0;
async function load(
  price: string,
  values: { currency?: string; availability?: string } = {},
): Promise<string> {
  const { productIds } = await loadProducts(service, [{ sku: `SKU-${++products}`, price, ...values }]);
  return productIds[0];
}

/** Loads one product per value, by one feed. @returns their ids by value */
async function loadEach<T extends string | undefined>(
  column: 'price' | 'availability',
  values: readonly T[],
): Promise<Map<T, string>> {
  const rows = values.map((value) => ({ sku: `SKU-${++products}`, price: '1', [column]: value ?? '' }));
  const { productIds } = await loadProducts(service, rows);
  return new Map(values.map((value, index) => [value, productIds[index]!]));
}

type Items = { product_id: string; quantity: number }[];
const orderOf = (items: Items) => ({ partner_name: 'Acme Outdoor', items });
const order = (items: Items) => service.api.post('/orders', orderOf(items));

/** Sends a valid order. */
async function ordered(items: Items): Promise<ApiResponse['body']> {
  const { status, body } = await order(items);
  expect({ status, body }).toEqual({ status: 201, body: expect.anything() });
  return body;
}

/** How many orders and lines there are, and the last of them. */
async function storedRows(): Promise<unknown> {
  const { rows } = await service.db.raw<{ rows: unknown[] }>(
    `select * from (select count(*) as orders, max(order_id) as last_order from orders) as orders,
       (select count(*) as items, max(order_item_id) as last_item from order_items) as items`,
  );
  return rows[0];
}

/** Sends an invalid order: checks the exact response, and that nothing was stored. */
async function expectRefusal(
  send: () => Promise<{ status: number; body: unknown }>,
  expected: { status: number; body: unknown },
): Promise<void> {
  const before = await storedRows();
  const { status, body } = await send();
  expect({ status, body }).toEqual(expected);
  expect(await storedRows()).toEqual(before);
}

/** Sends a text as it is. */
function sendText(text: string | Uint8Array, contentType: string | null = 'application/json') {
  const headers: Record<string, string> = contentType === null ? {} : { 'content-type': contentType };
  // A typed array brings no media type of its own.
  const body = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  return service.api.send('POST', '/orders', { headers, body });
}

/** Sends a body in chunks, without its length. */
async function sendChunked(chunks: string[]) {
  const { status, text } = await sendRaw(service.url, {
    method: 'POST',
    path: '/orders',
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    chunks,
  });
  return { status, body: JSON.parse(text) as unknown };
}

describe('POST /orders', () => {
  describe('201', () => {
    it('creates an order with its items, copied from the products', async () => {
      const { productIds } = await loadProducts(
        service,
        [
          { sku: 'TENT-2', product_name: 'Two-person tent', price: '189.90', currency: 'EUR' },
          { sku: '007', product_name: 'Head “lamp”', price: '24.5', currency: 'EUR' },
        ],
        'Birch & Sons',
      );

      const { status, headers, body } = await service.api.post('/orders', {
        partner_name: 'Birch & Sons',
        customer_reference: 'PO-2026-0815',
        items: [
          { product_id: productIds[0], quantity: 2 },
          { product_id: productIds[1], quantity: 1 },
        ],
      });

      expect(status).toBe(201);
      expect(body).toEqual({
        order_id: expect.stringMatching(/^OR\d{5}$/),
        partner_name: 'Birch & Sons',
        customer_reference: 'PO-2026-0815',
        status: 'created',
        total_amount: 404.3,
        currency: 'EUR',
        created_at: aTimestamp,
        items: [
          {
            order_item_id: expect.stringMatching(/^OI\d{5}$/),
            product_id: productIds[0],
            sku: 'TENT-2',
            product_name: 'Two-person tent',
            quantity: 2,
            unit_price: 189.9,
            line_total: 379.8,
          },
          {
            order_item_id: expect.stringMatching(/^OI\d{5}$/),
            product_id: productIds[1],
            sku: '007',
            product_name: 'Head “lamp”',
            quantity: 1,
            unit_price: 24.5,
            line_total: 24.5,
          },
        ],
      });
      expect(headers.get('location')).toBe(`/orders/${body.order_id}`);
      expect((await service.api.get(`/orders/${body.order_id}`)).body).toEqual(body);
    });

    it('does not wait for a concurrent change of its products', async () => {
      const product = await load('24.50');
      const change = await service.db.transaction();
      await change.raw('select * from products for update');

      const { items } = await ordered([{ product_id: product, quantity: 2 }]);

      expect(items).toMatchObject([{ product_id: product, line_total: 49 }]);
      await change.rollback();
    });

    it('stores the order and its items', async () => {
      const product = await load('19.9999', { currency: 'CHF' });

      const { order_id, items } = await ordered([{ product_id: product, quantity: 3 }]);

      const stored = await service.db('orders').where({ order_id: Number(order_id.slice(2)) });
      expect(stored).toEqual([
        {
          order_id: Number(order_id.slice(2)),
          partner_name: 'Acme Outdoor',
          customer_reference: null,
          status: 'created',
          total_amount: '59.9997',
          currency: 'CHF',
          created_at: expect.any(Date),
          transaction_id: expect.stringMatching(/^\d+$/),
        },
      ]);
      expect(await service.db('order_items').where({ order_id: Number(order_id.slice(2)) })).toEqual([
        {
          order_item_id: Number(items[0].order_item_id.slice(2)),
          order_id: Number(order_id.slice(2)),
          product_id: Number(product.slice(2)),
          sku: `SKU-${products}`,
          product_name: `SKU-${products}`,
          quantity: 3,
          unit_price: '19.9999',
          line_total: '59.9997',
        },
      ]);
    });

    it('has the current time, in UTC', async () => {
      const product = await load('1');
      const before = Date.now();

      const { created_at } = await ordered([{ product_id: product, quantity: 1 }]);

      // The clocks of two processes, on one machine.
      expect(Date.parse(created_at)).toBeGreaterThan(before - 1_000);
      expect(Date.parse(created_at)).toBeLessThan(Date.now() + 1_000);
    });

    describe('amounts', () => {
      // In binary floating point most of these are off.
      const amounts: [price: string, quantity: number, amount: number, stored: string][] = [
        ['0.1', 3, 0.3, '0.3000'],
        ['19.99', 7, 139.93, '139.9300'],
        ['1.1', 3, 3.3, '3.3000'],
        ['4.35', 100, 435, '435.0000'],
        ['1.005', 1_000, 1005, '1005.0000'],
        ['0.0001', 1_000_000, 100, '100.0000'],
        ['0.0003', 1, 0.0003, '0.0003'],
        ['33.3333', 3, 99.9999, '99.9999'],
        ['1234.5678', 999_999, 1234566565.4322, '1234566565.4322'],
        ['0', 5, 0, '0.0000'],
        ['999999999999.9999', 1_000_000, 999999999999999900, '999999999999999900.0000'],
      ];
      let productOf: Map<string, string>;
      beforeAll(async () => {
        productOf = await loadEach(
          'price',
          amounts.map(([price]) => price),
        );
      });

      it.each(amounts)('%s times %d is %d, exactly', async (price, quantity, amount, stored) => {
        const body = await ordered([{ product_id: productOf.get(price)!, quantity }]);

        expect(body.items[0]).toMatchObject({ unit_price: Number(price), quantity, line_total: amount });
        expect(body.total_amount).toBe(amount);
        const [row] = await service.db('orders').where({ order_id: Number(body.order_id.slice(2)) });
        expect(row.total_amount).toBe(stored);
      });
    });

    it('sums the line totals exactly', async () => {
      const [cent, dime, quarter] = [await load('0.01'), await load('0.1'), await load('0.2')];

      const { total_amount } = await ordered([
        { product_id: dime, quantity: 1 },
        { product_id: quarter, quantity: 1 },
      ]);
      const many = await ordered(Array.from({ length: 1_000 }, () => ({ product_id: cent, quantity: 7 })));

      expect(total_amount).toBe(0.3);
      expect(many.total_amount).toBe(70);
      expect(many.items).toHaveLength(1_000);
    });

    it('keeps its copies when the products change', async () => {
      const { productIds } = await loadProducts(service, [
        { sku: 'LATER', product_name: 'Before', price: '10', availability: 'in_stock' },
      ]);
      const before = await ordered([{ product_id: productIds[0], quantity: 2 }]);

      await loadProducts(service, [
        { sku: 'LATER', product_name: 'After', price: '99', availability: 'in_stock', currency: 'EUR' },
      ]);
      const after = await ordered([{ product_id: productIds[0], quantity: 2 }]);

      expect((await service.api.get(`/orders/${before.order_id}`)).body).toEqual(before);
      expect(before).toMatchObject({
        total_amount: 20,
        currency: 'USD',
        items: [{ product_name: 'Before', unit_price: 10 }],
      });
      expect(after).toMatchObject({
        total_amount: 198,
        currency: 'EUR',
        items: [{ product_name: 'After', unit_price: 99 }],
      });
    });

    it('keeps two lines of the same product, in the given order', async () => {
      const [a, b] = [await load('2'), await load('3')];

      const body = await ordered([
        { product_id: b, quantity: 1 },
        { product_id: a, quantity: 2 },
        { product_id: b, quantity: 5 },
      ]);

      expect(body.items).toMatchObject([
        { product_id: b, quantity: 1, line_total: 3 },
        { product_id: a, quantity: 2, line_total: 4 },
        { product_id: b, quantity: 5, line_total: 15 },
      ]);
      const itemIds: string[] = body.items.map((item: { order_item_id: string }) => item.order_item_id);
      expect([...new Set(itemIds)].sort()).toEqual(itemIds);
      expect(body.total_amount).toBe(22);
    });

    it('accepts products of any partner', async () => {
      const { productIds: theirs } = await loadProducts(service, [{ sku: 'X', price: '5' }], 'Theirs');
      const { productIds: ours } = await loadProducts(service, [{ sku: 'X', price: '6' }], 'Ours');

      const { status, body } = await service.api.post('/orders', {
        partner_name: 'Partner without a feed',
        items: [...theirs, ...ours].map((product_id) => ({ product_id, quantity: 1 })),
      });

      expect(status).toBe(201);
      expect(body).toMatchObject({ partner_name: 'Partner without a feed', total_amount: 11 });
    });

    it.each([
      ['absent', {}, null],
      ['null', { customer_reference: null }, null],
      ['given', { customer_reference: ' PO “1”\n' }, ' PO “1”\n'],
      ['of 255 characters', { customer_reference: '😀'.repeat(255) }, '😀'.repeat(255)],
    ])('keeps a customer reference that is %s', async (_, reference, expected) => {
      const items = [{ product_id: await load('1'), quantity: 1 }];

      const { status, body } = await service.api.post('/orders', { ...orderOf(items), ...reference });

      expect(status).toBe(201);
      expect(body.customer_reference).toBe(expected);
      const { body: read } = await service.api.get(`/orders/${body.order_id}`);
      expect(read.customer_reference).toBe(expected);
    });

    it.each([
      ['  Acme Outdoor ', 'Acme Outdoor'],
      ['\u3000Acme\u00a0', 'Acme'],
      ['😀'.repeat(255), '😀'.repeat(255)],
      ['é', 'é'],
    ])('trims the name of the partner: %j', async (name, expected) => {
      const items = [{ product_id: await load('1'), quantity: 1 }];

      const { status, body } = await service.api.post('/orders', { partner_name: name, items });

      expect(status).toBe(201);
      expect(body.partner_name).toBe(expected);
    });

    it('ignores additional fields', async () => {
      const product = await load('2.5');

      const { status, body } = await service.api.post('/orders', {
        order_id: 'OR99999',
        status: 'shipped',
        total_amount: 0,
        currency: 'JPY',
        partner_name: 'Acme Outdoor',
        items: [{ product_id: product, quantity: 2, unit_price: 0, sku: 'other', nested: { deep: [1] } }],
      });

      expect(status).toBe(201);
      expect(body).toMatchObject({ status: 'created', total_amount: 5, currency: 'USD' });
      expect(body.order_id).not.toBe('OR99999');
      expect(body.items[0]).toMatchObject({ unit_price: 2.5, sku: `SKU-${products}` });
    });

    it('ignores additional fields, nested up to the limit', async () => {
      const deep = '['.repeat(31) + ']'.repeat(31);
      const text = JSON.stringify({ ...orderOf([{ product_id: await load('1'), quantity: 1 }]), extra: 0 });

      expect((await sendText(text.replace('"extra":0', `"extra":${deep}`))).status).toBe(201);
    });

    it('accepts JSON in UTF-8, whatever case and parameters its media type has', async () => {
      const text = JSON.stringify({ ...orderOf([{ product_id: await load('1'), quantity: 1 }]) });

      for (const contentType of [
        'application/json; charset=utf-8',
        'Application/JSON',
        'application/json;x=y',
      ]) {
        expect((await sendText(text.replace('Acme', 'Ácme 😀'), contentType)).body).toMatchObject({
          partner_name: 'Ácme 😀 Outdoor',
        });
      }
    });

    it('accepts a body without Content-Length', async () => {
      const text = JSON.stringify(orderOf([{ product_id: await load('1'), quantity: 1 }]));

      expect(await sendChunked([text.slice(0, 10), text.slice(10)])).toMatchObject({ status: 201 });
    });

    it('accepts a body of 1 MiB', async () => {
      const text = JSON.stringify(orderOf([{ product_id: await load('1'), quantity: 1 }]));

      expect((await sendText(text.padEnd(1024 * 1024))).status).toBe(201);
      expect((await sendChunked([text.padEnd(1024 * 1024)])).status).toBe(201);
    });

    it('assigns concurrent orders distinct ids', async () => {
      const product = await load('1');
      const items = [
        { product_id: product, quantity: 1 },
        { product_id: product, quantity: 2 },
      ];

      const bodies = await Promise.all(Array.from({ length: 30 }, () => ordered(items)));

      expect(new Set(bodies.map((body) => body.order_id)).size).toBe(30);
      const itemIds = bodies.flatMap((body) =>
        body.items.map((item: { order_item_id: string }) => item.order_item_id),
      );
      expect(new Set(itemIds).size).toBe(60);
      for (const body of bodies) {
        expect((await service.api.get(`/orders/${body.order_id}`)).body).toEqual(body);
      }
    });

    it('continues beyond OR99999 and OI99999', async () => {
      const own = await startTestService();
      const { productIds } = await loadProducts(own, [{ sku: 'A', price: '1' }]);
      await own.db.raw("select setval(pg_get_serial_sequence('orders', 'order_id'), 99999)");
      await own.db.raw("select setval(pg_get_serial_sequence('order_items', 'order_item_id'), 99999)");

      const { body, headers } = await own.api.post(
        '/orders',
        orderOf([{ product_id: productIds[0], quantity: 1 }]),
      );

      expect(body).toMatchObject({ order_id: 'OR100000', items: [{ order_item_id: 'OI100000' }] });
      expect(headers.get('location')).toBe('/orders/OR100000');
    });

    describe('availability', () => {
      const words = [
        'in_stock',
        'available',
        'limited_stock',
        'low_stock',
        'preorder',
        'backorder',
        undefined,
      ];
      const spellings = [
        'In Stock',
        'instock',
        'IN-STOCK',
        'Pre-Order',
        'pre order',
        'Back Order',
        'Limited Stock',
      ];
      let productOf: Map<string | undefined, string>;
      beforeAll(async () => {
        productOf = await loadEach('availability', [...words, ...spellings]);
      });

      it.each(words)('accepts a product that is %s', async (word) => {
        await ordered([{ product_id: productOf.get(word)!, quantity: 1_000_000 }]);
      });

      it.each(spellings)('accepts a product that a feed calls %s', async (spelling) => {
        await ordered([{ product_id: productOf.get(spelling)!, quantity: 1 }]);
      });
    });

    describe('currency', () => {
      it('is that of the products', async () => {
        const product = await load('1', { currency: 'JPY' });

        expect(await ordered([{ product_id: product, quantity: 1 }])).toMatchObject({ currency: 'JPY' });
      });

      it('is USD for products without a currency, and mixes with USD', async () => {
        const [none, dollars] = [await load('1'), await load('1', { currency: 'USD' })];

        expect(await ordered([{ product_id: none, quantity: 1 }])).toMatchObject({ currency: 'USD' });
        expect(
          await ordered([
            { product_id: none, quantity: 1 },
            { product_id: dollars, quantity: 1 },
          ]),
        ).toMatchObject({ currency: 'USD', total_amount: 2 });
      });

      it("is the service's own default where the products have none", async () => {
        const own = await startTestService({ defaultCurrency: 'CHF' });
        const { productIds } = await loadProducts(own, [
          { sku: 'NONE', price: '1' },
          { sku: 'CHF', price: '1', currency: 'CHF' },
          { sku: 'USD', price: '1', currency: 'USD' },
        ]);
        const lines = productIds.map((product_id) => ({ product_id, quantity: 1 }));

        const alone = await own.api.post('/orders', orderOf(lines.slice(0, 1)));
        const withFrancs = await own.api.post('/orders', orderOf(lines.slice(0, 2)));
        const withDollars = await own.api.post('/orders', orderOf([lines[0]!, lines[2]!]));

        expect(alone.body).toMatchObject({ currency: 'CHF' });
        expect(withFrancs.body).toMatchObject({ currency: 'CHF', total_amount: 2 });
        expect({ status: withDollars.status, body: withDollars.body }).toEqual({
          status: 400,
          body: { detail: 'Order items must share one currency.' },
        });
      });
    });
  });

  describe('400', () => {
    const noItems = { status: 400, body: { detail: 'Order must contain at least one item.' } };
    const mixed = { status: 400, body: { detail: 'Order items must share one currency.' } };
    const malformed = { status: 400, body: { detail: 'Malformed JSON in request body.' } };

    it.each([
      { partner_name: 'Acme Outdoor', items: [] },
      { items: [] },
      { partner_name: '', customer_reference: 5, items: [] },
    ])('refuses an order without items, whatever else is wrong with it: %j', async (body) => {
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

    it.each([
      '{',
      '{"partner_name":',
      'partner_name=Acme',
      "{'items':[]}",
      '[1,]',
      '{} {}',
      ' ',
      'undefined',
      '"',
    ])('refuses a body that is not JSON: %j', async (text) => {
      await expectRefusal(() => sendText(text), malformed);
    });
  });

  describe('404', () => {
    beforeAll(() => load('1'));

    it.each([
      'PR99999',
      'PR00000',
      'PR1',
      'pr00001',
      'FD00001',
      'PR000001',
      'PR00001 ',
      'PR00001\0',
      'PR99999999999999999999',
      'PR999999999999999',
      '1',
      '',
      '😀',
      '__proto__',
    ])('refuses a product that does not exist: %j', async (id) => {
      await expectRefusal(() => order([{ product_id: id, quantity: 1 }]), {
        status: 404,
        body: { detail: `Product not found: ${id}` },
      });
    });
  });

  describe('409', () => {
    const notAvailable = (id: string) => ({
      status: 409,
      body: { detail: `Product is not available: ${id}` },
    });

    const words = [
      'out_of_stock',
      'outofstock',
      'Out of Stock',
      'discontinued',
      'sold_out',
      'unavailable',
      'not_available',
      'in_stock_soon',
      'in stock!',
      'yes',
      'constructor',
    ];
    let productOf: Map<string, string>;
    beforeAll(async () => {
      productOf = await loadEach('availability', words);
    });

    it.each(words)('rejects a product that is %s', async (word) => {
      const product = productOf.get(word)!;

      await expectRefusal(() => order([{ product_id: product, quantity: 1 }]), notAvailable(product));
    });

    it.each([undefined, 'in_stock'])(
      'rejects a product without a price, available or not',
      async (availability) => {
        const product = await load('', { availability });

        await expectRefusal(() => order([{ product_id: product, quantity: 1 }]), notAvailable(product));
      },
    );

    it('follows the availability of later feeds', async () => {
      const rows = (availability: string) => [{ sku: 'GONE', price: '1', availability }] as const;
      const { productIds } = await loadProducts(service, rows('in_stock'));
      await ordered([{ product_id: productIds[0], quantity: 1 }]);

      await loadProducts(service, rows('out_of_stock'));
      await expectRefusal(
        () => order([{ product_id: productIds[0], quantity: 1 }]),
        notAvailable(productIds[0]),
      );

      await loadProducts(service, rows('in_stock'));
      await ordered([{ product_id: productIds[0], quantity: 1 }]);
    });
  });

  describe('of several items', () => {
    let id: Record<'good' | 'euros' | 'gone' | 'priceless' | 'unknown' | 'other', string>;
    beforeAll(async () => {
      id = {
        good: await load('1'),
        euros: await load('1', { currency: 'EUR' }),
        gone: await load('1', { availability: 'out_of_stock' }),
        priceless: await load(''),
        unknown: 'PR99998',
        other: 'PR99999',
      };
    });

    it.each<[(keyof typeof id)[], number, string, keyof typeof id | undefined]>([
      [['good', 'unknown'], 404, 'Product not found: ', 'unknown'],
      [['unknown', 'other'], 404, 'Product not found: ', 'unknown'],
      [['other', 'unknown'], 404, 'Product not found: ', 'other'],
      [['gone', 'unknown'], 409, 'Product is not available: ', 'gone'],
      [['unknown', 'gone'], 404, 'Product not found: ', 'unknown'],
      [['good', 'priceless', 'gone', 'unknown'], 409, 'Product is not available: ', 'priceless'],
      [['good', 'gone', 'priceless'], 409, 'Product is not available: ', 'gone'],
      [['good', 'good', 'good', 'gone'], 409, 'Product is not available: ', 'gone'],
      // The currencies are compared when every item is known to be orderable.
      [['good', 'euros', 'unknown'], 404, 'Product not found: ', 'unknown'],
      [['good', 'euros', 'gone'], 409, 'Product is not available: ', 'gone'],
      [['good', 'euros', 'good'], 400, 'Order items must share one currency.', undefined],
    ])('the first that fails decides, and nothing is stored: %j', async (items, status, text, failing) => {
      const lines = items.map((name) => ({ product_id: id[name], quantity: 1 }));

      await expectRefusal(() => order(lines), {
        status,
        body: { detail: text + (failing ? id[failing] : '') },
      });
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
    ])('refuses a body of the media type %s', async (contentType) => {
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
    const namePattern = String.raw`^[^\u0000-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F][^\u0000-\u001F\u007F-\u009F]*$`;
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
      ['partner_name blank', withName('   '), () => [tooShort(name, '   ')]],
      ['partner_name wide blanks', withName('\u3000\u00a0'), () => [tooShort(name, '\u3000\u00a0')]],
      ['partner_name with a NUL', withName('a\0b'), () => [mismatch(name, 'a\0b', namePattern)]],
      ['partner_name with a line break', withName('a\nb'), () => [mismatch(name, 'a\nb', namePattern)]],
      ['partner_name with DEL', withName('a\x7fb'), () => [mismatch(name, 'a\x7fb', namePattern)]],
      ['partner_name with C1', withName('a\x85b'), () => [mismatch(name, 'a\x85b', namePattern)]],
      ['partner_name of 256', withName('x'.repeat(256)), () => [tooLong(name, 'x'.repeat(256))]],
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
    ])('names what is wrong: %s', async (_, body, entries) => {
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

    it('rejects an empty partner_name', async () => {
      const before = await storedRows();

      const { status, body } = await service.api.post('/orders', withName(''));

      expect(status).toBe(422);
      expect(body).toEqual({
        detail: expect.arrayContaining([
          {
            type: 'string_too_short',
            loc: name,
            msg: 'String should have at least 1 character',
            input: '',
            ctx: { min_length: 1 },
          },
        ]),
      });
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
