import { startSalesService, type SalesService } from '../../support/sales';

let service: SalesService;
beforeAll(async () => {
  service = await startSalesService();
  await service.sell('Acme', ['1', 1], { createdAt: '2026-01-31T23:59:59.999Z' });
  await service.sell('Acme', ['2', 1], { createdAt: '2026-02-01T00:00:00Z' });
  await service.sell('Birch', ['4', 1], { createdAt: '2026-02-28T23:59:59.999Z' });
  await service.sell('Birch', ['8', 1], { createdAt: '2026-03-01T00:00:00Z' });
});

const get = (path: string, query: Record<string, string>) =>
  service.api.get(`${path}?${new URLSearchParams(query).toString()}`);

const february = { from: '2026-02-01', to: '2026-03-01' };

it('sales by partner and revenue shares of a range contain its first day and not its end', async () => {
  const { body: partners } = await get('/analytics/sales-by-partner', february);
  const { body: shares } = await get('/analytics/revenue-share', february);

  expect(partners.results).toEqual([
    { partner_name: 'Birch', units_sold: 1, total_sales: '4.00' },
    { partner_name: 'Acme', units_sold: 1, total_sales: '2.00' },
  ]);
  expect(shares.results).toEqual([
    { partner_name: 'Birch', total_revenue: '4.00', revenue_pct: 66.67 },
    { partner_name: 'Acme', total_revenue: '2.00', revenue_pct: 33.33 },
  ]);
});

it('sales over time are those of the range and of the partner', async () => {
  const periods = async (query: Record<string, string>) =>
    ((await get('/analytics/sales-over-time', query)).body.results as Record<string, string>[]).map(
      ({ sales_period, total_sales }) => `${sales_period} ${total_sales}`,
    );

  expect(await periods({ ...february, grain: 'monthly' })).toEqual(['2026-02 6.00']);
  expect(await periods({ from: '2026-02-28' })).toEqual(['2026-02-28 4.00', '2026-03-01 8.00']);
  expect(await periods({ partner_name: 'Acme' })).toEqual(['2026-01-31 1.00', '2026-02-01 2.00']);
  expect(await periods({ partner_name: 'Acme', ...february })).toEqual(['2026-02-01 2.00']);
  expect(await periods({ partner_name: 'Nobody', grain: 'monthly' })).toEqual([]);
});

describe.each([
  '/analytics/sales-by-partner',
  '/analytics/sales-over-time',
  '/analytics/revenue-share',
  '/analytics/sales-by-product',
  '/orders',
])('GET %s', (path) => {
  it.each(['2026-02-29', '2026-2-1', '2026-02-01T00:00:00Z', 'today', '20260201', '\0'])(
    'rejects %j, which is not a date',
    async (text) => {
      for (const name of ['from', 'to']) {
        const { status, body } = await get(path, { [name]: text });

        expect(status).toBe(422);
        expect(body).toEqual({
          detail: [
            {
              type: 'date_parsing',
              loc: ['query', name],
              msg: 'Input should be a valid date in the format YYYY-MM-DD',
              input: text,
            },
          ],
        });
      }
    },
  );

  it.each([
    ['2026-02-02', '2026-02-01'],
    ['2026-02-01', '2026-02-01'],
  ])('rejects a range from %s to %s', async (from, to) => {
    const { status, body } = await get(path, { from, to });

    expect(status).toBe(422);
    expect(body).toEqual({
      detail: [
        { type: 'date_range', loc: ['query', 'to'], msg: "Input should be a date after 'from'", input: to },
      ],
    });
  });

  it('accepts the first and the last day that can be written, and empty days', async () => {
    const whole = (await get(path, {})).body as unknown;

    expect((await get(path, { from: '0000-01-01', to: '9999-12-31' })).body).toEqual(whole);
    expect((await get(path, { from: '', to: '' })).body).toEqual(whole);
    const none = await get(path, { to: '0000-01-01' });
    expect([none.status, Object.values(none.body as object).at(-1)]).toEqual([200, []]);
  });
});
