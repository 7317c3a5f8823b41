import {
  startSalesService,
  wrongCurrencies,
  wrongCurrency,
  type Line,
  type SalesService,
} from '../../support/sales';

let service: SalesService;
beforeAll(async () => {
  service = await startSalesService();
});
beforeEach(() => service.clear());

const path = '/analytics/sales-by-product';

async function results(query: Record<string, string> = {}): Promise<Record<string, unknown>[]> {
  const { status, body } = await service.api.get(`${path}?${new URLSearchParams(query).toString()}`);
  expect(status).toBe(200);
  expect(body).toEqual({ analytics_type: 'sales_by_product', results: expect.any(Array) });
  return body.results;
}

const skusOf = async (query: Record<string, string>) => (await results(query)).map(({ sku }) => sku);

describe('GET /analytics/sales-by-product', () => {
  describe('200', () => {
    it('has no results without orders, with and without a range of days', async () => {
      expect(await results()).toEqual([]);
      expect(await results({ from: '2026-01-01' })).toEqual([]);
      expect(await results({ to: '2026-01-01' })).toEqual([]);
    });

    it('sums the orders of each partner, product and currency, highest sales first', async () => {
      await service.sell('Acme', ['24.50', 1], { currency: 'EUR' });
      await service.sell('Acme', [
        ['189.90', 2],
        ['24.50', 3],
      ]);
      await service.sell('Birch', ['24.50', 2]);
      await service.sell('Acme', ['24.50', 1]);
      const { rows } = await service.db.raw<{ rows: { product_id: number; sku: string }[] }>(
        'select product_id, sku from products',
      );
      const idOf = (sku: string) =>
        `PR${String(rows.find((row) => row.sku === sku)!.product_id).padStart(5, '0')}`;
      const product = (sku: string) => ({ product_id: idOf(sku), sku, product_name: expect.any(String) });

      expect(await results()).toEqual([
        {
          ...product('189.90 undefined'),
          ...{ partner_name: 'Acme', currency: 'USD', units_sold: 2, total_sales: '379.80' },
        },
        {
          ...product('24.50 undefined'),
          ...{ partner_name: 'Acme', currency: 'USD', units_sold: 4, total_sales: '98.00' },
        },
        {
          ...product('24.50 undefined'),
          ...{ partner_name: 'Birch', currency: 'USD', units_sold: 2, total_sales: '49.00' },
        },
        {
          ...product('24.50 EUR'),
          ...{ partner_name: 'Acme', currency: 'EUR', units_sold: 1, total_sales: '24.50' },
        },
      ]);
    });

    it('returns the 20 highest by default, and `limit` of them', async () => {
      const prices = Array.from({ length: 22 }, (_, at) => `${100 + at}`);
      await service.sell(
        'Acme',
        prices.map((price): Line => [price, 1]),
      );

      expect(await skusOf({})).toEqual(
        prices
          .slice(2)
          .reverse()
          .map((price) => `${price} undefined`),
      );
      expect(await skusOf({ limit: '1' })).toEqual(['121 undefined']);
      expect(await results({ limit: '200' })).toHaveLength(22);
    });

    it('counts only orders of the partner, in the currency and in the days', async () => {
      await service.sell('Acme', ['1', 1], { currency: 'EUR', createdAt: '2026-01-31T23:59:59.999Z' });
      await service.sell('Acme', ['2', 1], { currency: 'EUR', createdAt: '2026-02-01T00:00:00Z' });
      await service.sell('Birch', ['3', 1], { currency: 'JPY', createdAt: '2026-02-28T23:59:59.999Z' });
      await service.sell('Birch', ['4', 1], { currency: 'EUR', createdAt: '2026-03-01T00:00:00Z' });

      expect(await skusOf({ partner_name: 'Birch' })).toEqual(['4 EUR', '3 JPY']);
      expect(await skusOf({ currency: 'JPY' })).toEqual(['3 JPY']);
      expect(await skusOf({ from: '2026-02-01', to: '2026-03-01' })).toEqual(['3 JPY', '2 EUR']);
      expect(await skusOf({ from: '2026-02-01' })).toEqual(['4 EUR', '3 JPY', '2 EUR']);
      expect(await skusOf({ to: '2026-02-01', partner_name: 'Acme' })).toEqual(['1 EUR']);
      expect(await skusOf({ from: '0000-01-01', to: '9999-12-31', limit: '1' })).toEqual(['4 EUR']);
      expect(await skusOf({ partner_name: '', from: '', to: '', currency: '' })).toHaveLength(4);
    });

    it('shows the current sku and name, also of a withdrawn product, and null for a removed one', async () => {
      await service.sell('Acme', [
        ['5', 1],
        ['6', 1],
        ['7', 1],
      ]);
      await service.db('products').where({ sku: '5 undefined' }).update({ product_name: 'Renamed' });
      await service.db('products').where({ sku: '6 undefined' }).update({ withdrawn_at: new Date() });
      await service.db('products').where({ sku: '7 undefined' }).update({ sku: 'moved' });
      await service.db.raw(`update order_items set product_id = 99999 where unit_price = 7`);

      expect(await results()).toMatchObject([
        { product_id: 'PR99999', sku: null, product_name: null },
        { sku: '6 undefined', product_name: expect.any(String) as string },
        { sku: '5 undefined', product_name: 'Renamed' },
      ]);
    });
  });

  describe('422', () => {
    it.each(['0', '201', 'ten', ''])('rejects the limit %j', async (limit) => {
      const { status, body } = await service.api.get(`${path}?limit=${limit}`);

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ loc: ['query', 'limit'], input: limit }]);
    });

    it.each(wrongCurrencies)('rejects the currency %j', async (currency) => {
      const { status, body } = await service.api.get(
        `${path}?${new URLSearchParams({ currency }).toString()}`,
      );

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [wrongCurrency(currency)] });
    });
  });
});
