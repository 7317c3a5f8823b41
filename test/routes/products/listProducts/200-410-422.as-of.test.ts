import { mergePartners } from '../../../../src/catalog/partners/merge-partners';
import { pagesOf, walk } from '../../../support/expectations';
import { beginHistoryAt, removeVersionsUntil, writeHistory } from '../../../support/write-history';
import { startTestService, withStoredKey, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await beginHistoryAt(service, '2026-02-01T00:00:00.000001Z');
});

const day = (number: number) => `2026-03-${String(number).padStart(2, '0')}T09:31:00.123456Z`;
const uploadFor = (partnerName: string) => service.api.uploadFeed('sku,product_name\nA,A\n', partnerName);
const listOf = (query: Record<string, string>, api = service.api) =>
  api.get(`/products?${new URLSearchParams(query).toString()}`);

async function skusOf(query: Record<string, string>): Promise<string[]> {
  const { status, body } = await listOf(query);
  expect([query, status]).toEqual([query, 200]);
  expect(body.count).toBe(body.items.length);
  return body.items.map(({ sku }: { sku: string }) => sku);
}

describe('GET /products?as_of=', () => {
  describe('200', () => {
    it('lists the catalog of a partner as it was, by product number', async () => {
      const feed = await uploadFor('Acme');
      const other = await uploadFor('Other');
      await writeHistory(service, other, [{ at: day(1), write: [{ sku: 'OTHER' }] }]);
      await writeHistory(service, feed, [
        { at: day(1), write: [{ sku: 'B', price: '1' }, { sku: 'A' }] },
        { at: day(2), write: [{ sku: 'B', price: '2' }, { sku: 'C' }] },
        { at: day(3), withdraw: ['A'] },
        { at: day(4), write: [{ sku: 'A', brand: 'Back' }], withdraw: ['C'] },
      ]);
      const asOf = (as_of: string) => skusOf({ partner_name: 'Acme', as_of });

      expect(await asOf('2026-03-01T09:31:00.123455Z')).toEqual([]);
      expect(await asOf(day(1))).toEqual(['B', 'A']);
      expect(await asOf(day(2))).toEqual(['B', 'A', 'C']);
      expect(await asOf(day(3))).toEqual(['B', 'C']);
      expect(await asOf(day(4))).toEqual(['B', 'A']);
      expect(await skusOf({ partner_name: 'Acme', as_of: day(3), include_withdrawn: 'true' })).toEqual([
        'B',
        'A',
        'C',
      ]);
      const { body } = await listOf({ partner_name: 'Acme', as_of: day(1) });
      expect(body.items[0]).toEqual({
        product_id: expect.any(String) as unknown,
        feed_id: feed.feedId,
        partner_name: 'Acme',
        sku: 'B',
        product_name: 'B',
        price: 1,
        created_at: '2026-03-01T09:31:00.123Z',
      });
    });

    it('applies the filters to the values of that time', async () => {
      const first = await uploadFor('Filters');
      const second = await uploadFor('Filters');
      await writeHistory(service, first, [
        {
          at: day(1),
          write: [
            { sku: 'A', brand: 'Old', category: 'Tents', availability: 'in_stock' },
            { sku: 'B', brand: 'New' },
          ],
        },
      ]);
      await writeHistory(service, second, [
        {
          at: day(3),
          write: [{ sku: 'A', brand: 'New', category: 'Lamps', availability: 'sold_out' }],
        },
      ]);
      const found = (as_of: string, filter: Record<string, string>) =>
        skusOf({ partner_name: 'Filters', as_of, ...filter });

      for (const [filter, before, after] of [
        [{ brand: 'Old' }, ['A'], []],
        [{ brand: 'New' }, ['B'], ['A', 'B']],
        [{ category: 'Tents' }, ['A'], []],
        [{ availability: 'sold_out' }, [], ['A']],
        [{ sku: 'A' }, ['A'], ['A']],
        [{ sku: 'A', brand: 'New' }, [], ['A']],
        [{ feed_id: first.feedId }, ['A', 'B'], ['B']],
        [{ feed_id: second.feedId }, [], ['A']],
        [{ feed_id: 'x' }, [], []],
        [{ brand: '' }, ['A', 'B'], ['A', 'B']],
      ] as [Record<string, string>, string[], string[]][]) {
        expect([filter, await found(day(2), filter), await found(day(4), filter)]).toEqual([
          filter,
          before,
          after,
        ]);
      }
    });

    it('pages by product number, without gaps or repeats', async () => {
      const feed = await uploadFor('Pages');
      const skus = Array.from({ length: 25 }, (_, at) => `P${at}`);
      const ids = await writeHistory(service, feed, [
        { at: day(1), write: skus.map((sku) => ({ sku })) },
        { at: day(3), write: skus.filter((_, at) => at % 3 === 0).map((sku) => ({ sku, brand: 'Acme' })) },
        { at: day(4), withdraw: skus.slice(5, 9), write: [{ sku: 'LATER' }] },
      ]);
      const all = skus.map((sku) => ids[sku]!);

      for (const limit of [1, 7, 25, 100]) {
        const query = { partner_name: 'Pages', as_of: day(2), limit: String(limit) };
        expect(await walk(service.api, '/products', 'product_id', query)).toEqual(pagesOf(all, limit));
      }
      expect((await listOf({ partner_name: 'Pages', as_of: day(2) })).body.count).toBe(10);
    });

    it('accepts its own order, and any product number as cursor', async () => {
      const feed = await uploadFor('Order');
      await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'A' }, { sku: 'B' }] }]);
      const query = { partner_name: 'Order', as_of: day(2) };

      for (const order of ['sort_by=product_id', 'order=asc', 'sort_by=product_id&order=asc']) {
        expect(await skusOf({ ...query, ...Object.fromEntries(new URLSearchParams(order)) })).toEqual([
          'A',
          'B',
        ]);
      }
      expect(await skusOf({ ...query, cursor: 'PR00000' })).toEqual(['A', 'B']);
      expect(await skusOf({ ...query, cursor: 'PR99999999' })).toEqual([]);
    });

    it('lists products that were deleted since, as they were', async () => {
      const feed = await uploadFor('Deleted');
      const ids = await writeHistory(service, feed, [
        { at: day(1), write: [{ sku: 'A' }, { sku: 'B' }, { sku: 'C' }] },
        { at: day(3), write: [{ sku: 'B', brand: 'Acme' }] },
      ]);
      await service
        .db('products')
        .where('product_id', Number(ids.B!.slice(2)))
        .delete();
      const query = { partner_name: 'Deleted' };

      for (const at of [day(2), day(4)])
        expect(await skusOf({ ...query, as_of: at })).toEqual(['A', 'B', 'C']);
      expect(await skusOf({ ...query, as_of: day(2), brand: 'Acme' })).toEqual([]);
      expect(await skusOf({ ...query, as_of: day(4), brand: 'Acme' })).toEqual(['B']);
      expect(await skusOf({ ...query, as_of: day(4), limit: '1', cursor: ids.A! })).toEqual(['B']);
    });

    it('shows the products of merged partners by the times of their changes, independent of their numbers', async () => {
      const [kept, merged] = [await uploadFor('Kept'), await uploadFor('Merged')];
      await writeHistory(service, kept, [{ at: day(2), write: [{ sku: 'K', price: '1' }] }]);
      await writeHistory(service, kept, [{ at: day(6), write: [{ sku: 'K', price: '2' }] }]);
      await writeHistory(service, merged, [
        { at: day(1), write: [{ sku: 'M', price: '1' }] },
        { at: day(4), write: [{ sku: 'M', price: '2' }] },
      ]);
      await service.db.transaction((trx) => mergePartners(trx, 'Merged', 'Kept'));
      await writeHistory(service, kept, [{ at: day(8), write: [{ sku: 'M', price: '3' }] }]);
      const pricesAt = async (as_of: string) => {
        const { body } = await listOf({ partner_name: 'Kept', as_of });
        const items = body.items as { product_id: string; sku: string; price: number }[];
        for (const item of items) {
          expect((await service.api.get(`/products/${item.product_id}?as_of=${as_of}`)).body).toMatchObject(
            item,
          );
        }
        return items.map(({ sku, price }) => `${sku} ${price}`).sort();
      };

      expect(await pricesAt(day(1))).toEqual(['M 1']);
      expect(await pricesAt(day(3))).toEqual(['K 1', 'M 1']);
      expect(await pricesAt(day(5))).toEqual(['K 1', 'M 2']);
      expect(await pricesAt(day(7))).toEqual(['K 2', 'M 2']);
      expect(await pricesAt(day(9))).toEqual(['K 2', 'M 3']);
    });

    it('is empty for an unknown partner', async () => {
      expect(await skusOf({ partner_name: 'Unknown', as_of: day(1) })).toEqual([]);
    });

    it('needs no partner_name with the key of a partner, and finds no product of another one', async () => {
      const feed = await uploadFor('Bound');
      await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'BOUND' }] }]);
      const limited = await withStoredKey(service, 'Bound');

      expect((await listOf({ as_of: day(2) }, limited)).body).toMatchObject({
        count: 1,
        items: [{ sku: 'BOUND' }],
      });
      expect((await listOf({ as_of: day(2), partner_name: 'Bound' }, limited)).body.count).toBe(1);
      expect((await listOf({ as_of: day(2), partner_name: 'Acme' }, limited)).body.count).toBe(0);
    });
  });

  describe('400', () => {
    it('reports a wrong cursor, sort or order before as_of', async () => {
      for (const query of [
        { cursor: 'x' },
        { sort_by: 'x' },
        { order: 'x' },
        { sort_by: 'price', cursor: 'PR00001' },
      ]) {
        expect((await listOf({ as_of: 'x', partner_name: 'Acme', ...query } as never)).status).toBe(400);
      }
    });
  });

  describe('410', () => {
    it('reports the start of the history of a partner', async () => {
      await uploadFor('Gone');
      for (const as_of of ['2026-02-01T00:00:00Z', '0000-01-01T00:00:00Z']) {
        expect(await listOf({ partner_name: 'Gone', as_of })).toMatchObject({
          status: 410,
          body: { detail: 'The history of Gone begins at 2026-02-01T00:00:00.000001Z.' },
        });
      }
      expect((await listOf({ partner_name: 'Gone', as_of: '2026-02-01T00:00:00.000001Z' })).status).toBe(200);
    });

    it('is 410 before the time from which retention has kept all versions of the partner', async () => {
      const feed = await uploadFor('Pruned');
      await writeHistory(service, feed, [
        { at: day(1), write: [{ sku: 'A' }, { sku: 'B' }] },
        { at: day(3), write: [{ sku: 'A', brand: 'Acme' }] },
        { at: day(5), write: [{ sku: 'A', brand: 'Other' }] },
      ]);
      await removeVersionsUntil(service, 'Pruned', day(3));

      expect(await listOf({ partner_name: 'Pruned', as_of: day(2) })).toMatchObject({
        status: 410,
        body: { detail: `The history of Pruned begins at ${day(3)}.` },
      });
      expect(await skusOf({ partner_name: 'Pruned', as_of: day(3), brand: 'Acme' })).toEqual(['A']);
    });
  });

  describe('422', () => {
    const detailOf = async (query: Record<string, string>) => {
      const { status, body } = await listOf(query);
      expect([query, status]).toEqual([query, 422]);
      return body.detail as unknown;
    };

    it('requires a partner', async () => {
      expect(await detailOf({ as_of: day(1) })).toEqual([
        { type: 'missing', loc: ['query', 'partner_name'], msg: 'Field required with as_of', input: null },
      ]);
      expect(await detailOf({ as_of: day(1), partner_name: '' })).toHaveLength(1);
    });

    it('rejects other orders, and a search', async () => {
      const query = { as_of: day(1), partner_name: 'Acme' };
      const type = 'not_with_as_of';
      const sortBy = { type, loc: ['query', 'sort_by'], msg: "Input should be 'product_id' with as_of" };
      const order = { type, loc: ['query', 'order'], msg: "Input should be 'asc' with as_of", input: 'desc' };
      const q = { type, loc: ['query', 'q'], msg: 'Input should be absent with as_of', input: 'tent' };

      for (const input of ['price', 'product_name', 'brand', 'category', 'created_at']) {
        expect(await detailOf({ ...query, sort_by: input })).toEqual([{ ...sortBy, input }]);
      }
      expect(await detailOf({ ...query, sort_by: 'price', order: 'desc', q: 'tent' })).toEqual([
        { ...sortBy, input: 'price' },
        order,
        q,
      ]);
    });

    it('rejects a time in the future', async () => {
      expect(await detailOf({ as_of: '2126-03-01T00:00:00Z', partner_name: 'Unknown' })).toEqual([
        {
          type: 'datetime_past',
          loc: ['query', 'as_of'],
          msg: 'Input should be in the past',
          input: '2126-03-01T00:00:00Z',
        },
      ]);
    });
  });
});
