import {
  currencyTwice,
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

const path = '/analytics/sales-by-partner';

async function results(query: Record<string, string> = {}): Promise<unknown[]> {
  const { status, body } = await service.api.get(`${path}?${new URLSearchParams(query).toString()}`);
  expect(status).toBe(200);
  expect(body).toEqual({ analytics_type: 'sales_by_partner', results: expect.any(Array) });
  return body.results;
}

describe('GET /analytics/sales-by-partner', () => {
  describe('200', () => {
    it('has no results without orders', async () => {
      const { status, body } = await service.api.get(path);

      expect(status).toBe(200);
      expect(body).toEqual({ analytics_type: 'sales_by_partner', results: [] });
    });

    it('sums the orders of each partner, highest sales first', async () => {
      await service.sell('Birch & Sons', ['24.50', 1]);
      await service.sell('Acme Outdoor', [
        ['189.90', 2],
        ['24.50', 1],
      ]);
      await service.sell('Café Müller', ['24.50', 3]);
      await service.sell('Birch & Sons', ['24.50', 1]);

      const { status, body } = await service.api.get(path);

      expect(status).toBe(200);
      expect(body).toEqual({
        analytics_type: 'sales_by_partner',
        results: [
          { partner_name: 'Acme Outdoor', units_sold: 3, total_sales: '404.30' },
          { partner_name: 'Café Müller', units_sold: 3, total_sales: '73.50' },
          { partner_name: 'Birch & Sons', units_sold: 2, total_sales: '49.00' },
        ],
      });
    });

    it('sorts by amount, not by text', async () => {
      await service.sell('A', ['9', 1]);
      await service.sell('B', ['100', 1]);
      await service.sell('C', ['20', 1]);

      expect(await results()).toMatchObject([
        { total_sales: '100.00' },
        { total_sales: '20.00' },
        { total_sales: '9.00' },
      ]);
    });

    it('orders partners with equal sales by name, by code point', async () => {
      for (const name of ['éclair', '😀', 'acme', 'Zelt', 'Ａ', 'Acme']) await service.sell(name, ['5', 2]);
      await service.sell('Last', ['5', 1]);

      const names = (await results()).map((result) => (result as { partner_name: string }).partner_name);

      expect(names).toEqual(['Acme', 'Zelt', 'acme', 'éclair', 'Ａ', '😀', 'Last']);
    });

    it('distinguishes partners by every character of their names', async () => {
      for (const name of ['Acme', 'acme', 'Ácme']) await service.sell(name, ['1', 1]);

      expect(await results()).toHaveLength(3);
    });

    // In binary floating point most of these are off; halves are rounded away from zero, not to even.
    it.each<[string, Line[], string]>([
      ['three dimes', [['0.1', 3]], '0.30'],
      [
        'a dime and two',
        [
          ['0.1', 1],
          ['0.2', 1],
        ],
        '0.30',
      ],
      ['seven', [['19.99', 7]], '139.93'],
      ['just below a half', [['1.0049', 1]], '1.00'],
      ['a half after an even digit', [['0.005', 1]], '0.01'],
      ['a half after an odd digit', [['0.015', 1]], '0.02'],
      ['a half that a double would lose', [['1.005', 1]], '1.01'],
      ['another one', [['2.675', 1]], '2.68'],
      ['a large one', [['1234567890.125', 1]], '1234567890.13'],
      [
        'a half that only the sum makes',
        [
          ['0.0049', 1],
          ['0.0001', 1],
        ],
        '0.01',
      ],
      [
        'halves that add up before they are rounded',
        [
          ['0.005', 1],
          ['0.005', 1],
        ],
        '0.01',
      ],
      ['less than a cent', [['0.0001', 1]], '0.00'],
      ['a whole', [['10', 10]], '100.00'],
      ['nothing', [['0', 4]], '0.00'],
      ['the largest', [['999999999999.9999', 1_000_000]], '999999999999999900.00'],
    ])(
      'returns the exact amount, rounded half away from zero to two decimals: %s',
      async (_, lines, total) => {
        await service.sell('Acme', lines);

        const units = lines.reduce((sum, [, quantity]) => sum + quantity, 0);
        expect(await results()).toEqual([{ partner_name: 'Acme', units_sold: units, total_sales: total }]);
      },
    );

    it('rounds the sum, not each order', async () => {
      for (let count = 0; count < 3; count++) await service.sell('Acme', ['0.005', 1]);

      expect(await results()).toEqual([{ partner_name: 'Acme', units_sold: 3, total_sales: '0.02' }]);
    });

    it('counts more units than fit into 32 bits', async () => {
      const lines = Array.from({ length: 1_000 }, (): Line => ['999999999999.9999', 1_000_000]);
      for (let count = 0; count < 3; count++) await service.sell('Acme', lines);

      expect(await results()).toEqual([
        { partner_name: 'Acme', units_sold: 3_000_000_000, total_sales: '2999999999999999700000.00' },
      ]);
    });

    it('uses the price at order creation', async () => {
      await service.sell('Acme', ['7.77', 1]);
      await service.api.loadFeed('sku,product_name,price\n7.77 undefined,X,99\n', 'Supplier');

      expect(await results()).toEqual([{ partner_name: 'Acme', units_sold: 1, total_sales: '7.77' }]);
      await service.api.loadFeed('sku,product_name,price\n7.77 undefined,X,7.77\n', 'Supplier');
    });

    describe('with orders in several currencies', () => {
      beforeEach(async () => {
        await service.sell('Acme', ['1', 1], { currency: 'EUR' });
        await service.sell('Acme', ['10', 2], { currency: 'JPY' });
        await service.sell('Birch', ['5', 3], { currency: 'EUR' });
        // No currency of its own: the default.
        await service.sell('Acme', ['100', 1]);
      });

      it.each([{}, { currency: '' }])('adds them without conversion with %j', async (query) => {
        expect(await results(query as Record<string, string>)).toEqual([
          { partner_name: 'Acme', units_sold: 4, total_sales: '121.00' },
          { partner_name: 'Birch', units_sold: 3, total_sales: '15.00' },
        ]);
      });

      it.each([
        [
          'EUR',
          [
            { partner_name: 'Birch', units_sold: 3, total_sales: '15.00' },
            { partner_name: 'Acme', units_sold: 1, total_sales: '1.00' },
          ],
        ],
        ['JPY', [{ partner_name: 'Acme', units_sold: 2, total_sales: '20.00' }]],
        ['USD', [{ partner_name: 'Acme', units_sold: 1, total_sales: '100.00' }]],
        ['CHF', []],
        ['ZZZ', []],
      ])('counts only the orders in %s', async (currency, expected) => {
        expect(await results({ currency })).toEqual(expected);
      });
    });
  });

  describe('422', () => {
    it.each(wrongCurrencies)('rejects the currency %j', async (currency) => {
      const { status, body } = await service.api.get(
        `${path}?${new URLSearchParams({ currency }).toString()}`,
      );

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [wrongCurrency(currency)] });
    });

    it('rejects a repeated currency', async () => {
      const { status, body } = await service.api.get(`${path}?currency=EUR&currency=EUR`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [currencyTwice] });
    });
  });
});
