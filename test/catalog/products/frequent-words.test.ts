import { sortFields, sortOrders } from '../../../src/catalog/products/products.repository';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  // The word is in more products than are sorted at once, and in none of the newest, which are scanned first.
  await service.db.raw(`
    insert into partners (partner_name) values ('Early'), ('Late');
    insert into products (feed_id, partner_id, sku, product_name, brand, category, price, created_at)
    select 1, partner_id, partner_name || n, case when partner_name = 'Early' then 'Common ' else 'Other ' end || n % 7000,
      nullif('Brand ' || n % 3, 'Brand 2'), 'Category ' || n % 5, nullif(n % 11, 0),
      timestamptz '2026-01-01' + case when partner_name = 'Early' then 0 else 1 end * interval '1 day' + n * interval '1 second'
    from partners, generate_series(1, case when partner_name = 'Early' then 6000 else 13000 end) as n
    order by partner_name, n;
    analyze products;
  `);
  await indexBacklog(service.db);
});

describe('GET /products?q= of a frequent word', () => {
  it.each(sortFields.flatMap((sort) => sortOrders.map((order) => [sort, order] as const)))(
    'lists the same products as a plain statement, by %s %s',
    async (sort_by, order) => {
      for (const filter of [{}, { brand: 'Brand 1' }] as Record<string, string>[]) {
        const query = new URLSearchParams({ q: 'comm', sort_by, order, limit: '20', ...filter });
        const { status, body } = await service.api.get(`/products?${query.toString()}`);

        const wanted: string[] = await service
          .db('products')
          .where(filter)
          .whereLike('product_name', 'Common%')
          .orderByRaw(`${sort_by} ${order} nulls last, product_id ${order}`)
          .limit(20)
          .pluck('sku');
        expect({ status, skus: body.items.map(({ sku }: { sku: string }) => sku) }).toEqual({
          status: 200,
          skus: wanted,
        });
      }
    },
  );
});
