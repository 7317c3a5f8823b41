import { aTimestamp } from '../../../support/expectations';
import { loadProducts } from '../../../support/catalog';
import { onLocalProducts } from '../../../support/local-products';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const get = async (productId: string) => {
  const { status, body } = await service.api.get(`/products/${productId}`);
  expect(status).toBe(200);
  return body;
};

describe('GET /products/{product_id}', () => {
  describe('200', () => {
    it('returns every field', async () => {
      const { feedId, productIds } = await loadProducts(
        service,
        [
          {
            sku: '007',
            product_name: 'Two-person tent',
            description: 'Light, "quick"\nto pitch 😀',
            brand: 'Acme',
            category: 'Camping/Tents',
            price: '1234.5678',
            currency: 'EUR',
            availability: 'in_stock',
          },
        ],
        'Café Müller',
      );

      expect(productIds[0]).toMatch(/^PR\d{5}$/);
      expect(await get(productIds[0])).toEqual({
        product_id: productIds[0],
        feed_id: feedId,
        partner_name: 'Café Müller',
        sku: '007',
        product_name: 'Two-person tent',
        description: 'Light, "quick"\nto pitch 😀',
        brand: 'Acme',
        category: 'Camping/Tents',
        price: 1234.5678,
        currency: 'EUR',
        availability: 'in_stock',
        created_at: aTimestamp,
      });
    });

    it('returns fields without a value as null', async () => {
      const { feedId, productIds } = await loadProducts(service, [{ sku: 'BARE', product_name: 'Bare' }]);

      expect(await get(productIds[0])).toEqual({
        product_id: productIds[0],
        feed_id: feedId,
        partner_name: 'Acme Outdoor',
        sku: 'BARE',
        product_name: 'Bare',
        description: null,
        brand: null,
        category: null,
        price: null,
        currency: null,
        availability: null,
        created_at: aTimestamp,
      });
    });

    it.each([
      ['0', 0],
      ['0.0001', 0.0001],
      ['5.0000', 5],
      ['19.9999', 19.9999],
      ['19.990000', 19.99],
      ['999,999,999,999.9999', 999999999999.9999],
    ])('shows the price %s as the JSON number %d', async (price, expected) => {
      const { productIds } = await loadProducts(service, [{ sku: `PRICE ${price}`, price }]);

      expect((await get(productIds[0])).price).toBe(expected);
    });

    it('keeps feed, id and creation time of a product that a later feed leaves unchanged', async () => {
      const rows = [{ sku: 'KEPT', brand: 'Acme' }] as const;
      const first = await loadProducts(service, rows);
      const before = await get(first.productIds[0]);

      await loadProducts(service, rows);
      await service.api.post(`/jobs/${first.jobId}/run`);

      expect(await get(first.productIds[0])).toEqual(before);
    });

    it('has the feed that wrote it last, and keeps id and creation time', async () => {
      const first = await loadProducts(service, [{ sku: 'CHANGED', brand: 'old' }]);
      const before = await get(first.productIds[0]);

      const second = await loadProducts(service, [{ sku: 'CHANGED', brand: 'new' }]);

      expect(second.productIds).toEqual(first.productIds);
      expect(await get(first.productIds[0])).toEqual({ ...before, feed_id: second.feedId, brand: 'new' });

      await service.api.post(`/jobs/${first.jobId}/run`);

      expect(await get(first.productIds[0])).toEqual(before);
    });

    onLocalProducts(it, 'it sets the sequence of product numbers')(
      'finds a product beyond PR99999',
      async () => {
        const own = await startTestService();
        await own.db.raw("select setval(pg_get_serial_sequence('products', 'product_id'), 99999)");
        await loadProducts(own, [{ sku: 'A' }]);

        const { status, body } = await own.api.get('/products/PR100000');

        expect(status).toBe(200);
        expect(body).toMatchObject({ product_id: 'PR100000', sku: 'A' });
        expect((await own.api.get('/products/PR0100000')).status).toBe(404);
      },
    );
  });

  describe('404', () => {
    beforeAll(async () => {
      await loadProducts(service, [{ sku: 'SOME' }]);
    });

    it.each([
      'PR99999',
      'PR00000',
      'PR1',
      'PR000001',
      'pr00001',
      'FD00001',
      '00001',
      'by-feed',
      'by-feed%2FFD00001',
      '%7Bproduct_id%7D',
      'PR00001%00',
      'PR00001%20',
      'PR00001%2F',
      'PR0000%EF%BC%91',
      'PR00001%0A',
      'PR-0001',
      'PR1e100',
      'PR999999999999999',
      'PR9223372036854775808',
      'PR99999999999999999999',
      '%20',
      '%F0%9F%98%80',
      '%2500001',
      'x'.repeat(2_000),
    ])('does not find the product %s', async (id) => {
      const { status, body } = await service.api.get(`/products/${id}`);

      expect(status).toBe(404);
      expect(body).toEqual({ detail: `Product ${decodeURIComponent(id)} not found.` });
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.get('/products/%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });
});
