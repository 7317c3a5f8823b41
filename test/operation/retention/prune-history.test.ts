import { planPrune, prune } from '../../../src/operation/retention/prune';
import { StorageError } from '../../../src/base/storage/object-store';
import type { UploadedFeed } from '../../support/api-client';
import { withoutHistory } from '../../support/write-history';
import { findBrokenHistory } from '../../support/history-invariants';
import { startTestService, type TestService } from '../../support/service';

const rules = { rowIssueDays: 36_500, historyDays: 400 };

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(async () => {
  expect(await findBrokenHistory(service.db)).toEqual([]);
});

const context = () => ({ db: service.db, objectStore: service.objectStore, rules });
const csvOf = (price: number, skus = ['A']) =>
  ['sku,product_name,price', ...skus.map((sku) => `${sku},Tent,${price}`)].join('\n');
const load = (price: number, { collection = 'main', skus = ['A'] } = {}) =>
  service.api.loadFeed(csvOf(price, skus), 'Acme', { collection });

/** Shifts the changes of these feeds, the first ones, into the past; the latest change of a load counts. */
async function age(feeds: UploadedFeed[], days: number[]): Promise<void> {
  for (const [at, { jobId }] of feeds.entries()) {
    await service.db.raw(
      "update catalog_versions set effective_at = now() - ? * interval '1 day' where job_id = ?",
      [days[at]!, Number(jobId.slice(2))],
    );
  }
}

/** The prices of the versions of a product, oldest first. */
const pricesOf = async (sku = 'A') =>
  (await service.db('product_versions').where({ sku }).orderBy('until_run_id').pluck<string[]>('price')).map(
    Number,
  );

describe('prune', () => {
  it('removes versions that ended longer ago than the setting, and keeps products and changes', async () => {
    const feeds = [await load(1), await load(2), await load(3), await load(4)];
    await age(feeds, [900, 400.01, 399.99, 1]);
    const changes = await service.db('catalog_versions').count();

    const { versions: planned } = await planPrune(context());
    expect(planned.rows).toBe(1);
    expect(planned.bytes).toBeGreaterThan(50);
    const { versions: removed } = await prune(context());
    expect(removed.rows).toBe(1);
    expect(Math.abs(removed.bytes - planned.bytes)).toBeLessThan(20);

    expect(await pricesOf()).toEqual([2, 3]);
    expect(await service.db('catalog_versions').count()).toEqual(changes);
    expect((await planPrune(context())).versions).toEqual({ rows: 0, bytes: 0 });
  });

  it('keeps versions that the last load of a collection has ended, and later versions of the same product', async () => {
    const feeds = [
      await load(1),
      await load(2),
      await load(3, { collection: 'sale' }),
      await load(4),
      await load(5),
    ];
    await age(feeds, [900, 800, 700, 600, 500]);

    expect((await prune(context())).versions.rows).toBe(1);

    expect(await pricesOf()).toEqual([2, 3, 4]);
  });

  it('keeps products that the last load of a collection has inserted, and later versions: it can be listed and reverted', async () => {
    const feeds = [await load(1, { collection: 'sale', skus: ['B'] }), await load(2, { skus: ['B'] })];
    feeds.push(await load(3, { skus: ['B'] }), await load(4, { skus: ['A', 'B'] }));
    await age(feeds, [900, 800, 700, 600]);

    expect((await prune(context())).versions.rows).toBe(0);

    expect(await pricesOf('B')).toEqual([1, 2, 3]);
    const path = `/jobs/${feeds[0]!.jobId}`;
    const { body } = await service.api.get(`${path}/changes?run=1`);
    expect(body.items).toMatchObject([{ sku: 'B', action: 'insert' }]);
    expect((await service.api.post(`${path}/revert?run=1`)).body.conflicts).toHaveLength(1);
  });

  it('keeps manual changes that no change of the catalog has taken into account', async () => {
    const feeds = [await load(1), await load(2), await load(3)];
    await age(feeds, [900, 800, 700]);
    await service.db('products').update({ price: 9 });

    expect((await prune(context())).versions.rows).toBe(1);

    expect(await pricesOf()).toEqual([2, 3]);
  });

  it('lets reads report the start of the history', async () => {
    const feeds = [await load(1), await load(2), await load(3), await load(4)];
    await service.db.raw(
      "update catalog_versions set effective_at = now() - interval '1000 days' where run_id = 0",
    );
    const createdAt = service.db.raw("now() - interval '950 days'");
    await withoutHistory(service, (trx) => trx('products').update({ created_at: createdAt }));
    await service.db('product_versions').update({ created_at: createdAt });
    await age(feeds, [900, 800, 350, 1]);
    const at = (days: number) => new Date(Date.now() - days * 24 * 3600 * 1000).toISOString();
    const statuses = (days: number) =>
      Promise.all(
        [`/products/PR00001?as_of=${at(days)}`, `/products?partner_name=Acme&as_of=${at(days)}`].map(
          async (path) => (await service.api.get(path)).status,
        ),
      );
    expect(await statuses(850)).toEqual([200, 200]);

    await prune(context());

    expect(await statuses(850)).toEqual([410, 410]);
    expect(await statuses(799)).toEqual([200, 200]);
    const { body } = await service.api.get('/products/PR00001/history');
    const { body: gone } = await service.api.get(`/products/PR00001?as_of=${at(850)}`);
    const first = body.items.at(-1) as { valid_from: string; changes: unknown[] };
    expect(first.changes).toEqual([]);
    expect(gone.detail).toBe(`The history of PR00001 begins at ${first.valid_from}.`);
  });

  it('removes versions while the object store is down', async () => {
    await age([await load(1), await load(2), await load(3)], [900, 800, 700]);
    await service
      .db('feeds')
      .where({ feed_id: 1 })
      .update({ uploaded_at: new Date('2020-01-01') });
    await service
      .db('validation_jobs')
      .where({ feed_id: 1 })
      .update({ finished_at: new Date('2020-01-01') });
    const failing = Object.create(service.objectStore, {
      get: { value: () => Promise.reject(new StorageError('The store is down.', false, undefined)) },
      delete: { value: () => Promise.reject(new StorageError('The store is down.', false, undefined)) },
    }) as TestService['objectStore'];

    await expect(
      prune({ ...context(), rules: { ...rules, rawFileDays: 30 }, objectStore: failing }),
    ).rejects.toThrow('The store is down.');

    expect(await pricesOf()).toEqual([2]);
  });

  it('removes more versions than one batch', async () => {
    const skus = Array.from({ length: 2_500 }, (_, at) => `S${at}`);
    const feeds = [await load(1, { skus }), await load(2, { skus }), await load(3, { skus })];
    await age(feeds, [900, 800, 700]);

    expect((await prune(context())).versions.rows).toBe(2_500);

    expect(await pricesOf('S0')).toEqual([2]);
  });
});
