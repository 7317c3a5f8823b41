import fc from 'fast-check';
import type { ApiResponse } from '../../support/api-client';
import {
  pagesOf,
  walk as walkPages,
  filterTwice,
  holdsNul,
  limitTwice,
  wrongLimits,
} from '../../support/expectations';
import { loadProducts } from '../../support/catalog';
import { casesFor } from '../../support/fuzz';
import { startTestService, type TestService } from '../../support/service';

async function place(
  service: TestService,
  productId: string,
  { partnerName = 'Acme Outdoor', createdAt }: { partnerName?: string; createdAt?: string } = {},
): Promise<ApiResponse['body']> {
  const { status, body } = await service.api.post('/orders', {
    partner_name: partnerName,
    items: [{ product_id: productId, quantity: 1 }],
  });
  expect(status).toBe(201);
  if (createdAt === undefined) return body;
  await service
    .db('orders')
    .where({ order_id: Number(body.order_id.slice(2)) })
    .update({ created_at: createdAt });
  return { ...body, created_at: new Date(createdAt).toISOString() };
}

const list = (service: TestService, query: Record<string, string> = {}) =>
  service.api.get(`/orders?${new URLSearchParams(query).toString()}`);

const walk = ({ api }: TestService, query: Record<string, string>, cursor?: string) =>
  walkPages(api, '/orders', 'order_id', query, cursor);

async function startWithProduct(): Promise<{ service: TestService; productId: string }> {
  const service = await startTestService();
  const { productIds } = await loadProducts(service, [{ sku: 'A', price: '1.5', currency: 'EUR' }]);
  return { service, productId: productIds[0] };
}

