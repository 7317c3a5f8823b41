import type { ApiResponse } from '../../../support/api-client';
import { pagesOf, walk as walkPages, aTimestamp } from '../../../support/expectations';
import { loadProducts, setCreatedAt, type FeedRow } from '../../../support/catalog';
import { onLocalProducts } from '../../../support/local-products';
import { startTestService, type TestService } from '../../../support/service';

type Query = Record<string, string> | string;

function list(service: TestService, query: Query = {}): Promise<ApiResponse> {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString();
  return service.api.get(`/products?${text}`);
}

async function names(service: TestService, query: Query): Promise<string[]> {
  const { status, body } = await list(service, query);
  expect(status).toBe(200);
  expect(body.count).toBe(body.items.length);
  return body.items.map((item: { product_name: string }) => item.product_name);
}

const walk = ({ api }: TestService, query: Record<string, string>, cursor?: string) =>
  walkPages(api, '/products', 'product_id', query, cursor);

const product = (number: number) => `PR${String(number).padStart(5, '0')}`;

describe('GET /products', () => {
  describe('200', () => {
    describe('the items', () => {
      let service: TestService;
      beforeAll(async () => {
        service = await startTestService();
      });

      it('is an empty list before the first run', async () => {
        const empty = await startTestService();
        await empty.api.uploadFeed('sku,product_name\nA,A\n');

        const { status, body } = await list(empty);

        expect(status).toBe(200);
        expect(body).toEqual({ count: 0, items: [] });
      });

      it('returns fields with a value, and omits the others', async () => {
        const { feedId, productIds } = await loadProducts(
          service,
          [
            {
              sku: '007',
              product_name: 'Zelt für „zwei“',
              description: 'Light, "quick"\nto pitch',
              brand: 'Acme',
              category: 'Camping/Tents',
              price: '189.90',
              currency: 'EUR',
              availability: 'in_stock',
            },
            { sku: 'LAMP-1', product_name: 'Head lamp' },
          ],
          'Fields & Co',
        );

        const { status, body } = await list(service, { partner_name: 'Fields & Co', order: 'asc' });

        expect(status).toBe(200);
        expect(body).toEqual({
          count: 2,
          items: [
            {
              product_id: productIds[0],
              feed_id: feedId,
              partner_name: 'Fields & Co',
              sku: '007',
              product_name: 'Zelt für „zwei“',
              description: 'Light, "quick"\nto pitch',
              brand: 'Acme',
              category: 'Camping/Tents',
              price: 189.9,
              currency: 'EUR',
              availability: 'in_stock',
              created_at: aTimestamp,
            },
            {
              product_id: productIds[1],
              feed_id: feedId,
              partner_name: 'Fields & Co',
              sku: 'LAMP-1',
              product_name: 'Head lamp',
              created_at: aTimestamp,
            },
          ],
        });
      });

      it('returns prices as JSON numbers, with all four decimals', async () => {
        const prices = ['0', '0.0001', '5.0000', '19.99', '1234.5678', '999999999999.9999'];
        const rows = prices.map((price, index) => ({ sku: `P-${index}`, price }));
        await loadProducts(service, rows, 'Prices');

        const { body } = await list(service, {
          partner_name: 'Prices',
          sort_by: 'product_id',
          order: 'asc',
        });

        expect(body.items.map((item: { price: unknown }) => item.price)).toEqual([
          0, 0.0001, 5, 19.99, 1234.5678, 999999999999.9999,
        ]);
      });
    });

    describe('filters', () => {
      /** By product name. */
      const fixtures: Record<string, FeedRow & { partner_name: string }> = {
        tent: {
          sku: 'S-1',
          brand: 'Acme',
          category: 'Tents',
          availability: 'in_stock',
          partner_name: 'Birch & Sons',
        },
        brandInLowerCase: {
          sku: 'S-2',
          brand: 'acme',
          category: 'Tents',
          availability: 'in_stock',
          partner_name: 'Birch & Sons',
        },
        categoryInLowerCase: {
          sku: 's-1',
          brand: 'Acme',
          category: 'tents',
          availability: 'out_of_stock',
          partner_name: 'Birch & Sons',
        },
        bare: { sku: 'S-4', partner_name: 'Birch & Sons' },
        special: {
          sku: `50% _off_ 'n "quoted" + \\ 😀`,
          brand: '%',
          category: '_',
          availability: 'in_stock',
          partner_name: 'birch & sons',
        },
        sameSku: {
          sku: 'S-1',
          brand: 'Acme',
          category: 'Tents',
          availability: 'in_stock',
          partner_name: 'birch & sons',
        },
      };
      const everything = Object.keys(fixtures);

      let service: TestService;
      const feedOf: Record<string, string> = {};
      beforeAll(async () => {
        service = await startTestService();
        for (const partnerName of ['Birch & Sons', 'birch & sons']) {
          const rows = Object.entries(fixtures)
            .filter(([, { partner_name }]) => partner_name === partnerName)
            .map(([product_name, { partner_name: _, ...row }]) => ({ ...row, product_name }));
          feedOf[partnerName] = (await loadProducts(service, rows, partnerName)).feedId;
        }
      });

      const found = async (query: Query) => (await names(service, query)).sort();

      it.each<[Record<string, string>, string[]]>([
        [{}, everything],
        [{ partner_name: 'Birch & Sons' }, ['tent', 'brandInLowerCase', 'categoryInLowerCase', 'bare']],
        [{ partner_name: 'birch & sons' }, ['special', 'sameSku']],
        [{ partner_name: 'Birch' }, []],
        [{ sku: 'S-1' }, ['tent', 'sameSku']],
        [{ sku: 's-1' }, ['categoryInLowerCase']],
        [{ sku: 'S-' }, []],
        [{ sku: `50% _off_ 'n "quoted" + \\ 😀` }, ['special']],
        [{ brand: 'Acme' }, ['tent', 'categoryInLowerCase', 'sameSku']],
        [{ brand: 'acme' }, ['brandInLowerCase']],
        [{ brand: 'ACME' }, []],
        [{ brand: 'Acme ' }, []],
        [{ brand: '%' }, ['special']],
        [{ category: 'Tents' }, ['tent', 'brandInLowerCase', 'sameSku']],
        [{ category: '_' }, ['special']],
        [{ availability: 'in_stock' }, ['tent', 'brandInLowerCase', 'special', 'sameSku']],
        [{ availability: 'In Stock' }, []],
        [{ availability: 'out_of_stock' }, ['categoryInLowerCase']],
        [{ availability: 'preorder' }, []],
      ])('%j returns exactly the products with this exact text', async (query, expected) => {
        expect(await found(query)).toEqual([...expected].sort());
      });

      it('returns the products that the feed wrote last', async () => {
        expect(await found({ feed_id: feedOf['birch & sons']! })).toEqual(['sameSku', 'special']);
      });

      it('returns products that match all filters, for each combination', async () => {
        const wanted: Record<string, string> = {
          partner_name: 'birch & sons',
          feed_id: feedOf['birch & sons']!,
          sku: 'S-1',
          brand: 'Acme',
          category: 'Tents',
          availability: 'in_stock',
        };
        const filters = Object.keys(wanted);
        for (let chosen = 0; chosen < 2 ** filters.length; chosen++) {
          const query = Object.fromEntries(
            filters.filter((_, bit) => chosen & (1 << bit)).map((name) => [name, wanted[name]!]),
          );
          const expected = everything.filter((name) => {
            const row: Record<string, string> = {
              ...fixtures[name],
              feed_id: feedOf[fixtures[name]!.partner_name]!,
            };
            return Object.entries(query).every(([filter, value]) => row[filter] === value);
          });

          expect({ query, found: await found(query) }).toEqual({ query, found: expected.sort() });
        }
      });

      it.each(['partner_name', 'feed_id', 'sku', 'brand', 'category', 'availability', 'cursor'])(
        'treats an empty %s as absent',
        async (name) => {
          expect(await found({ [name]: '' })).toEqual([...everything].sort());
        },
      );

      it('treats empty filters as absent, and applies the others', async () => {
        const empty = { partner_name: '', feed_id: '', sku: '', category: '', availability: '', cursor: '' };
        expect(await found({ ...empty, brand: '' })).toEqual([...everything].sort());
        expect(await found({ ...empty, brand: 'acme' })).toEqual(['brandInLowerCase']);
      });

      it.each([
        'FD1',
        'FD99999',
        'FD000001',
        'fd00001',
        'PR00001',
        '1',
        '%',
        ' FD00001',
        'FD00001 ',
        'FD0000１',
        'FD99999999999999999999',
        'FD-00001',
      ])('returns an empty list for the feed_id %j, which is malformed or unknown', async (feedId) => {
        const { status, body } = await list(service, { feed_id: feedId });

        expect(status).toBe(200);
        expect(body).toEqual({ count: 0, items: [] });
      });
    });

    describe('order', () => {
      let service: TestService;
      let ids: string[];
      beforeAll(async () => {
        service = await startTestService();
        const { productIds } = await loadProducts(service, [
          { sku: '1', product_name: 'Zelt', brand: 'beta', category: 'x', price: '10' },
          { sku: '2', product_name: 'apple', category: 'X', price: '9.5' },
          { sku: '3', product_name: 'éclair', brand: 'Beta' },
          { sku: '4', product_name: 'Zelt', brand: 'beta', category: 'x', price: '10.0000' },
          { sku: '5', product_name: '😀', brand: 'Ärger', price: '0' },
          { sku: '6', product_name: 'Ａ', category: 'x y', price: '100' },
          { sku: '7', product_name: 'apple', brand: 'Beta', category: 'x' },
          { sku: '8', product_name: 'apple 2', brand: 'beta 2', category: 'X', price: '9.5001' },
        ]);
        ids = productIds;
        const minutes = [3, 1, 2, 3, 1, 2, 3, 2];
        for (const [index, id] of ids.entries()) {
          await setCreatedAt(service, id, `2026-03-01T10:0${minutes[index]!}:00Z`);
        }
      });

      const skus = async (query: Query) => {
        const { status, body } = await list(service, query);
        expect(status).toBe(200);
        return body.items.map((item: { sku: string }) => item.sku).join('');
      };

      it('defaults to created_at descending, ties by product number descending', async () => {
        expect(await skus({})).toBe('74186352');
      });

      it.each([
        ['order=asc', '25368147'],
        ['order=desc', '74186352'],
      ])('is the default order in the direction of %s alone', async (query, expected) => {
        expect(await skus(query)).toBe(expected);
      });

      // By code point: Z < a < é < Ａ (U+FF21) < 😀 (U+1F600); B < b < Ä. Nulls come last in both directions.
      it.each([
        ['product_id', 'asc', '12345678'],
        ['product_id', 'desc', '87654321'],
        ['created_at', 'asc', '25368147'],
        ['created_at', 'desc', '74186352'],
        ['product_name', 'asc', '14278365'],
        ['product_name', 'desc', '56387241'],
        ['brand', 'asc', '37148526'],
        ['brand', 'desc', '58417362'],
        ['category', 'asc', '28147635'],
        ['category', 'desc', '67418253'],
        ['price', 'asc', '52814637'],
        ['price', 'desc', '64182573'],
      ])('sorts by %s %s, ties by product number in the same direction', async (sort_by, order, expected) => {
        expect(await skus({ sort_by, order })).toBe(expected);
      });

      it.each([
        ['product_id', '87654321'],
        ['created_at', '74186352'],
        ['product_name', '56387241'],
        ['brand', '58417362'],
        ['category', '67418253'],
        ['price', '64182573'],
      ])('sorts by %s descending when no order is given', async (sort_by, expected) => {
        expect(await skus({ sort_by })).toBe(expected);
      });

      const sorts = ['product_id', 'created_at', 'product_name', 'brand', 'category', 'price'].flatMap(
        (sort_by) => ['asc', 'desc'].map((order) => [sort_by, order] as const),
      );
      it.each(sorts)(
        'has a next_cursor only if more products exist, sorted by %s %s',
        async (sort_by, order) => {
          const whole = await skus({ sort_by, order });

          for (const limit of [1, 3, 4, 7]) {
            const { body } = await list(service, { sort_by, order, limit: String(limit) });
            expect(body).toEqual({ count: limit, items: expect.any(Array), next_cursor: expect.any(String) });
            expect(body.items.map((item: { sku: string }) => item.sku).join('')).toBe(whole.slice(0, limit));
            expect(body.next_cursor).toBe(body.items.at(-1).product_id);
          }
          for (const limit of [8, 9, 100]) {
            const { body } = await list(service, { sort_by, order, limit: String(limit) });
            expect(body).toEqual({ count: 8, items: expect.any(Array) });
          }
        },
      );

      it('treats an empty cursor as absent, also with a sort without cursors', async () => {
        expect(await skus({ sort_by: 'price', cursor: '' })).toBe('64182573');
      });
    });

    describe('texts longer than their index entries', () => {
      /** Four bytes each, without a pattern, so that they cannot be compressed. */
      const beginning = Array.from({ length: 998 }, (_, at) =>
        String.fromCodePoint(0x20000 + ((at * 7919) % 40_000)),
      ).join('');
      let service: TestService;
      beforeAll(async () => {
        service = await startTestService();
        await loadProducts(
          service,
          ['zz', 'b', 'ab', 'b', 'aa'].map((end, index) => ({
            sku: `${index + 1}`,
            product_name: beginning + end,
            category: beginning + end,
          })),
          'Long',
        );
        await loadProducts(
          service,
          [
            { sku: '6', product_name: [...beginning].slice(0, 600).join(''), category: 'A' },
            { sku: '7', product_name: 'A', category: [...beginning].slice(0, 600).join('') },
          ],
          'Short',
        );
      });

      const skus = async (query: Query) =>
        (await list(service, query)).body.items.map((item: { sku: string }) => item.sku).join('');

      it.each([
        ['product_name', 'asc', '7653241'],
        ['product_name', 'desc', '1423567'],
        ['category', 'asc', '6753241'],
        ['category', 'desc', '1423576'],
      ])('are sorted by %s %s to the last character', async (sort_by, order, expected) => {
        expect(await skus({ sort_by, order })).toBe(expected);
        for (let limit = 1; limit <= 7; limit++) {
          expect(await skus({ sort_by, order, limit: `${limit}` })).toBe(expected.slice(0, limit));
        }
        expect(await skus({ sort_by, order, partner_name: 'Long', limit: '2' })).toBe(
          expected.replace(/[67]/g, '').slice(0, 2),
        );
      });

      it('are compared completely by a filter', async () => {
        expect(await skus({ category: `${beginning}b`, order: 'asc' })).toBe('24');
        expect(await skus({ category: `${beginning}b`, sort_by: 'product_id', order: 'asc' })).toBe('24');
        expect(await skus({ category: `${beginning}b`, sort_by: 'category' })).toBe('42');
        expect(await skus({ category: [...beginning].slice(0, 600).join('') })).toBe('7');
        expect(await skus({ category: beginning })).toBe('');
      });
    });

    describe('paging', () => {
      let service: TestService;
      /** By number. Two feeds of 24, each loaded at one time; the first one counts as loaded later. */
      let first: string[];
      let second: string[];
      beforeAll(async () => {
        service = await startTestService();
        const rows = (from: number) =>
          Array.from({ length: 24 }, (_, index) => ({
            sku: `${from + index}`,
            brand: index % 3 === 0 ? 'rare' : 'common',
          }));
        first = (await loadProducts(service, rows(1))).productIds;
        second = (await loadProducts(service, rows(25))).productIds;
        await service
          .db('products')
          .whereIn(
            'product_id',
            first.map((id) => Number(id.slice(2))),
          )
          .update({ created_at: '2099-01-01T00:00:00.123456Z' });
      });

      const rare = (ids: string[]) => ids.filter((_, index) => index % 3 === 0);
      const walks: [query: Record<string, string>, ids: () => string[]][] = [
        [{}, () => [...second, ...first].reverse()],
        [{ order: 'desc' }, () => [...second, ...first].reverse()],
        [{ order: 'asc' }, () => [...second, ...first]],
        [{ sort_by: 'product_id' }, () => [...first, ...second].reverse()],
        [{ sort_by: 'product_id', order: 'desc' }, () => [...first, ...second].reverse()],
        [{ sort_by: 'product_id', order: 'asc' }, () => [...first, ...second]],
        [{ brand: 'rare' }, () => [...rare(second), ...rare(first)].reverse()],
        [{ brand: 'rare', order: 'asc' }, () => [...rare(second), ...rare(first)]],
        [{ brand: 'rare', sort_by: 'product_id' }, () => [...rare(first), ...rare(second)].reverse()],
        [{ brand: 'rare', sort_by: 'product_id', order: 'asc' }, () => [...rare(first), ...rare(second)]],
      ];

      it.each(walks)('returns each product exactly once over all pages with %j', async (query, ids) => {
        // Of 48 and of 16: with and without a remainder.
        for (const limit of [5, 8, 16, 47, 48, 49]) {
          expect(await walk(service, { ...query, limit: String(limit) })).toEqual(pagesOf(ids(), limit));
        }
      });

      it('returns each product exactly once with limit=1', async () => {
        expect(await walk(service, { limit: '1' })).toEqual(pagesOf([...second, ...first].reverse(), 1));
      });

      it('has 10 products per page by default', async () => {
        expect(await walk(service, {})).toEqual(pagesOf([...second, ...first].reverse(), 10));
      });

      it('accepts the limits 1 and 100', async () => {
        expect((await list(service, 'limit=1')).body.count).toBe(1);
        expect((await list(service, 'limit=100')).body.count).toBe(48);
      });

      it('continues after a product that does not match the filters', async () => {
        // The second product of a feed is a frequent one; the rare ones before it are too.
        const rest = rare(first).slice(1);
        expect((await walk(service, { brand: 'rare', order: 'asc' }, first[1])).flat()).toEqual(rest);
        expect((await walk(service, { brand: 'rare', order: 'desc' }, second[1])).flat()).toEqual([
          second[0],
        ]);
      });

      it('continues after a product of another partner than the filter asks for', async () => {
        const own = await startTestService();
        const old = await loadProducts(own, [{ sku: 'A' }], 'NorthMart');
        const other = await loadProducts(own, [{ sku: 'B' }], 'SouthMart');
        const late = await loadProducts(own, [{ sku: 'C' }], 'NorthMart');
        const query = { partner_name: 'NorthMart' };
        const [cursor] = other.productIds;

        expect(await walk(own, { ...query, order: 'desc' }, cursor)).toEqual([old.productIds]);
        expect(await walk(own, { ...query, order: 'asc' }, cursor)).toEqual([late.productIds]);
        expect(await walk(own, { feed_id: late.feedId, order: 'asc' }, cursor)).toEqual([late.productIds]);
      });

      it('returns an empty page after the last product', async () => {
        const { status, body } = await list(service, { order: 'asc', cursor: first.at(-1)! });

        expect(status).toBe(200);
        expect(body).toEqual({ count: 0, items: [] });
      });

      it('treats a cursor as a position with sort_by=product_id: the product need not exist', async () => {
        const sorted = { sort_by: 'product_id', limit: '100' };
        const all = [...first, ...second];
        expect((await walk(service, { ...sorted, order: 'asc' }, 'PR00000')).flat()).toEqual(all);
        expect((await walk(service, { ...sorted, order: 'desc' }, 'PR99999')).flat()).toEqual(
          [...all].reverse(),
        );
        expect((await walk(service, { ...sorted, order: 'asc' }, 'PR99999')).flat()).toEqual([]);
        expect((await walk(service, { ...sorted, order: 'desc' }, 'PR00000')).flat()).toEqual([]);
        expect((await walk(service, { ...sorted, order: 'desc' }, 'PR100000')).flat()).toEqual(
          [...all].reverse(),
        );
      });

      it('returns the initial products exactly once during other loads', async () => {
        const own = await startTestService();
        const old = await loadProducts(own, [{ sku: 'A' }, { sku: 'B' }, { sku: 'C' }, { sku: 'D' }]);
        const { body: page } = await list(own, { limit: '2' });
        await loadProducts(own, [{ sku: 'E' }, { sku: 'F' }]);
        // The products of later pages change, which is not a new creation.
        await loadProducts(own, [
          { sku: 'A', brand: 'new' },
          { sku: 'D', brand: 'new' },
        ]);

        const rest = await walk(own, { limit: '2' }, page.next_cursor);

        const seen = [...page.items.map((item: { product_id: string }) => item.product_id), ...rest.flat()];
        expect(seen).toEqual([...old.productIds].reverse());
      });
    });

    it('lists the products with a value of all partners, newest first, even if the newest partner has none', async () => {
      const service = await startTestService();
      const rows = (count: number, branded: readonly number[], brand: string) =>
        Array.from({ length: count }, (_, at) => ({
          sku: `S${at}`,
          ...(branded.includes(at) && { brand }),
        }));
      const first = await loadProducts(service, rows(30, [3, 20], 'Both'), 'First');
      const second = await loadProducts(service, rows(30, [7], 'First two'), 'Second');
      const last = await loadProducts(service, rows(450, [5, 300, 301], 'Both'), 'Last');

      const both = [301, 300, 5]
        .map((at) => last.productIds[at])
        .concat(first.productIds[20], first.productIds[3]);
      for (const limit of [1, 2, 3, 10]) {
        const pages = await walk(service, { brand: 'Both', limit: String(limit) });
        expect([limit, pages]).toEqual([limit, pagesOf(both as string[], limit)]);
      }
      expect(await walk(service, { brand: 'First two', limit: '1' })).toEqual([[second.productIds[7]]]);
      expect(await walk(service, { brand: 'Neither', limit: '1' })).toEqual([[]]);
    });

    onLocalProducts(describe, 'they set the sequence of product numbers')('beyond PR99999', () => {
      let service: TestService;
      const ids = [99_998, 99_999, 100_000, 100_001, 100_002].map(product);
      beforeAll(async () => {
        service = await startTestService();
        await service.db.raw("select setval(pg_get_serial_sequence('products', 'product_id'), 99997)");
        await loadProducts(service, [{ sku: 'A' }, { sku: 'B' }, { sku: 'C' }, { sku: 'D' }, { sku: 'E' }]);
      });

      it.each<[Record<string, string>, string[]]>([
        [{ sort_by: 'product_id', order: 'asc' }, ids],
        [{ sort_by: 'product_id', order: 'desc' }, [...ids].reverse()],
        [{ order: 'asc' }, ids],
        [{}, [...ids].reverse()],
      ])('sorts and pages by number with %j', async (query, expected) => {
        expect(ids.slice(1, 3)).toEqual(['PR99999', 'PR100000']);
        for (const limit of [1, 2, 5]) {
          expect(await walk(service, { ...query, limit: String(limit) })).toEqual(pagesOf(expected, limit));
        }
      });

      it.each(['product_name', 'brand', 'price'])(
        'breaks ties by number with sort_by=%s',
        async (sort_by) => {
          const { body } = await list(service, { sort_by, order: 'asc' });

          expect(body.items.map((item: { product_id: string }) => item.product_id)).toEqual(ids);
        },
      );
    });
  });
});
