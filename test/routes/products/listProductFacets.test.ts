import { indexBacklog } from '../../../src/catalog/products/search-index';
import { holdsNul } from '../../support/expectations';
import { loadProducts } from '../../support/catalog';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await loadProducts(
    service,
    [
      { sku: 'A', product_name: 'Red tent', brand: 'Acme', category: 'Tents', availability: 'in_stock' },
      { sku: 'B', product_name: 'Blue tent', brand: 'Acme', category: 'Tents', availability: 'out_of_stock' },
      { sku: 'C', product_name: 'Lamp', brand: 'Zeta', category: 'Lamps', availability: 'in_stock' },
      { sku: 'D', product_name: 'Rope', brand: 'Beta' },
    ],
    'Acme',
  );
  await loadProducts(service, [{ sku: 'A', product_name: 'Red boat', brand: 'Zeta' }], 'Birch');
  await indexBacklog(service.db);
});

/** Values and their counts, all exact. */
async function facets(query: Record<string, string>, api = service.api) {
  const { status, body } = await api.get(`/products/facets?${new URLSearchParams(query).toString()}`);
  expect(status).toBe(200);
  expect(body.field).toBe(query.field ?? 'brand');
  return body.items.map(({ value, count, is_exact }: { value: string; count: number; is_exact: boolean }) => {
    expect(is_exact).toBe(true);
    return `${value} ${count}`;
  });
}

describe('GET /products/facets', () => {
  describe('200', () => {
    it.each<[Record<string, string>, string[]]>([
      [{}, ['Acme 2', 'Zeta 2', 'Beta 1']],
      [{ field: 'brand', partner_name: 'Acme' }, ['Acme 2', 'Beta 1', 'Zeta 1']],
      [{ field: 'category' }, ['Tents 2', 'Lamps 1']],
      [{ field: 'availability' }, ['in_stock 2', 'out_of_stock 1']],
      [{ field: 'brand', q: 'red' }, ['Acme 1', 'Zeta 1']],
      [{ field: 'brand', q: 'red te', category: 'Tents' }, ['Acme 1']],
      [{ field: 'availability', brand: 'Acme' }, ['in_stock 1', 'out_of_stock 1']],
      [{ field: 'category', availability: 'in_stock' }, ['Lamps 1', 'Tents 1']],
      [{ field: 'category', feed_id: 'FD00002' }, []],
      [{ field: 'brand', sku: 'A' }, ['Acme 1', 'Zeta 1']],
      [{ field: 'brand', partner_name: 'Unknown' }, []],
      [{ field: 'brand', brand: '' }, ['Acme 2', 'Zeta 2', 'Beta 1']],
    ])(
      'counts the values of %j, the most frequent first, without products that have no value',
      async (query, expected) => {
        expect(await facets(query)).toEqual(expected);
      },
    );

    it('counts only products of the partner of the key', async () => {
      expect(await facets({}, await withStoredKey(service, 'Birch'))).toEqual(['Zeta 1']);
    });

    it('excludes withdrawn products', async () => {
      const own = await startTestService();
      await loadProducts(own, [
        { sku: 'A', brand: 'Acme' },
        { sku: 'B', brand: 'Acme' },
      ]);
      await own.db('products').where({ sku: 'A' }).update({ withdrawn_at: '2026-03-01T09:30:00Z' });

      expect(await facets({}, own.api)).toEqual(['Acme 1']);
    });

    it('returns the 50 most frequent values, and counts up to 10,000', async () => {
      const own = await startTestService();
      await own.db.raw(`
        insert into partners (partner_name) values ('Many');
        insert into products (feed_id, partner_id, sku, product_name, brand)
        select 1, 1, 'S' || n, 'Name', case when n <= 10001 then 'A' when n <= 20001 then 'B' else 'C' || n end
        from generate_series(1, 20060) as n;
      `);

      const { body } = await own.api.get('/products/facets?field=brand');

      expect(body.items).toHaveLength(50);
      expect(body.items.slice(0, 3)).toEqual([
        { value: 'A', count: 10_000, is_exact: false },
        { value: 'B', count: 10_000, is_exact: true },
        { value: 'C20002', count: 1, is_exact: true },
      ]);
    });
  });

  describe('422', () => {
    it.each(['price', 'Brand', ''])('rejects the field %j', async (field) => {
      const { status, body } = await service.api.get(`/products/facets?field=${field}`);

      expect(status).toBe(422);
      expect(body.detail).toEqual([
        {
          type: 'enum',
          loc: ['query', 'field'],
          msg: "Input should be 'brand', 'category' or 'availability'",
          input: field,
          ctx: { expected: "'brand', 'category' or 'availability'" },
        },
      ]);
    });

    it('rejects a search text of one character', async () => {
      const { status, body } = await service.api.get('/products/facets?q=te%20x');

      expect(status).toBe(422);
      expect(body.detail[0]).toMatchObject({ type: 'word_too_short', loc: ['query', 'q'], input: 'te x' });
    });

    it('rejects a filter with a NUL character', async () => {
      const { status, body } = await service.api.get('/products/facets?q=%00');

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [holdsNul('q', '\0')] });
    });
  });
});
