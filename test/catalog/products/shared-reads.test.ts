import type { ApiClient, ApiResponse } from '../../support/api-client';
import { loadProducts } from '../../support/catalog';
import { describeNotModified } from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await loadProducts(service, [{ sku: 'A', brand: 'Acme' }, { sku: 'B' }], 'Acme Outdoor');
});

const paths = [
  '/products',
  '/products?brand=Acme&sort_by=price',
  '/products/facets',
  '/products/PR00001',
  '/products/by-feed/FD00001',
];

describe.each(paths)('GET %s', (path) => {
  describeNotModified(
    path,
    () => service,
    () => service.api,
  );

  it('can be reused by the client for two seconds, for the same key only', async () => {
    const { headers } = await service.api.get(path);

    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['private, max-age=2', 'x-api-key']);
  });

  it('has another entity tag after a change', async () => {
    const own = await startTestService();
    await loadProducts(own, [{ sku: 'A', brand: 'Acme', price: '1' }]);
    const before = await own.api.get(path);
    await own.db('products').update({ price: 2, brand: 'Other' });

    const after = await own.api.get(path, { 'if-none-match': before.headers.get('etag')! });

    expect(after.status).toBe(200);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
  });
});

/** Sends requests while the products are locked, so that all arrive during the first statements. Counts these on the catalog. */
async function sendTogether(
  { api: observer, db, pool }: TestService,
  requests: { api: ApiClient; path: string }[],
): Promise<{ answers: ApiResponse[]; statements: number }> {
  let statements = 0;
  const note = ({ sql }: { sql: string }) => {
    if (/\bproducts\b/.test(sql)) statements++;
  };
  const lock = await db.transaction();
  await lock.raw('lock table products');
  pool.on('query', note);
  const pending = Promise.all(requests.map(({ api, path }) => api.get(path)));
  // The service runs in this process: it has received the requests before it responds to these.
  for (let turn = 0; turn < 5; turn++) await observer.get('/health');
  await lock.rollback();
  const answers = await pending;
  pool.removeListener('query', note);
  return { answers, statements };
}

describe('catalog reads that arrive concurrently', () => {
  it('share a statement if they are the same', async () => {
    const same = { api: service.api, path: '/products?sort_by=price' };

    const { answers, statements } = await sendTogether(service, new Array<typeof same>(40).fill(same));

    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1);
    expect(statements).toBeGreaterThan(0);
    expect(statements).toBeLessThan(40);
  });

  it('share a statement if each is for one product, and get their own product', async () => {
    const ids = Array.from({ length: 40 }, (_, at) => `PR0000${(at % 3) + 1}`);

    const { answers, statements } = await sendTogether(
      service,
      ids.map((id) => ({ api: service.api, path: `/products/${id}` })),
    );

    expect(statements).toBeGreaterThan(0);
    expect(statements).toBeLessThan(20);
    expect(answers.map(({ status, body }) => (status === 200 ? body.product_id : status))).toEqual(
      ids.map((id) => (id === 'PR00003' ? 404 : id)),
    );
  });

  it('show a key only the products of its partner', async () => {
    const own = await startTestService();
    await loadProducts(own, [{ sku: 'A', brand: 'Acme' }, { sku: 'B' }], 'NorthMart');
    await loadProducts(own, [{ sku: 'C', brand: 'Other' }], 'SouthMart');
    const limited = await withStoredKey(own, 'SouthMart');
    // Caches the key, so that its requests do not wait for its look-up.
    await limited.get('/products');
    const asked = Array.from({ length: 30 }, (_, at) => ({
      api: at % 2 === 0 ? own.api : limited,
      path: ['/products', '/products/PR00001', '/products/facets'][Math.floor(at / 2) % 3]!,
    }));

    const { answers } = await sendTogether(own, asked);

    const shown = ({ status, body }: ApiResponse) =>
      status === 404
        ? status
        : (body.items?.map((item: { sku?: string; value?: string }) => item.sku ?? item.value).join() ??
          body.sku);
    expect(answers.map(shown)).toEqual(
      asked.map(({ api, path }) => {
        const [ofAll, ofSouthMart] = {
          '/products': ['C,B,A', 'C'],
          '/products/PR00001': ['A', 404],
          '/products/facets': ['Acme,Other', 'Other'],
        }[path]!;
        return api === limited ? ofSouthMart : ofAll;
      }),
    );
  });
});
