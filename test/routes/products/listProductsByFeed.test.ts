import { pagesOf, walk, limitTwice, wrongLimits, aTimestamp } from '../../support/expectations';
import { loadProducts } from '../../support/catalog';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const list = async (feedId: string, query = '') => {
  const { status, body } = await service.api.get(`/products/by-feed/${feedId}?${query}`);
  expect(status).toBe(200);
  expect(body.count).toBe(body.items.length);
  return body;
};
const skus = async (feedId: string, query = ''): Promise<string[]> =>
  (await list(feedId, query)).items.map((item: { sku: string }) => item.sku);

const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ sku: `${index + 1}` }));

describe('GET /products/by-feed/{feed_id}', () => {
  describe('200', () => {
    it("shows the feed's products by product number, without fields that have no value", async () => {
      const { feedId, productIds } = await loadProducts(
        service,
        [
          { sku: 'TENT-2', product_name: 'Two-person tent', price: '189.90', currency: 'EUR' },
          { sku: 'LAMP-1', product_name: 'Head lamp' },
        ],
        'Birch & Sons',
      );

      expect(await list(feedId)).toEqual({
        count: 2,
        items: [
          {
            product_id: productIds[0],
            feed_id: feedId,
            partner_name: 'Birch & Sons',
            sku: 'TENT-2',
            product_name: 'Two-person tent',
            price: 189.9,
            currency: 'EUR',
            created_at: aTimestamp,
          },
          {
            product_id: productIds[1],
            feed_id: feedId,
            partner_name: 'Birch & Sons',
            sku: 'LAMP-1',
            product_name: 'Head lamp',
            created_at: aTimestamp,
          },
        ],
      });
    });

    it('returns a product under the feed that wrote it last', async () => {
      const first = await loadProducts(service, [{ sku: 'kept' }, { sku: 'moved' }], 'Moving');
      const second = await loadProducts(
        service,
        [{ sku: 'new' }, { sku: 'kept' }, { sku: 'moved', brand: 'Acme' }],
        'Moving',
      );

      expect(await skus(first.feedId)).toEqual(['kept']);
      expect(await skus(second.feedId)).toEqual(['moved', 'new']);

      await service.api.post(`/jobs/${first.jobId}/run`);

      // The first feed has no brand column: `moved` keeps its brand.
      expect(await skus(first.feedId)).toEqual(['kept']);
      expect(await skus(second.feedId)).toEqual(['moved', 'new']);
    });

    it.each([
      'FD99999',
      'FD00000',
      'FD1',
      'FD000001',
      'fd00001',
      'PR00001',
      'upload',
      'FD00001%00',
      'FD00001%20',
      'FD00001%2F',
      'FD99999999999999999999',
      '%20',
      '%F0%9F%98%80',
    ])('is an empty list for %s, which is unknown or not a feed id', async (feedId) => {
      expect(await list(feedId)).toEqual({ count: 0, items: [] });
    });

    it('is an empty list before the first run, and for a feed without products', async () => {
      const waiting = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Waiting');
      const empty = await service.api.loadFeed('sku,product_name\n', 'Waiting');

      expect(await list(waiting.feedId)).toEqual({ count: 0, items: [] });
      expect(await list(empty.feedId)).toEqual({ count: 0, items: [] });
    });

    describe('paging', () => {
      const expected = numbered(104).map(({ sku }) => sku);
      let feedId: string;
      let ids: string[];
      beforeAll(async () => {
        await loadProducts(service, numbered(3), 'Before');
        ({ feedId, productIds: ids } = await loadProducts(service, numbered(104), 'Paging'));
        await loadProducts(service, numbered(3), 'After');
      });

      it('has 100 products per page by default', async () => {
        const page = await list(feedId);

        expect(page).toEqual({ count: 100, items: expect.any(Array), next_cursor: ids[99] });
        expect(await skus(feedId, `cursor=${ids[99]!}`)).toEqual(expected.slice(100));
      });

      // Of 104: with and without a remainder.
      it.each([1, 7, 13, 52, 100])(
        'returns each entry exactly once over all pages, %d at a time',
        async (limit) => {
          const pages = await walk(service.api, `/products/by-feed/${feedId}`, 'product_id', {
            limit: String(limit),
          });

          expect(pages).toEqual(pagesOf(ids, limit));
        },
      );

      it('treats a cursor as a position: the product may be of another feed, or not exist', async () => {
        expect(await skus(feedId, 'limit=2&cursor=PR00000')).toEqual(['1', '2']);
        expect(await skus(feedId, 'limit=2&cursor=PR00001')).toEqual(['1', '2']);
        expect(await list(feedId, 'cursor=PR999999999')).toEqual({ count: 0, items: [] });
        expect(await list(feedId, `cursor=${ids[103]!}`)).toEqual({ count: 0, items: [] });
      });

      it('treats an empty cursor as absent', async () => {
        expect(await skus(feedId, 'limit=2&cursor=')).toEqual(['1', '2']);
      });

      it('ignores sort, order and filters, like unknown parameters', async () => {
        const query = 'limit=2&sort_by=price&order=desc&brand=Acme&partner_name=Before';
        expect(await skus(feedId, query)).toEqual(['1', '2']);
      });
    });

    onLocalProducts(it, 'it sets the sequence of product numbers')(
      'sorts by number beyond PR99999',
      async () => {
        const own = await startTestService();
        await own.db.raw("select setval(pg_get_serial_sequence('products', 'product_id'), 99998)");
        const { feedId } = await loadProducts(own, numbered(3));

        const first = await own.api.get(`/products/by-feed/${feedId}?limit=1`);
        const second = await own.api.get(`/products/by-feed/${feedId}?limit=1&cursor=PR99999`);
        const third = await own.api.get(`/products/by-feed/${feedId}?limit=1&cursor=PR100000`);

        expect(first.body).toMatchObject({ items: [{ product_id: 'PR99999' }], next_cursor: 'PR99999' });
        expect(second.body).toMatchObject({ items: [{ product_id: 'PR100000' }], next_cursor: 'PR100000' });
        expect(third.body).toEqual({
          count: 1,
          items: [expect.objectContaining({ product_id: 'PR100001' })],
        });
      },
    );
  });

  describe('400', () => {
    it.each([
      'cursor=1',
      'cursor=PR1',
      'cursor=pr00001',
      'cursor=FD00001',
      'cursor=PR00001%00',
      'cursor=PR99999999999999999999',
      'cursor=PR00001&cursor=PR00001',
      'cursor=x&limit=0',
    ])('rejects a cursor that is not a product id: %s', async (query) => {
      const { status, body } = await service.api.get(`/products/by-feed/FD00001?${query}`);

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Invalid cursor value.' });
    });

    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.get('/products/by-feed/%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('422', () => {
    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const query = new URLSearchParams({ limit }).toString();
      const { status, body } = await service.api.get(`/products/by-feed/unknown?${query}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it('rejects a repeated limit', async () => {
      const { status, body } = await service.api.get('/products/by-feed/unknown?limit=5&limit=5');

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [limitTwice] });
    });
  });
});
