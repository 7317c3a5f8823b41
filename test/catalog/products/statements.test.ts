import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../../support/api-client';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import { loadProducts } from '../../support/catalog';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
let bound: ApiClient;
beforeAll(async () => {
  service = await startTestService();
  const rows = Array.from({ length: 200 }, (_, at) => ({
    sku: `S${at}`,
    product_name: `Chair ${at}`,
    brand: `Brand ${at % 20}`,
    category: 'Home',
    price: String(1 + at),
    availability: 'in_stock',
  }));
  await loadProducts(service, rows, 'Acme');
  await indexBacklog(service.db);
  bound = await withStoredKey(service, 'Acme');
  await service.db.raw('analyze products, product_words');
});

/** The statements of a request, except the look-up of its key. */
async function statementsOf(request: () => Promise<{ status: number }>): Promise<string[]> {
  const statements: string[] = [];
  const note = ({ sql }: { sql: string }) => {
    if (!sql.includes('from api_keys')) statements.push(sql.trim().slice(0, 60));
  };
  service.pool.on('query', note);
  const { status } = await request();
  service.pool.off('query', note);
  expect(status).toBeLessThan(300);
  return statements;
}

const order = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 1 }] };

/** The table in docs/explanation/architecture.md. */
onLocalProducts(describe, 'a request reads its partners first')(
  'the number of statements of a request',
  () => {
    it.each([
      ['/products', 1],
      ['/products?order=asc&limit=100', 1],
      ['/products?partner_name=Acme', 1],
      ['/products?feed_id=FD00001', 1],
      ['/products?category=Home', 1],
      ['/products?brand=Brand+1', 2],
      ['/products?partner_name=Acme&category=Home&sort_by=price', 1],
      ['/products?sort_by=price', 1],
      ['/products?cursor=PR00002', 1],
      ['/products?partner_name=Acme&cursor=PR00002', 1],
      ['/products?cursor=PR00001', 2],
      ['/products?q=chair', 2],
      ['/products?q=chair+199', 4],
      ['/products/PR00001', 1],
      ['/products/by-feed/FD00001', 1],
      ['/products/facets?field=brand', 1],
    ])('for GET %s equals the documented %d', async (path, count) => {
      expect(await statementsOf(() => service.api.get(path))).toHaveLength(count);
      expect(await statementsOf(() => bound.get(path))).toHaveLength(count);
    });

    it.each([
      ['without a key', {}],
      ['with a key', { 'idempotency-key': randomUUID() }],
    ])('is 1 for POST /orders %s', async (_what, headers) => {
      expect(await statementsOf(() => service.api.post('/orders', order, headers))).toHaveLength(1);
    });
  },
);
