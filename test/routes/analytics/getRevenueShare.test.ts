import {
  currencyTwice,
  startSalesService,
  wrongCurrencies,
  wrongCurrency,
  type SalesService,
} from '../../support/sales';

let service: SalesService;
beforeAll(async () => {
  service = await startSalesService();
});
beforeEach(() => service.clear());

const path = '/analytics/revenue-share';

async function results(query: Record<string, string> = {}): Promise<unknown[]> {
  const { status, body } = await service.api.get(`${path}?${new URLSearchParams(query).toString()}`);
  expect(status).toBe(200);
  expect(body).toEqual({ analytics_type: 'revenue_share', results: expect.any(Array) });
  return body.results;
}

describe('GET /analytics/revenue-share', () => {
  describe('200', () => {
    it('has no results without orders', async () => {
      const { status, body } = await service.api.get(path);

      expect(status).toBe(200);
      expect(body).toEqual({ analytics_type: 'revenue_share', results: [] });
    });

    it('returns revenue and share of each partner, highest first', async () => {
      await service.sell('Birch & Sons', ['24.50', 1]);
      await service.sell('Acme Outdoor', [
        ['189.90', 1],
        ['24.50', 1],
      ]);
      await service.sell('Acme Outdoor', ['189.90', 1]);

      const { status, body } = await service.api.get(path);

      expect(status).toBe(200);
      expect(body).toEqual({
        analytics_type: 'revenue_share',
        results: [
          { partner_name: 'Acme Outdoor', total_revenue: '404.30', revenue_pct: 94.29 },
          { partner_name: 'Birch & Sons', total_revenue: '24.50', revenue_pct: 5.71 },
        ],
      });
    });

    it('sorts by revenue, ties by partner name, by code point', async () => {
      for (const name of ['éclair', '😀', 'acme', 'Zelt', 'Ａ']) await service.sell(name, ['9', 1]);
      await service.sell('Most', ['55', 1]);

      expect(await results()).toEqual([
        { partner_name: 'Most', total_revenue: '55.00', revenue_pct: 55 },
        { partner_name: 'Zelt', total_revenue: '9.00', revenue_pct: 9 },
        { partner_name: 'acme', total_revenue: '9.00', revenue_pct: 9 },
        { partner_name: 'éclair', total_revenue: '9.00', revenue_pct: 9 },
        { partner_name: 'Ａ', total_revenue: '9.00', revenue_pct: 9 },
        { partner_name: '😀', total_revenue: '9.00', revenue_pct: 9 },
      ]);
    });

    it.each([
      ['1', '0', 100, 0],
      ['1', '1', 50, 50],
      ['2', '1', 66.67, 33.33],
      // 1 of 800 is 0.125 %, and 799 of 800 are 99.875 %: halves are rounded away from zero.
      ['799', '1', 99.88, 0.13],
      // 1.005 % and 98.995 %: doubles would be slightly below the half.
      ['98.995', '1.005', 99, 1.01],
      ['9966.5', '33.5', 99.67, 0.34],
      ['99999.99', '0.01', 100, 0],
      ['0.0003', '0.0001', 75, 25],
      ['999999999999.9999', '999999999999.9999', 50, 50],
    ])('of %s and %s, the shares are %d and %d percent', async (first, second, firstPct, secondPct) => {
      await service.sell('A', [first, 1]);
      await service.sell('B', [second, 1]);

      expect(await results()).toMatchObject([
        { partner_name: 'A', revenue_pct: firstPct },
        { partner_name: 'B', revenue_pct: secondPct },
      ]);
    });

    it('returns three shares of 33.33 for equal revenues', async () => {
      for (const name of ['A', 'B', 'C']) await service.sell(name, ['0.1', 1]);

      expect(await results()).toEqual(
        ['A', 'B', 'C'].map((partner_name) => ({ partner_name, total_revenue: '0.10', revenue_pct: 33.33 })),
      );
    });

    it('returns 100 for a single partner', async () => {
      await service.sell('Acme', ['0.0001', 1]);

      expect(await results()).toEqual([{ partner_name: 'Acme', total_revenue: '0.00', revenue_pct: 100 }]);
    });

    it('returns shares of zero if the total revenue is zero', async () => {
      await service.sell('Birch', ['0', 5]);
      await service.sell('Acme', ['0', 1]);

      expect(await results()).toEqual([
        { partner_name: 'Acme', total_revenue: '0.00', revenue_pct: 0 },
        { partner_name: 'Birch', total_revenue: '0.00', revenue_pct: 0 },
      ]);
    });

    it.each([
      ['1.0049', '1.00'],
      ['1.005', '1.01'],
      ['2.675', '2.68'],
      ['0.015', '0.02'],
      ['1234567890.125', '1234567890.13'],
    ])('rounds the revenue %s half away from zero, to %s', async (price, revenue) => {
      await service.sell('Acme', [price, 1]);

      expect(await results()).toEqual([{ partner_name: 'Acme', total_revenue: revenue, revenue_pct: 100 }]);
    });

    it('computes shares from exact revenues, not rounded ones', async () => {
      // Rounded, it would be 0.01 and 0.00.
      await service.sell('A', ['0.0051', 1]);
      await service.sell('B', ['0.0049', 1]);

      expect(await results()).toEqual([
        { partner_name: 'A', total_revenue: '0.01', revenue_pct: 51 },
        { partner_name: 'B', total_revenue: '0.00', revenue_pct: 49 },
      ]);
    });

    describe('with orders in several currencies', () => {
      beforeEach(async () => {
        await service.sell('Acme', ['1', 1], { currency: 'EUR' });
        await service.sell('Acme', ['10', 1], { currency: 'JPY' });
        await service.sell('Birch', ['1', 3], { currency: 'EUR' });
      });

      it.each([{}, { currency: '' }])('adds them without conversion with %j', async (query) => {
        expect(await results(query as Record<string, string>)).toEqual([
          { partner_name: 'Acme', total_revenue: '11.00', revenue_pct: 78.57 },
          { partner_name: 'Birch', total_revenue: '3.00', revenue_pct: 21.43 },
        ]);
      });

      it('returns shares of the revenue in the given currency', async () => {
        expect(await results({ currency: 'EUR' })).toEqual([
          { partner_name: 'Birch', total_revenue: '3.00', revenue_pct: 75 },
          { partner_name: 'Acme', total_revenue: '1.00', revenue_pct: 25 },
        ]);
        expect(await results({ currency: 'JPY' })).toEqual([
          { partner_name: 'Acme', total_revenue: '10.00', revenue_pct: 100 },
        ]);
        expect(await results({ currency: 'CHF' })).toEqual([]);
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
