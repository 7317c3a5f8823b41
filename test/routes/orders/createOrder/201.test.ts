import { aTimestamp } from '../../../support/expectations';
import { loadProducts } from '../../../support/catalog';
import { onLocalProducts } from '../../../support/local-products';
import { startTestService } from '../../../support/service';
import { service, load, loadEach, orderOf, ordered, products, sendText, sendChunked } from './requests';

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

    onLocalProducts(it, 'products cannot be locked without their partner')(
      'does not wait for a concurrent change of its products',
      async () => {
        const product = await load('24.50');
        const change = await service.db.transaction();
        await change.raw('select * from products for update');

        const { items } = await ordered([{ product_id: product, quantity: 2 }]);

        expect(items).toMatchObject([{ product_id: product, line_total: 49 }]);
        await change.rollback();
      },
    );

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
      const [source] = await service
        .db('products')
        .where('product_id', Number(product.slice(2)))
        .select('run_id', 'feed_id', 'record_offset');
      expect(source).toMatchObject({ feed_id: expect.any(Number), record_offset: expect.any(Number) });
      expect(await service.db('order_items').where({ order_id: Number(order_id.slice(2)) })).toEqual([
        {
          ...source,
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

      // The clocks of two processes on one machine.
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
    ])('stores a customer reference that is %s', async (_, reference, expected) => {
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

    it('accepts JSON in UTF-8, for any case and parameters of its media type', async () => {
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
      it('is the currency of the products', async () => {
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

      it('is the default currency of the service if the products have none', async () => {
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
});
