import { loadProducts } from '../../../support/catalog';
import {
  beginHistoryAt,
  removeVersionsUntil,
  withoutHistory,
  writeHistory,
} from '../../../support/write-history';
import { startTestService, withStoredKey, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await beginHistoryAt(service, '2026-02-01T00:00:00.000001Z');
});

const day = (number: number) => `2026-03-${String(number).padStart(2, '0')}T09:31:00.123456Z`;
const get = (id: string, asOf: string) =>
  service.api.get(`/products/${id}?as_of=${encodeURIComponent(asOf)}`);
const uploadFor = (partnerName: string) => service.api.uploadFeed('sku,product_name\nA,A\n', partnerName);
const notFound = (id: string) => ({ status: 404, body: { detail: `Product ${id} not found.` } });

describe('GET /products/{product_id}?as_of=', () => {
  describe('200', () => {
    it('returns the product as it was, exact to the microsecond of each change', async () => {
      const feed = await uploadFor('Acme Outdoor');
      const { TENT: id } = await writeHistory(service, feed, [
        { at: day(1), write: [{ sku: 'TENT', product_name: 'Tent', price: '189.9', currency: 'EUR' }] },
        { at: day(2), write: [{ sku: 'TENT', product_name: 'Two-person tent', price: '0.0001' }] },
        { at: day(3), withdraw: ['TENT'] },
        { at: day(4), write: [{ sku: 'TENT', price: null, currency: null }] },
      ]);
      const product = {
        product_id: id,
        feed_id: feed.feedId,
        partner_name: 'Acme Outdoor',
        sku: 'TENT',
        product_name: 'Two-person tent',
        description: null,
        brand: null,
        category: null,
        price: 0.0001,
        currency: 'EUR',
        availability: null,
        created_at: '2026-03-01T09:31:00.123Z',
      };
      const first = { ...product, product_name: 'Tent', price: 189.9 };
      const withdrawn = { ...product, withdrawn_at: '2026-03-03T09:31:00.123Z' };
      const last = { ...product, price: null, currency: null };
      for (const [at, body] of [
        [day(1), first],
        ['2026-03-01T09:31:00.1234569Z', first],
        ['2026-03-02T09:31:00.123455Z', first],
        ['2026-03-02T10:31:00.123455+01:00', first],
        [day(2), product],
        ['2026-03-02T10:31:00.123456+01:00', product],
        ['2026-03-03T00:00:00Z', product],
        [day(3), withdrawn],
        [day(4), last],
        [new Date().toISOString(), last],
      ] as const) {
        expect([at, await get(id!, at)]).toEqual([at, expect.objectContaining({ status: 200, body })]);
      }
      expect((await service.api.get(`/products/${id}?as_of=`)).body).toEqual(last);
    });

    it('returns a deleted product as it was before its deletion, and none after it', async () => {
      const feed = await uploadFor('Deleted');
      const { A: id } = await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'A' }] }]);
      await writeHistory(service, feed, [{ at: day(3), remove: ['A'] }]);

      expect(await get(id!, day(2))).toMatchObject({ status: 200, body: { sku: 'A' } });
      expect(await get(id!, day(3))).toMatchObject(notFound(id!));
      expect(await service.api.get(`/products/${id}`)).toMatchObject(notFound(id!));
    });

    it('returns a product as before a manual change, until a run takes it into account', async () => {
      const feed = await uploadFor('By hand');
      const { A: id } = await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'A' }] }]);
      await service
        .db('products')
        .where('product_id', Number(id!.slice(2)))
        .update({ brand: 'By hand' });
      expect((await get(id!, new Date().toISOString())).body.brand).toBeNull();

      await writeHistory(service, feed, [{ at: day(2), write: [{ sku: 'A' }] }]);

      expect((await get(id!, day(2))).body.brand).toBe('By hand');
      expect((await get(id!, '2026-03-02T09:31:00.123455Z')).body.brand).toBeNull();
    });

    it('does not show a run that has not committed', async () => {
      const feed = await uploadFor('In progress');
      const { A: id } = await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'A' }] }]);
      const trx = await service.db.transaction();
      await trx.raw("set local partner_catalog.change = '1'");
      await trx('catalog_versions').insert({ run_id: 1, effective_at: day(2) });
      await trx('products')
        .where('product_id', Number(id!.slice(2)))
        .update({ brand: 'New' });

      const { body } = await get(id!, day(3));
      await trx.rollback();

      expect(body.brand).toBeNull();
    });

    it('has the headers of the current product', async () => {
      const feed = await uploadFor('Headers');
      const { A: id } = await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'A' }] }]);

      const { headers } = await get(id!, day(2));

      expect(headers.get('cache-control')).toBe('private, max-age=2');
      const copy = { 'if-none-match': headers.get('etag')! };
      expect((await service.api.get(`/products/${id}?as_of=${day(2)}`, copy)).status).toBe(304);
    });
  });

  describe('404', () => {
    it('does not find a product before its creation, nor while the run that created it was in progress', async () => {
      const feed = await uploadFor('Created');
      const { A: id } = await writeHistory(service, feed, [{ at: day(2), write: [{ sku: 'A' }] }]);
      await withoutHistory(service, (trx) =>
        trx('products')
          .where('product_id', Number(id!.slice(2)))
          .update({ created_at: '2026-03-02T08:00:00Z' }),
      );

      for (const at of [day(1), '2026-03-02T09:00:00Z', '2026-03-02T09:31:00.123455Z']) {
        expect(await get(id!, at)).toMatchObject(notFound(id!));
      }
      expect((await get(id!, day(2))).status).toBe(200);
    });

    it.each(['PR99999', 'PR1', 'x'])('does not find the product %s', async (id) => {
      expect(await get(id, day(1))).toMatchObject(notFound(id));
    });

    it('does not find a product of another partner than the one of the key', async () => {
      const feed = await uploadFor('Foreign');
      const { A: id } = await writeHistory(service, feed, [{ at: day(1), write: [{ sku: 'A' }] }]);
      const limited = await withStoredKey(service, 'Acme Outdoor');

      expect(await limited.get(`/products/${id}?as_of=${day(2)}`)).toMatchObject(notFound(id!));
    });
  });

  describe('410', () => {
    it('reports the start of the history of an older product', async () => {
      const own = await startTestService();
      const { productIds } = await loadProducts(own, [{ sku: 'A' }] as const);
      await withoutHistory(own, (trx) =>
        trx('products').update({ created_at: '2026-01-15T00:00:00Z', run_id: null }),
      );
      await beginHistoryAt(own, '2026-02-01T00:00:00.000001Z');
      const asOf = (at: string) => own.api.get(`/products/${productIds[0]}?as_of=${at}`);

      expect(await asOf('2026-01-14T23:59:59.999999Z')).toMatchObject(notFound(productIds[0]));
      for (const at of ['2026-01-15T00:00:00Z', '2026-02-01T00:00:00Z']) {
        expect(await asOf(at)).toMatchObject({
          status: 410,
          body: { detail: `The history of ${productIds[0]} begins at 2026-02-01T00:00:00.000001Z.` },
        });
      }
      expect(await asOf('2026-02-01T00:00:00.000001Z')).toMatchObject({ status: 200, body: { sku: 'A' } });
    });

    it('reports the start of the history of a product whose first versions retention has removed', async () => {
      const feed = await uploadFor('Pruned');
      const { A: id, B: other } = await writeHistory(service, feed, [
        { at: day(1), write: [{ sku: 'A', price: '10' }] },
        { at: day(3), write: [{ sku: 'A', brand: 'Acme' }] },
        { at: day(5), write: [{ sku: 'A', price: '9' }, { sku: 'B' }] },
      ]);
      await removeVersionsUntil(service, 'Pruned', day(3));

      expect(await get(id!, day(2))).toMatchObject({
        status: 410,
        body: { detail: `The history of ${id} begins at ${day(3)}.` },
      });
      expect((await get(id!, day(4))).body.brand).toBe('Acme');
      expect(await get(other!, day(4))).toMatchObject(notFound(other!));
      const { body } = await service.api.get(`/products/${id}/history`);
      expect(body.items).toMatchObject([
        { valid_from: day(5), changes: [{ field: 'price', before: '10', after: '9' }] },
        { valid_from: day(3), changes: [] },
      ]);
      expect((await service.api.get(`/products/${id}/prices`)).body).toMatchObject({
        lowest_price: 10,
        observed_from: day(3),
        is_complete: false,
      });
    });
  });

  describe('422', () => {
    it.each(['2126-03-01T00:00:00Z', '9999-12-31T23:59:59-23:59'])(
      'rejects %s, which is in the future, also for an unknown product',
      async (asOf) => {
        for (const id of ['PR00001', 'PR99999', 'x']) {
          expect(await get(id, asOf)).toMatchObject({
            status: 422,
            body: {
              detail: [
                {
                  type: 'datetime_past',
                  loc: ['query', 'as_of'],
                  msg: 'Input should be in the past',
                  input: asOf,
                },
              ],
            },
          });
        }
      },
    );

    it.each([
      '2026-03-01',
      '2026-02-30T00:00:00Z',
      '2026-03-01T00:00:00',
      '2026-03-01T24:00:00Z',
      'now',
      '1',
    ])('rejects %s, which is not a time', async (asOf) => {
      expect(await get('PR00001', asOf)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['query', 'as_of'], input: asOf }] },
      });
    });
  });
});