describe('GET /orders', () => {
  describe('200', () => {
    it('is an empty list without orders', async () => {
      const { service } = await startWithProduct();

      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(body).toEqual({ count: 0, items: [] });
    });

    it('returns orders with their items, newest first', async () => {
      const service = await startTestService();
      const { productIds } = await loadProducts(service, [
        { sku: 'A', price: '1.5' },
        { sku: 'B', price: '2.25' },
      ]);
      const place = async (items: { product_id: string; quantity: number }[]) =>
        (await service.api.post('/orders', { partner_name: 'Acme', customer_reference: 'PO', items })).body;
      const first = await place([
        { product_id: productIds[1], quantity: 3 },
        { product_id: productIds[0], quantity: 1 },
      ]);
      const second = await place([{ product_id: productIds[0], quantity: 2 }]);

      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(body).toEqual({ count: 2, items: [second, first] });
      expect(first).toMatchObject({
        customer_reference: 'PO',
        total_amount: 8.25,
        items: [{ sku: 'B' }, { sku: 'A' }],
      });
    });

    it('sorts by creation time, ties by order number', async () => {
      const { service, productId } = await startWithProduct();
      const minutes = [3, 1, 2, 3, 1, 2];
      const orders: unknown[] = [];
      for (const minute of minutes) {
        orders.push(await place(service, productId, { createdAt: `2026-03-01T10:0${minute}:00Z` }));
      }

      const { body } = await list(service);

      expect(body).toEqual({ count: 6, items: [3, 0, 5, 2, 4, 1].map((index) => orders[index]) });
    });

    describe('paging', () => {
      let service: TestService;
      /** Newest first: 104 orders with few distinct times; every fourth one is of another partner. */
      let all: string[];
      let others: string[];
      beforeAll(async () => {
        const started = await startWithProduct();
        service = started.service;
        const orders: ApiResponse['body'][] = [];
        while (orders.length < 104) {
          const batch = Array.from({ length: 8 }, (_, index) =>
            place(service, started.productId, {
              partnerName: index % 4 === 0 ? 'Birch & Sons' : 'Acme Outdoor',
              createdAt: `2026-03-01T10:00:00.00000${(orders.length + index) % 5}Z`,
            }),
          );
          orders.push(...(await Promise.all(batch)));
        }
        const stored = await service.db('orders').orderByRaw('created_at desc, order_id desc');
        const byId = new Map(orders.map((order) => [Number(order.order_id.slice(2)), order]));
        const sorted = stored.map(({ order_id }) => byId.get(order_id));
        all = sorted.map((order) => order.order_id);
        others = sorted
          .filter((order) => order.partner_name === 'Birch & Sons')
          .map((order) => order.order_id);
        expect([all.length, others.length]).toEqual([104, 26]);
      });

      it('has 100 orders per page by default', async () => {
        expect(await walk(service, {})).toEqual(pagesOf(all, 100));
      });

      // Of 104: with and without a remainder.
      it.each([3, 8, 26, 52, 99, 100])(
        'returns each entry exactly once over all pages, %d at a time',
        async (limit) => {
          expect(await walk(service, { limit: String(limit) })).toEqual(pagesOf(all, limit));
        },
      );

      it.each([1, 4, 13, 26, 100])(
        'returns each order of one partner exactly once over all pages, %d at a time',
        async (limit) => {
          const query = { partner_name: 'Birch & Sons', limit: String(limit) };
          expect(await walk(service, query)).toEqual(pagesOf(others, limit));
        },
      );

      it('continues after an order of another partner', async () => {
        const cursor = all[50]!;
        const rest = others.filter((id) => all.indexOf(id) > 50);
        expect((await walk(service, { partner_name: 'Birch & Sons' }, cursor)).flat()).toEqual(rest);
      });

      it('returns an empty page after the oldest order', async () => {
        const { status, body } = await list(service, { cursor: all.at(-1)! });

        expect(status).toBe(200);
        expect(body).toEqual({ count: 0, items: [] });
      });

      it.each(['partner_name', 'cursor'])('treats an empty %s as absent', async (name) => {
        expect((await walk(service, { limit: '100', [name]: '' })).flat().slice(0, 100)).toEqual(
          all.slice(0, 100),
        );
      });

      it.each(['birch & sons', 'Birch', 'Birch & Sons ', '%', 'Unknown'])(
        'matches the whole partner name, case-sensitively: %j',
        async (partnerName) => {
          const { status, body } = await list(service, { partner_name: partnerName });

          expect(status).toBe(200);
          expect(body).toEqual({ count: 0, items: [] });
        },
      );
    });

    it('returns each order of a range of days exactly once over all pages, its first day included, its end not', async () => {
      const { service, productId } = await startWithProduct();
      const times = [
        '01-31T23:59:59.999',
        '02-01T00:00:00',
        '02-14T12:00:00',
        '02-28T23:59:59.999',
        '03-01T00:00:00',
      ];
      const ids: string[] = [];
      for (const time of times) {
        ids.push((await place(service, productId, { createdAt: `2026-${time}Z` })).order_id as string);
      }
      await place(service, productId, { createdAt: '2026-02-02T00:00:00Z', partnerName: 'Birch' });
      const february = { partner_name: 'Acme Outdoor', from: '2026-02-01', to: '2026-03-01' };
      const ofDays = async (query: Record<string, string>) => (await walk(service, query)).flat();

      expect(await walk(service, { ...february, limit: '2' })).toEqual([[ids[3], ids[2]], [ids[1]]]);
      expect(await walk(service, { ...february, limit: '2' }, ids[4])).toEqual([[ids[3], ids[2]], [ids[1]]]);
      expect(await ofDays({ partner_name: 'Acme Outdoor', from: '2026-02-28' })).toEqual([ids[4], ids[3]]);
      expect(await ofDays({ to: '2026-02-01' })).toEqual([ids[0]]);
    });

    describe('of large orders', () => {
      const oneMebibyte = 1024 * 1024;
      const bytesOf = (item: object) => Buffer.byteLength(JSON.stringify(item));
      let service: TestService;
      beforeAll(async () => {
        service = (await startWithProduct()).service;
      });

      /** Creates orders with these numbers of items; the name of each product is 150 times `name`. */
      async function placeAll(orders: { items: number; name: string }[]): Promise<void> {
        await service.db.raw('truncate orders, order_items restart identity cascade');
        for (const { items, name } of orders) {
          await service.db.raw(
            `with new_order as (
               insert into orders (partner_name, currency, total_amount) values ('Acme', 'EUR', :items) returning order_id
             )
             insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
             select order_id, 1, 'A', :name, 1, 1, 1 from new_order cross join generate_series(1, :items)`,
            { items, name: name.repeat(150) },
          );
        }
      }

      it('ends a page where its orders reach 1 MiB, and returns each order exactly once', async () => {
        const order = fc.record({
          items: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(900, 1_000)),
          name: fc.constantFrom('A', 'é"\n', '\u0001'),
        });
        const property = fc.asyncProperty(
          fc.array(order, { minLength: 1, maxLength: 12 }),
          fc.integer({ min: 1, max: 12 }),
          async (orders, limit) => {
            await placeAll(orders);
            const seen: string[] = [];
            let cursor: string | undefined;
            let before = { bytes: 0, count: limit };
            do {
              const { body } = await list(service, { limit: String(limit), ...(cursor && { cursor }) });
              const items = body.items as { order_id: string }[];
              const sizes = items.map(bytesOf);
              const bytes = sizes.reduce((sum, size) => sum + size, 0);
              expect(items.length > 1 ? bytes : 0).toBeLessThanOrEqual(oneMebibyte);
              // The page before had no room for the first order of this one.
              expect(before.count === limit || before.bytes + sizes[0]! > oneMebibyte).toBe(true);
              seen.push(...items.map((each) => each.order_id));
              cursor = body.next_cursor;
              before = { bytes, count: items.length };
            } while (cursor !== undefined);
            const newestFirst = orders.map((_, at) => `OR${String(orders.length - at).padStart(5, '0')}`);
            expect(seen).toEqual(newestFirst);
          },
        );
        await fc.assert(property, casesFor('pages of large orders', 12));
      });
    });

    it('returns each order once while new orders are created', async () => {
      const { service, productId } = await startWithProduct();
      const old: string[] = [];
      for (let count = 0; count < 4; count++) old.push((await place(service, productId)).order_id);
      const { body: page } = await list(service, { limit: '2' });
      await place(service, productId);

      const rest = await walk(service, { limit: '2' }, page.next_cursor);

      const seen = [...page.items.map((order: { order_id: string }) => order.order_id), ...rest.flat()];
      expect(seen).toEqual([...old].reverse());
    });

    it('sorts orders of the same time by number beyond OR99999', async () => {
      const { service, productId } = await startWithProduct();
      await service.db.raw("select setval(pg_get_serial_sequence('orders', 'order_id'), 99997)");
      for (let count = 0; count < 4; count++) {
        await place(service, productId, { createdAt: '2026-03-01T10:00:00Z' });
      }

      expect(await walk(service, { limit: '1' })).toEqual([
        ['OR100001'],
        ['OR100000'],
        ['OR99999'],
        ['OR99998'],
      ]);
    });
  });

  describe('400', () => {
    let service: TestService;
    beforeAll(async () => {
      const started = await startWithProduct();
      service = started.service;
      await place(service, started.productId);
    });

    it.each([
      'cursor=1',
      'cursor=OR1',
      'cursor=or00001',
      'cursor=OR000001',
      'cursor=OR99999',
      'cursor=OR00000',
      'cursor=PR00001',
      'cursor=OR00001%20',
      'cursor=OR00001%00',
      'cursor=%00',
      'cursor=OR99999999999999999999',
      'cursor=OR00001&cursor=OR00001',
      'cursor=x&limit=0',
      'partner_name=%00&cursor=x',
    ])('rejects a cursor that is not an order id, or an unknown one: %s', async (query) => {
      const { status, body } = await service.api.get(`/orders?${query}`);

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Invalid cursor value.' });
    });
  });

  describe('422', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await list(service, { limit });

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it.each([
      ['limit=5&limit=5', limitTwice],
      ['partner_name=a&partner_name=b', filterTwice('partner_name')],
      ['partner_name=%00', holdsNul('partner_name', '\0')],
    ])('names the error of %s', async (query, entry) => {
      const { status, body } = await service.api.get(`/orders?${query}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });
  });
});
