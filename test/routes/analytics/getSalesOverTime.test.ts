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

const path = '/analytics/sales-over-time';

async function results(query: Record<string, string> = {}): Promise<unknown[]> {
  const { status, body } = await service.api.get(`${path}?${new URLSearchParams(query).toString()}`);
  expect(status).toBe(200);
  expect(body).toEqual({
    analytics_type: 'sales_over_time',
    grain: query.grain ?? 'daily',
    results: expect.any(Array),
  });
  return body.results;
}

describe('GET /analytics/sales-over-time', () => {
  describe('200', () => {
    it.each([
      ['', 'daily'],
      ['?grain=daily', 'daily'],
      ['?grain=monthly', 'monthly'],
    ])('has no results without orders: %j', async (query, grain) => {
      const { status, body } = await service.api.get(path + query);

      expect(status).toBe(200);
      expect(body).toEqual({ analytics_type: 'sales_over_time', grain, results: [] });
    });

    describe('over the change of days, months and years', () => {
      beforeEach(async () => {
        const times: [createdAt: string, quantity: number][] = [
          ['2026-03-01T00:00:00Z', 1],
          ['2025-12-31T23:59:59.999999Z', 2],
          ['2026-01-01T00:00:00Z', 4],
          ['2026-02-28T23:59:59.999999Z', 8],
          ['2026-03-01T23:59:59.999Z', 16],
          ['2026-03-02T00:00:00Z', 32],
          // In other time zones: 2 March in Berlin is still 1 March in UTC, and vice versa.
          ['2026-03-02T00:30:00+01:00', 64],
          ['2026-03-31T23:30:00-01:00', 128],
          ['2024-02-29T12:00:00Z', 256],
        ];
        for (const [createdAt, quantity] of times)
          await service.sell('Acme', ['0.50', quantity], { createdAt });
      });

      const daily = [
        { sales_period: '2024-02-29', units_sold: 256, total_sales: '128.00' },
        { sales_period: '2025-12-31', units_sold: 2, total_sales: '1.00' },
        { sales_period: '2026-01-01', units_sold: 4, total_sales: '2.00' },
        { sales_period: '2026-02-28', units_sold: 8, total_sales: '4.00' },
        { sales_period: '2026-03-01', units_sold: 81, total_sales: '40.50' },
        { sales_period: '2026-03-02', units_sold: 32, total_sales: '16.00' },
        { sales_period: '2026-04-01', units_sold: 128, total_sales: '64.00' },
      ];
      const monthly = [
        { sales_period: '2024-02', units_sold: 256, total_sales: '128.00' },
        { sales_period: '2025-12', units_sold: 2, total_sales: '1.00' },
        { sales_period: '2026-01', units_sold: 4, total_sales: '2.00' },
        { sales_period: '2026-02', units_sold: 8, total_sales: '4.00' },
        { sales_period: '2026-03', units_sold: 113, total_sales: '56.50' },
        { sales_period: '2026-04', units_sold: 128, total_sales: '64.00' },
      ];

      it('returns the UTC days with orders, in chronological order', async () => {
        expect(await results()).toEqual(daily);
        expect(await results({ grain: 'daily' })).toEqual(daily);
      });

      it('returns the UTC months with orders, in chronological order', async () => {
        expect(await results({ grain: 'monthly' })).toEqual(monthly);
      });

      it.each(['Pacific/Kiritimati', 'America/Los_Angeles'])(
        "is independent of the database's time zone %s",
        async (timeZone) => {
          const { db } = service;
          const database = service.address.database!;
          const reconnect = async () => {
            await db.destroy();
            db.initialize();
          };
          await db.raw(`alter database ${database} set timezone to '${timeZone}'`);
          await reconnect();
          try {
            const { rows } = await db.raw<{ rows: unknown[] }>('show timezone');
            expect(rows).toEqual([{ TimeZone: timeZone }]);
            expect(await results()).toEqual(daily);
            expect(await results({ grain: 'monthly' })).toEqual(monthly);
          } finally {
            await db.raw(`alter database ${database} reset timezone`);
            await reconnect();
          }
        },
      );
    });

    it('assigns a new order to the current UTC day and month', async () => {
      const before = new Date().toISOString();
      await service.sell('Acme', ['1', 1]);
      const after = new Date().toISOString();

      const [day] = (await results()) as { sales_period: string }[];
      const [month] = (await results({ grain: 'monthly' })) as { sales_period: string }[];

      expect([before.slice(0, 10), after.slice(0, 10)]).toContain(day!.sales_period);
      expect([before.slice(0, 7), after.slice(0, 7)]).toContain(month!.sales_period);
    });

    it('sums the orders of all partners', async () => {
      const createdAt = '2026-03-02T10:00:00Z';
      await service.sell(
        'Acme',
        [
          ['189.90', 2],
          ['24.50', 1],
        ],
        { createdAt },
      );
      await service.sell('Birch', ['24.50', 1], { createdAt });

      expect(await results()).toEqual([{ sales_period: '2026-03-02', units_sold: 4, total_sales: '428.80' }]);
    });

    it.each<[Line[], string]>([
      [[['0.1', 3]], '0.30'],
      [[['19.99', 7]], '139.93'],
      [[['1.0049', 1]], '1.00'],
      [[['1.005', 1]], '1.01'],
      [[['0.015', 1]], '0.02'],
      [
        [
          ['0.005', 1],
          ['0.005', 1],
        ],
        '0.01',
      ],
      [[['0', 4]], '0.00'],
      [[['999999999999.9999', 1_000_000]], '999999999999999900.00'],
    ])(
      'returns the exact amount of %j, rounded half away from zero to two decimals',
      async (lines, total) => {
        await service.sell('Acme', lines, { createdAt: '2026-03-02T10:00:00Z' });

        const units = lines.reduce((sum, [, quantity]) => sum + quantity, 0);
        const sales = { units_sold: units, total_sales: total };
        expect(await results()).toEqual([{ sales_period: '2026-03-02', ...sales }]);
        expect(await results({ grain: 'monthly' })).toEqual([{ sales_period: '2026-03', ...sales }]);
      },
    );

    it('rounds the sum of a period, not each order or day', async () => {
      for (const day of ['01', '02', '03']) {
        await service.sell('Acme', ['0.0049', 1], { createdAt: `2026-03-${day}T10:00:00Z` });
      }

      expect(await results({ grain: 'monthly' })).toEqual([
        { sales_period: '2026-03', units_sold: 3, total_sales: '0.01' },
      ]);
      expect(await results()).toMatchObject([
        { total_sales: '0.00' },
        { total_sales: '0.00' },
        { total_sales: '0.00' },
      ]);
    });

    describe('with orders in several currencies', () => {
      beforeEach(async () => {
        await service.sell('Acme', ['1', 1], { currency: 'EUR', createdAt: '2026-03-01T10:00:00Z' });
        await service.sell('Acme', ['10', 2], { currency: 'JPY', createdAt: '2026-03-01T11:00:00Z' });
        await service.sell('Birch', ['5', 3], { currency: 'EUR', createdAt: '2026-03-02T10:00:00Z' });
      });

      it.each([{}, { currency: '' }])('adds them without conversion with %j', async (query) => {
        expect(await results(query as Record<string, string>)).toEqual([
          { sales_period: '2026-03-01', units_sold: 3, total_sales: '21.00' },
          { sales_period: '2026-03-02', units_sold: 3, total_sales: '15.00' },
        ]);
      });

      it('counts only orders in the given currency', async () => {
        expect(await results({ currency: 'JPY' })).toEqual([
          { sales_period: '2026-03-01', units_sold: 2, total_sales: '20.00' },
        ]);
        expect(await results({ currency: 'EUR', grain: 'monthly' })).toEqual([
          { sales_period: '2026-03', units_sold: 4, total_sales: '16.00' },
        ]);
        expect(await results({ currency: 'CHF' })).toEqual([]);
      });
    });
  });

  describe('422', () => {
    const wrongGrain = (input: unknown) => ({
      type: 'enum',
      loc: ['query', 'grain'],
      msg: "Input should be 'daily' or 'monthly'",
      input,
      ctx: { expected: "'daily' or 'monthly'" },
    });

    const grainTwice = { ...currencyTwice, loc: ['query', 'grain'], input: ['daily', 'daily'] };

    it.each([
      'weekly',
      '',
      'Daily',
      'MONTHLY',
      'daily ',
      ' daily',
      'day',
      'daily,monthly',
      '1',
      'null',
      '\0',
    ])('rejects the grain %j, which is neither daily nor monthly', async (grain) => {
      const { status, body } = await service.api.get(`${path}?${new URLSearchParams({ grain }).toString()}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [wrongGrain(grain)] });
    });

    it('rejects a repeated grain', async () => {
      const { status, body } = await service.api.get(`${path}?grain=daily&grain=daily`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [grainTwice] });
    });

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

    it('reports a wrong grain and a wrong currency at once', async () => {
      const { status, body } = await service.api.get(`${path}?grain=weekly&currency=eur`);

      expect(status).toBe(422);
      expect(body.detail).toHaveLength(2);
      expect(body.detail).toEqual(expect.arrayContaining([wrongGrain('weekly'), wrongCurrency('eur')]));
    });
  });
});
