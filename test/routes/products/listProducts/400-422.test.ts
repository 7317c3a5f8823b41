import type { ApiResponse } from '../../../support/api-client';
import { filterTwice, holdsNul, limitTwice, wrongLimits } from '../../../support/expectations';
import { loadProducts } from '../../../support/catalog';
import { startTestService, withStoredKey, type TestService } from '../../../support/service';

type Query = Record<string, string> | string;

const invalidSortBy =
  'Invalid sort_by value. Allowed values: product_id, price, product_name, brand, category, created_at.';
const invalidOrder = 'Invalid order value. Allowed values: asc, desc.';
const cursorNeedsProductId = 'Cursor pagination is currently supported only with sort_by=product_id.';
const invalidCursor = 'Invalid cursor value.';

function list(service: TestService, query: Query = {}): Promise<ApiResponse> {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString();
  return service.api.get(`/products?${text}`);
}

describe('GET /products', () => {
  describe('400', () => {
    let service: TestService;
    let known: string;
    beforeAll(async () => {
      service = await startTestService();
      [known] = (await loadProducts(service, [{ sku: 'A' }])).productIds;
    });

    it.each([
      ['sort_by=sku', invalidSortBy],
      ['sort_by=', invalidSortBy],
      ['sort_by=Price', invalidSortBy],
      ['sort_by=price%20', invalidSortBy],
      ['sort_by=price&sort_by=price', invalidSortBy],
      ['sort_by=toString', invalidSortBy],
      ['order=up', invalidOrder],
      ['order=', invalidOrder],
      ['order=ASC', invalidOrder],
      ['order=asc&order=asc', invalidOrder],
      ['cursor=1', invalidCursor],
      ['cursor=PR1', invalidCursor],
      ['cursor=pr00001', invalidCursor],
      ['cursor=PR000001', invalidCursor],
      ['cursor=FD00001', invalidCursor],
      ['cursor=PR00001%20', invalidCursor],
      ['cursor=PR00001%00', invalidCursor],
      ['cursor=%00', invalidCursor],
      ['cursor=PR-00001', invalidCursor],
      ['cursor=PR99999999999999999999', invalidCursor],
      ['cursor=PR00001&cursor=PR00001', invalidCursor],
      ['cursor=garbage&sort_by=product_id', invalidCursor],
      ['cursor=PR1&sort_by=product_id&order=asc', invalidCursor],
    ])('%s is an invalid value', async (query, detail) => {
      const { status, body } = await list(service, query);

      expect(status).toBe(400);
      expect(body).toEqual({ detail });
    });

    it.each(['', '&order=asc', '&order=desc'])(
      'rejects an unknown product as a cursor in the default order%s',
      async (order) => {
        const { status, body } = await list(service, `cursor=PR99999${order}`);

        expect(status).toBe(400);
        expect(body).toEqual({ detail: invalidCursor });
      },
    );

    it.each(['', '&order=asc', '&limit=0'])(
      'rejects a product of another partner than that of the key%s',
      async (others) => {
        await loadProducts(service, [{ sku: 'B' }], 'Other');
        const bound = await withStoredKey(service, 'Other', `key${others}`);

        const { status, body } = await bound.get(`/products?cursor=${known}${others}`);

        expect(status).toBe(400);
        expect(body).toEqual({ detail: invalidCursor });
      },
    );

    it.each(['created_at', 'price', 'product_name', 'brand', 'category'])(
      'rejects a cursor with sort_by=%s',
      async (sortBy) => {
        const { status, body } = await list(service, { cursor: known, sort_by: sortBy });

        expect(status).toBe(400);
        expect(body).toEqual({ detail: cursorNeedsProductId });
      },
    );

    it.each([
      ['sort_by=x&order=x&cursor=x&limit=x&brand=%00', invalidSortBy],
      ['limit=0&cursor=x&order=x&sort_by=', invalidSortBy],
      ['limit=0&sort_by=x', invalidSortBy],
      ['order=x&cursor=x&limit=x&brand=%00', invalidOrder],
      ['limit=&order=', invalidOrder],
      ['order=x&sort_by=price&cursor=PR00001', invalidOrder],
      ['cursor=x&limit=x&brand=%00', invalidCursor],
      ['limit=101&cursor=PR00001&sort_by=price', cursorNeedsProductId],
      ['brand=%00&cursor=PR99999', invalidCursor],
      ['q=x&cursor=PR99999', invalidCursor],
      ['partner_name=Unknown&cursor=PR99999', invalidCursor],
      ['feed_id=unknown&cursor=x', invalidCursor],
      ['feed_id=unknown&order=x', invalidOrder],
    ])('reports sort_by first, then order, then cursor: %s', async (query, detail) => {
      const { status, body } = await list(service, query);

      expect(status).toBe(400);
      expect(body).toEqual({ detail });
    });
  });

  describe('422', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await list(service, { limit });

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it('rejects a repeated limit', async () => {
      const { status, body } = await list(service, 'limit=5&limit=5');

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [limitTwice] });
    });

    const filters = ['partner_name', 'feed_id', 'sku', 'brand', 'category', 'availability'];

    it.each(filters)('rejects a NUL in the filter %s', async (filter) => {
      const { status, body } = await list(service, `${filter}=a%00b`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [holdsNul(filter, 'a\0b')] });
    });

    it.each(filters)('rejects a repeated filter %s', async (filter) => {
      const { status, body } = await list(service, `${filter}=a&${filter}=b`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [filterTwice(filter)] });
    });

    it.each([
      ['one two three four five six seven eight nine', 'too_many_words', 'Text should have at most 8 words'],
      ['tent 2', 'word_too_short', 'Each word should have at least 2 characters'],
      ['e\u0301', 'word_too_short', 'Each word should have at least 2 characters'],
    ])('rejects the search text %j', async (q, type, msg) => {
      const { status, body } = await list(service, { q });

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [{ type, loc: ['query', 'q'], msg, input: q }] });
    });

    it('reports all errors at once', async () => {
      const { status, body } = await list(service, 'limit=0&brand=%00&sku=a&sku=b');

      expect(status).toBe(422);
      expect(body.detail).toHaveLength(3);
      const [, limitZero] = wrongLimits.find(([limit]) => limit === '0')!;
      expect(body.detail).toEqual(
        expect.arrayContaining([limitZero, holdsNul('brand', '\0'), filterTwice('sku')]),
      );
    });
  });
});
