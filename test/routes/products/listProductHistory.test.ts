import type { UploadedFeed } from '../../support/api-client';
import { limitTwice, wrongLimits } from '../../support/expectations';
import {
  beginHistoryAt,
  withoutHistory,
  writeHistory,
  type CatalogChange,
} from '../../support/write-history';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const day = (number: number) => `2026-03-${String(number).padStart(2, '0')}T09:31:00.123456Z`;
const created = (field: string, after: string) => ({ field, before: null, after });

/** A feed of a partner, not loaded, for histories that tests write directly. */
const uploadFor = (partnerName: string) => service.api.uploadFeed('sku,product_name\nA,A\n', partnerName);

/** Writes a history of one product, TENT-2. @returns its id, and the feed */
async function historyOf(
  partnerName: string,
  changes: readonly CatalogChange[],
): Promise<{ id: string; feed: UploadedFeed }> {
  const feed = await uploadFor(partnerName);
  return { id: (await writeHistory(service, feed, changes))['TENT-2']!, feed };
}

async function list(id: string, query = '') {
  const { status, body } = await service.api.get(`/products/${id}/history${query}`);
  expect([id, status]).toEqual([id, 200]);
  return body as { count: number; items: Record<string, unknown>[]; next_cursor?: string };
}

describe('GET /products/{product_id}/history', () => {
  describe('200', () => {
    it('lists every version, newest first, each with its differences from the previous one', async () => {
      const { id, feed } = await historyOf('Versions', [
        { at: day(1), write: [{ sku: 'TENT-2', product_name: 'Tent', price: '189.90', currency: 'EUR' }] },
        { at: day(2), write: [{ sku: 'TENT-2', price: '179.90', brand: 'Acme' }] },
        { at: day(3), write: [{ sku: 'OTHER' }] },
        { at: day(4), withdraw: ['TENT-2'] },
        { at: day(5), write: [{ sku: 'TENT-2', brand: null }] },
      ]);
      const version = { feed_id: feed.feedId, job_id: feed.jobId, is_external: false };
      const withdrawnAt = '2026-03-04T09:31:00.123Z';

      expect(await list(id)).toEqual({
        count: 4,
        items: [
          {
            ...version,
            valid_from: day(5),
            valid_to: null,
            run: 5,
            changes: [
              { field: 'brand', before: 'Acme', after: null },
              { field: 'withdrawn_at', before: withdrawnAt, after: null },
            ],
          },
          {
            ...version,
            valid_from: day(4),
            valid_to: day(5),
            run: 4,
            changes: [created('withdrawn_at', withdrawnAt)],
          },
          {
            ...version,
            valid_from: day(2),
            valid_to: day(4),
            run: 2,
            changes: [created('brand', 'Acme'), { field: 'price', before: '189.9', after: '179.9' }],
          },
          {
            ...version,
            valid_from: day(1),
            valid_to: day(2),
            run: 1,
            changes: [
              created('sku', 'TENT-2'),
              created('product_name', 'Tent'),
              created('price', '189.9'),
              created('currency', 'EUR'),
            ],
          },
        ],
      });
    });

    it('names neither job nor run for a single withdrawal', async () => {
      const { id } = await historyOf('Single', [
        { at: day(1), write: [{ sku: 'TENT-2' }] },
        { at: day(2), withdraw: ['TENT-2'], isSingle: true },
      ]);

      expect((await list(id)).items).toMatchObject([
        { job_id: null, run: null, valid_from: day(2) },
        { run: 1, valid_to: day(2) },
      ]);
    });

    it('starts with the first instant of kept history for an older product, without its creation', async () => {
      const own = await startTestService();
      const feed = await own.api.uploadFeed('sku,product_name\nA,A\n');
      const { A: id } = await writeHistory(own, feed, [{ at: day(1), write: [{ sku: 'A' }] }]);
      await withoutHistory(own, (trx) => trx('products').update({ run_id: null }));
      await beginHistoryAt(own, day(10));
      const of = async () => (await own.api.get(`/products/${id}/history`)).body.items as unknown;
      const version = { feed_id: feed.feedId, is_external: false };
      const first = { ...version, valid_from: day(10), job_id: null, run: null, changes: [] };

      expect(await of()).toEqual([{ ...first, valid_to: null }]);
      await writeHistory(own, feed, [{ at: day(11), write: [{ sku: 'A', brand: 'Acme' }] }]);
      expect(await of()).toEqual([
        {
          ...version,
          valid_from: day(11),
          valid_to: null,
          job_id: feed.jobId,
          run: 2,
          changes: [created('brand', 'Acme')],
        },
        { ...first, valid_to: day(11) },
      ]);
    });

    it('includes a manual change in the next change, and does not show it before', async () => {
      const { id, feed } = await historyOf('By hand', [
        { at: day(1), write: [{ sku: 'TENT-2', price: '10' }] },
      ]);
      const before = await list(id);
      const products = () => service.db('products').where('product_id', Number(id.slice(2)));
      await products().update({ brand: 'Wrong' });
      await products().update({ brand: 'By hand' });
      expect(await list(id)).toEqual(before);

      await writeHistory(service, feed, [{ at: day(2), write: [{ sku: 'TENT-2', price: '12' }] }]);

      expect((await list(id)).items).toMatchObject([
        {
          is_external: true,
          valid_from: day(2),
          changes: [created('brand', 'By hand'), { field: 'price', before: '10', after: '12' }],
        },
        { is_external: false, valid_from: day(1), valid_to: day(2) },
      ]);
    });

    it('lists the versions of a deleted product, none of which is in force', async () => {
      const { feed, id } = await historyOf('Deleted', [
        { at: day(1), write: [{ sku: 'TENT-2' }] },
        { at: day(2), write: [{ sku: 'TENT-2', brand: 'Acme' }] },
      ]);
      await writeHistory(service, feed, [{ at: day(3), remove: ['TENT-2'] }]);

      expect((await list(id)).items).toMatchObject([
        { valid_from: day(2), valid_to: day(3) },
        { valid_from: day(1), valid_to: day(2) },
      ]);
    });

    it('has the same versions in pages of any size, with the changes at the ends of pages', async () => {
      const { id } = await historyOf(
        'Pages',
        Array.from({ length: 7 }, (_, at) => ({
          at: day(at + 1),
          write: [{ sku: 'TENT-2', price: String(at) }],
        })),
      );
      const { items: all } = await list(id);
      expect(all).toHaveLength(7);

      for (const limit of [1, 2, 3, 6, 7]) {
        const found: unknown[] = [];
        let cursor = '';
        do {
          const page = await list(id, `?limit=${limit}&cursor=${cursor}`);
          expect(page.count).toBe(Math.min(limit, 7 - found.length));
          found.push(...page.items);
          cursor = page.next_cursor ?? '';
        } while (cursor !== '');
        expect(found).toEqual(all);
      }
    });

    it('has 20 versions per page by default, and 100 at most', async () => {
      const { id } = await historyOf(
        'Defaults',
        Array.from({ length: 105 }, (_, at) => ({
          at: new Date(Date.UTC(2026, 2, 1, 0, at)).toISOString(),
          write: [{ sku: 'TENT-2', price: String(at) }],
        })),
      );

      expect((await list(id)).count).toBe(20);
      expect((await list(id, '?limit=100')).count).toBe(100);
    });

    it('keeps its pages stable while new versions are added', async () => {
      const { id, feed } = await historyOf('Growing', [
        { at: day(1), write: [{ sku: 'TENT-2', price: '1' }] },
        { at: day(2), write: [{ sku: 'TENT-2', price: '2' }] },
      ]);
      const { next_cursor: cursor } = await list(id, '?limit=1');

      await writeHistory(service, feed, [{ at: day(3), write: [{ sku: 'TENT-2', price: '3' }] }]);

      expect((await list(id, `?limit=1&cursor=${cursor}`)).items).toMatchObject([
        { valid_from: day(1), valid_to: day(2) },
      ]);
    });

    it('is 304 for a current copy, and 200 after a change', async () => {
      const { id, feed } = await historyOf('Copies', [{ at: day(1), write: [{ sku: 'TENT-2' }] }]);
      const path = `/products/${id}/history`;
      const { headers } = await service.api.get(path);
      const copy = { 'if-none-match': headers.get('etag')! };

      expect(headers.get('cache-control')).toBe('private, max-age=2');
      expect(headers.get('vary')).toBe('x-api-key');
      expect((await service.api.get(path, copy)).status).toBe(304);
      await writeHistory(service, feed, [{ at: day(2), write: [{ sku: 'TENT-2', brand: 'Acme' }] }]);
      expect((await service.api.get(path, copy)).status).toBe(200);
    });
  });

  describe('400', () => {
    it.each(['x', '-1', '1.0', 'PR00001', '1'.repeat(16), ' '])('rejects the cursor %j', async (cursor) => {
      expect(
        await service.api.get(`/products/PR00001/history?limit=0&cursor=${encodeURIComponent(cursor)}`),
      ).toMatchObject({ status: 400, body: { detail: 'Invalid cursor value.' } });
    });

    it('rejects a path that cannot be decoded', async () => {
      expect(await service.api.get('/products/%E0%A4%A/history')).toMatchObject({
        status: 400,
        body: { detail: 'Malformed request path.' },
      });
    });
  });

  describe('404', () => {
    it.each(['PR99999', 'PR1', 'FD00001', 'PR999999999999999'])(
      'does not find the product %s',
      async (id) => {
        expect(await service.api.get(`/products/${id}/history`)).toMatchObject({
          status: 404,
          body: { detail: `Product ${id} not found.` },
        });
      },
    );

    it('does not find a product of another partner than the one of the key, including deleted ones', async () => {
      const { id, feed } = await historyOf('Foreign', [{ at: day(1), write: [{ sku: 'TENT-2' }] }]);
      await uploadFor('Bound');
      const own = await withStoredKey(service, 'Foreign', 'own');
      const other = await withStoredKey(service, 'Bound', 'other');
      const statuses = async () =>
        Promise.all([own, other].map(async (api) => (await api.get(`/products/${id}/history`)).status));

      expect(await statuses()).toEqual([200, 404]);
      await writeHistory(service, feed, [{ at: day(2), remove: ['TENT-2'] }]);
      expect(await statuses()).toEqual([200, 404]);
    });
  });

  describe('422', () => {
    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      expect(
        await service.api.get(`/products/PR00001/history?limit=${encodeURIComponent(limit)}`),
      ).toMatchObject({ status: 422, body: { detail: [entry] } });
    });

    it('rejects two limits', async () => {
      expect(await service.api.get('/products/PR00001/history?limit=5&limit=5')).toMatchObject({
        status: 422,
        body: { detail: [limitTwice] },
      });
    });
  });
});
