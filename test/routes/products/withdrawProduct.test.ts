import { takeLock } from '../../../src/base/db/locks';
import { aTimestamp } from '../../support/expectations';
import { loadProducts, toCsv } from '../../support/catalog';
import { eventually } from '../../support/harness';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { indexBacklog } from '../../../src/catalog/products/search-index';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const tent = {
  sku: 'TENT-2',
  brand: 'Acme',
  category: 'Tents',
  price: '10',
  currency: 'EUR',
  availability: 'in_stock',
} as const;
const lamp = { ...tent, sku: 'LAMP-1', category: 'Lamps' } as const;

const waitingSql = `
  select from pg_locks join pg_database on pg_database.oid = pg_locks.database
  where datname = current_database() and locktype = 'advisory' and mode = ? and not granted`;

const withdraw = (productId: string) => service.api.post(`/products/${productId}/withdraw`);
const get = async (path: string) => {
  const { status, body } = await service.api.get(path);
  expect([path, status]).toEqual([path, 200]);
  return body;
};
const skusOf = async (path: string) => {
  const { items } = (await get(path)) as { items: { sku: string }[] };
  return items.map(({ sku }) => sku).sort();
};
const order = (productId: string, headers?: Record<string, string>) =>
  service.api.post(
    '/orders',
    { partner_name: 'Buyer', items: [{ product_id: productId, quantity: 1 }] },
    headers,
  );

