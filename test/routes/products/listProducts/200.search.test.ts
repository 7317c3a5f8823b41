import { indexBacklog } from '../../../../src/catalog/products/search-index';
import { loadProducts } from '../../../support/catalog';
import { walk } from '../../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await loadProducts(
    service,
    [
      { sku: 'TENT-2', product_name: 'Zwei-Personen-Zelt', brand: 'Crème', category: 'Tents', price: '2' },
      { sku: 'LAMP-42', product_name: 'Stirnlampe GRÜN', brand: 'Crème', category: 'Lamps', price: '3' },
      { sku: 'TENT-3', product_name: 'ﬁne Zelt', brand: 'Other', category: 'Tents', price: '1' },
    ],
    'Acme',
  );
  await loadProducts(service, [{ sku: 'TENT-9', product_name: 'Zeltstange', brand: 'Crème' }], 'Birch');
  await indexBacklog(service.db);
});

async function skus(query: Record<string, string>, { api } = service): Promise<string[]> {
  const { status, body } = await api.get(`/products?${new URLSearchParams(query).toString()}`);
  expect(status).toBe(200);
  return body.items.map(({ sku }: { sku: string }) => sku);
}

describe('GET /products?q=', () => {
  it.each([
    ['the beginning of a word of the name', 'pers', ['TENT-2']],
    ['a word of the brand, without accents', 'creme', ['TENT-9', 'LAMP-42', 'TENT-2']],
    ['a word of the brand, with accents and in capitals', 'CRÈME', ['TENT-9', 'LAMP-42', 'TENT-2']],
    ['a word of the sku', '42', ['LAMP-42']],
    ['the beginnings of all words, in any order', 'zel  cre zwei', ['TENT-2']],
    ['compatible forms of letters', 'fi', ['TENT-3']],
    ['words split at other characters', 'grün/lamp', ['LAMP-42']],
    ['a decomposed letter', 'gru\u0308n', ['LAMP-42']],
    ['nothing by the inner part of a word', 'lampe', []],
    ['nothing if one of the words is missing', 'zelt xx', []],
    ['nothing by the category', 'lamps', []],
    ['eight words', 'te te te te te te te ten', ['TENT-9', 'TENT-3', 'TENT-2']],
  ])('finds %s', async (_, q, expected) => {
    expect(await skus({ q })).toEqual(expected);
  });

  it.each(['', ' ', '--', '\u0301'])('counts %j as absent', async (q) => {
    expect(await skus({ q })).toHaveLength(4);
  });

  it.each<[Record<string, string>, string[]]>([
    [{ partner_name: 'Acme' }, ['TENT-3', 'TENT-2']],
    [{ feed_id: 'FD00002' }, ['TENT-9']],
    [{ sku: 'TENT-2' }, ['TENT-2']],
    [{ brand: 'Crème' }, ['TENT-9', 'TENT-2']],
    [{ category: 'Tents', brand: 'Other' }, ['TENT-3']],
    [{ availability: 'in_stock' }, []],
    [{ sort_by: 'price', order: 'asc' }, ['TENT-3', 'TENT-2', 'TENT-9']],
    [{ sort_by: 'brand', order: 'desc', partner_name: 'Acme' }, ['TENT-3', 'TENT-2']],
    [{ partner_name: 'Unknown' }, []],
  ])('combines with %j', async (more, expected) => {
    expect(await skus({ q: 'zelt', ...more })).toEqual(expected);
  });

  it.each<Record<string, string>>([{}, { sort_by: 'product_id' }, { order: 'asc' }])(
    'is paged by cursor with %j',
    async (query) => {
      const pages = await walk(service.api, '/products', 'product_id', { q: 'tent', limit: '1', ...query });

      const { body } = await service.api.get('/products?q=tent');
      const ids = body.items.map(({ product_id }: { product_id: string }) => product_id);
      expect(ids).toHaveLength(3);
      expect(pages.flat().sort()).toEqual(ids.sort());
    },
  );

  it('finds only products of the partner of the key', async () => {
    const api = await withStoredKey(service, 'Birch');

    expect(await skus({ q: 'zelt' }, { ...service, api })).toEqual(['TENT-9']);
  });

  it('finds changed words after the change is indexed, and no longer finds the earlier ones', async () => {
    const own = await startTestService();
    await loadProducts(own, [{ sku: 'A', product_name: 'Earlier' }]);
    await indexBacklog(own.db);
    await loadProducts(own, [{ sku: 'A', product_name: 'Later' }]);

    expect(await skus({ q: 'earlier' }, own)).toEqual(['A']);
    await indexBacklog(own.db);
    expect(await skus({ q: 'earlier' }, own)).toEqual([]);
    expect(await skus({ q: 'later' }, own)).toEqual(['A']);
  });

  it('pages through frequent words', async () => {
    const own = await startTestService();
    await own.db.raw(`
      insert into partners (partner_name) values ('Many');
      insert into products (feed_id, partner_id, sku, product_name, brand)
      select 1, 1, 'S' || n, case when n % 2 = 0 then 'Even' else 'Odd' end, 'B' || n % 3
      from generate_series(1, 12000) as n;
    `);
    await indexBacklog(own.db);

    expect(await skus({ q: 'even', limit: '3', sort_by: 'product_id', order: 'asc' }, own)).toEqual([
      'S2',
      'S4',
      'S6',
    ]);
    expect(
      await skus({ q: 'even', limit: '3', brand: 'B1', sort_by: 'product_id', order: 'desc' }, own),
    ).toEqual(['S11998', 'S11992', 'S11986']);
    expect(await skus({ q: 'even odd' }, own)).toEqual([]);
  });
});