describe('POST /products/{product_id}/withdraw', () => {
  describe('200', () => {
    it('returns the product with the time of its withdrawal, and shows it from then on', async () => {
      const { productIds, feedId } = await loadProducts(service, [tent, lamp] as const, 'Shown');
      const before = await get(`/products/${productIds[0]}`);
      expect(before).not.toHaveProperty('withdrawn_at');

      const { status, body } = await withdraw(productIds[0]);

      expect(status).toBe(200);
      expect(body).toEqual({ ...before, feed_id: feedId, withdrawn_at: aTimestamp });
      expect(await get(`/products/${productIds[0]}`)).toEqual(body);
      expect(await get(`/products/${productIds[1]}`)).not.toHaveProperty('withdrawn_at');
    });

    it('does not change a withdrawn product', async () => {
      const { productIds } = await loadProducts(service, [tent] as const, 'Again');
      const first = await withdraw(productIds[0]);

      const second = await withdraw(productIds[0]);

      expect([second.status, second.body]).toEqual([200, first.body]);
    });

    it.each([
      '',
      '&sort_by=product_id',
      '&sort_by=price',
      '&sort_by=product_name',
      '&sort_by=brand',
      '&sort_by=category',
      '&brand=Acme',
      '&availability=in_stock&brand=Acme',
      '&sort_by=price&brand=Acme',
    ])('excludes the product from a list with %j unless include_withdrawn=true', async (query) => {
      const partner = `Lists${query}`;
      const { productIds, feedId } = await loadProducts(service, [tent, lamp] as const, partner);
      await withdraw(productIds[0]);
      const list = `/products?partner_name=${encodeURIComponent(partner)}${query}`;
      const ofFeed = `/products/by-feed/${feedId}?`;

      for (const path of [list, `${list}&include_withdrawn=false`, `${list}&include_withdrawn=`, ofFeed]) {
        expect([path, await skusOf(path)]).toEqual([path, ['LAMP-1']]);
      }
      for (const path of [list, ofFeed]) {
        const { items } = await get(`${path}&include_withdrawn=true`);
        const shown = Object.fromEntries(
          items.map((item: { sku: string; withdrawn_at?: string }) => [item.sku, item.withdrawn_at]),
        ) as unknown;
        expect([path, shown]).toEqual([path, { 'TENT-2': aTimestamp, 'LAMP-1': undefined }]);
      }
    });

    it('pages through active and withdrawn products without gaps', async () => {
      const rows = Array.from({ length: 7 }, (_, at) => ({ ...tent, sku: `P${at}` }));
      const { productIds } = await loadProducts(service, rows, 'Pages');
      for (const at of [0, 2, 3, 6]) await withdraw(productIds[at]!);
      for (const sort of ['', '&sort_by=product_id&order=asc']) {
        const found: string[] = [];
        let cursor = '';
        do {
          const page = await get(
            `/products?partner_name=Pages&include_withdrawn=true&limit=2${sort}&cursor=${cursor}`,
          );
          found.push(...page.items.map(({ product_id }: { product_id: string }) => product_id));
          cursor = page.next_cursor ?? '';
        } while (cursor !== '');
        expect(found).toEqual(sort === '' ? productIds.toReversed() : productIds);
      }
    });

    it('excludes the product from facets and searches unless include_withdrawn=true', async () => {
      const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Facets');
      await indexBacklog(service.db);
      await withdraw(productIds[0]);
      await indexBacklog(service.db);
      const facets = async (query: string) =>
        (await get(`/products/facets?field=category&partner_name=Facets${query}`)).items.map(
          ({ value, count }: { value: string; count: number }) => [value, count],
        ) as [string, number][];

      expect(await facets('')).toEqual([['Lamps', 1]]);
      expect(await facets('&q=acme')).toEqual([['Lamps', 1]]);
      expect(await facets('&include_withdrawn=true')).toEqual([
        ['Lamps', 1],
        ['Tents', 1],
      ]);
      expect(await skusOf('/products?partner_name=Facets&q=tent')).toEqual([]);
      expect(await skusOf('/products?partner_name=Facets&q=tent&include_withdrawn=true')).toEqual(['TENT-2']);
    });

    it('makes the product unavailable for orders, and does not change earlier orders', async () => {
      const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Orders');
      const earlier = await order(productIds[0]);
      await withdraw(productIds[0]);
      const refused = {
        status: 409,
        body: { detail: `Product is not available: ${productIds[0]}` },
      };

      expect(await order(productIds[0])).toMatchObject(refused);
      expect(await order(productIds[0], { 'idempotency-key': 'withdrawn' })).toMatchObject(refused);
      expect((await order(productIds[1])).status).toBe(201);
      expect((await service.api.get(`/orders/${earlier.body.order_id}`)).body).toEqual(earlier.body);
    });

    it.each([
      ['without a key', undefined],
      ['with a key', { 'idempotency-key': 'raced' }],
    ])(
      'rejects an order %s that has read the product before the withdrawal commits, and no other order',
      async (_what, headers) => {
        const { productIds } = await loadProducts(service, [tent, lamp] as const, `Race ${_what}`);
        const trx = await service.db.transaction();
        const { rows } = await trx.raw<{ rows: [{ partner_id: number }] }>(
          'update products set withdrawn_at = now() where product_id = ? returning partner_id',
          [Number(productIds[0].slice(2))],
        );
        await takeLock(trx, 'withdrawals', rows[0].partner_id);
        const orders = [order(productIds[0], headers), order(productIds[1])];
        await eventually('the orders wait', async () => {
          const waiting = await service.db.raw<{ rows: unknown[] }>(waitingSql, ['ShareLock']);
          expect(waiting.rows.length).toBeGreaterThan(0);
        });
        await trx.commit();

        expect((await Promise.all(orders)).map(({ status }) => status)).toEqual([409, 201]);
      },
    );

    it('excludes the product from the count and the file of its partner, until a feed restores it', async () => {
      const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Counted');
      const shown = async () => ({
        products: (await get('/partners/Counted')).products as unknown,
        file: ((await get('/partners/Counted/products.csv')) as string)
          .split('\n')
          .map((line) => line.split(',')[0]),
      });
      expect(await shown()).toEqual({ products: 2, file: ['sku', 'TENT-2', 'LAMP-1', ''] });

      await withdraw(productIds[1]);
      await withdraw(productIds[1]);

      expect(await shown()).toEqual({ products: 1, file: ['sku', 'TENT-2', ''] });
      await service.api.loadFeed(toCsv([lamp]), 'Counted');
      expect(await shown()).toEqual({ products: 2, file: ['sku', 'TENT-2', 'LAMP-1', ''] });
    });

    it('waits for an order that is being created with the product', async () => {
      const { productIds } = await loadProducts(service, [tent] as const, 'Waits');
      const trx = await service.db.transaction();
      await trx.raw('select * from products_to_order(cast(? as bigint[]))', [
        [Number(productIds[0].slice(2))],
      ]);
      let isWithdrawn = false;
      const withdrawal = withdraw(productIds[0]).then(() => (isWithdrawn = true));
      await eventually('the withdrawal waits', async () => {
        const { rows } = await service.db.raw<{ rows: unknown[] }>(waitingSql, ['ExclusiveLock']);
        expect(rows).toHaveLength(1);
      });
      expect(isWithdrawn).toBe(false);

      await trx.commit();
      await withdrawal;

      expect((await order(productIds[0])).status).toBe(409);
    });
  });

  describe('a later feed that contains the product', () => {
    it('restores it under its id, and counts it as updated, even if its record is unchanged', async () => {
      const csv = toCsv([tent, lamp]);
      const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Restored');
      // Digests are used from the second run on.
      expect((await service.api.loadFeed(csv, 'Restored')).job.summary).toMatchObject({ unchanged: 2 });
      await withdraw(productIds[0]);

      const { feedId, job } = await service.api.loadFeed(csv, 'Restored');

      expect(job.summary).toMatchObject({ inserted: 0, updated: 1, unchanged: 1 });
      const product = await get(`/products/${productIds[0]}`);
      expect(product).not.toHaveProperty('withdrawn_at');
      expect(product.feed_id).toBe(feedId);
      expect((await order(productIds[0])).status).toBe(201);
      expect((await service.api.loadFeed(csv, 'Restored')).job.summary).toMatchObject({ unchanged: 2 });
    });

    it('leaves it withdrawn when its row is skipped or missing', async () => {
      const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Skipped');
      await withdraw(productIds[0]);
      await withdraw(productIds[1]);

      await service.api.loadFeed('sku,product_name,price\nTENT-2,Tent,NA\n', 'Skipped');

      expect(await skusOf('/products?partner_name=Skipped')).toEqual([]);
    });
  });

  describe('404', () => {
    it.each(['PR99999', 'PR0', 'x', 'PR00001%00'])('for %s, which is not a product', async (id) => {
      const { status, body } = await withdraw(id);

      expect([status, body]).toEqual([404, { detail: `Product ${decodeURIComponent(id)} not found.` }]);
    });

    it('for a product of another partner, which stays active', async () => {
      const { productIds } = await loadProducts(service, [tent] as const, 'Theirs');
      const limited = await withStoredKey(service, 'Mine');

      const { status } = await limited.post(`/products/${productIds[0]}/withdraw`);

      expect(status).toBe(404);
      expect(await skusOf('/products?partner_name=Theirs')).toEqual(['TENT-2']);
      const own = await withStoredKey(service, 'Theirs');
      expect((await own.post(`/products/${productIds[0]}/withdraw`)).status).toBe(200);
    });
  });

  it('does not change the list of GET /products/by-feed/withdraw, an unknown feed', async () => {
    expect(await get('/products/by-feed/withdraw')).toEqual({ count: 0, items: [] });
    expect((await withdraw('by-feed')).status).toBe(404);
  });

  describe('403', () => {
    it('for a read-only key, and the product stays active', async () => {
      const { productIds } = await loadProducts(service, [tent] as const, 'Read');
      const reader = await withStoredKey(service, null, 'reader', { is_read_only: true });

      expect((await reader.post(`/products/${productIds[0]}/withdraw`)).status).toBe(403);
      expect(await skusOf('/products?partner_name=Read')).toEqual(['TENT-2']);
    });
  });
});

describe('include_withdrawn', () => {
  it.each(['1', 'True', 'yes', 'null', '[]'])('is 422 for %j', async (value) => {
    for (const path of ['/products', '/products/facets', '/products/by-feed/FD00001']) {
      expect(await service.api.get(`${path}?include_withdrawn=${value}`)).toMatchObject({
        status: 422,
        body: {
          detail: [
            {
              type: 'bool_parsing',
              loc: ['query', 'include_withdrawn'],
              msg: 'Input should be a valid boolean, unable to interpret input',
              input: value,
            },
          ],
        },
      });
    }
  });
});
