import type { UploadedFeed } from '../../support/api-client';
import { withoutHistory } from '../../support/write-history';
import { findBrokenHistory } from '../../support/history-invariants';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';
import { ManualSession, SteppedRun } from '../../support/stepped-run';

const header = 'sku,product_name,description,brand,category,price,currency,availability';
const tent = 'TENT-2,Tent,For two,Lumo,Tents,100,EUR,in_stock';
const lamp = 'LAMP-1,Lamp,,,,5,EUR,';
const csvOf = (...rows: string[]) => [header, ...rows].join('\n');
/** The number of a version that is still in force, as JavaScript rounds it. */
const pending = Number(9_223_372_036_854_775_807n);

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(async () => {
  expect(await findBrokenHistory(service.db)).toEqual([]);
});

interface Version {
  sku: string;
  price: string | null;
  run_id: number | null;
  until_run_id: number;
  is_external: boolean;
  withdrawn_at: Date | null;
}

interface CatalogVersion {
  run_id: number;
  job_id: number | null;
  run: number | null;
  effective_at: Date;
}

const versions = (sku?: string): Promise<Version[]> =>
  service
    .db('product_versions')
    .modify((query) => sku !== undefined && void query.where({ sku }))
    .orderBy(['product_id', 'until_run_id'])
    .select<Version[]>();
/** The catalog changes, without the start of the history. */
const changes = (): Promise<CatalogVersion[]> =>
  service.db('catalog_versions').whereNotNull('partner_id').orderBy('run_id').select<CatalogVersion[]>();
const product = async (sku: string) => service.db('products').where({ sku }).first<Version>();
const load = (...rows: string[]) => service.api.loadFeed(csvOf(...rows));
const replace = (...rows: string[]) => service.api.loadFeed(csvOf(...rows), undefined, { mode: 'replace' });
const rerun = ({ jobId }: UploadedFeed) => service.api.post(`/jobs/${jobId}/run`);
const numberOf = ({ jobId }: UploadedFeed) => Number(jobId.slice(2));

describe('a run', () => {
  it('writes its number to inserted products, and only its own instant to the history', async () => {
    const feed = await load(tent, lamp);

    const [change, ...others] = await changes();
    expect(change).toMatchObject({ job_id: numberOf(feed), run: 1 });
    expect(others).toEqual([]);
    expect((await product('TENT-2')).run_id).toBe(change!.run_id);
    expect(await versions()).toEqual([]);
  });

  it('does the same in a first load directly into the table', async () => {
    const feed = await service.api.uploadFeed(csvOf(tent, lamp));
    const run = await SteppedRun.start(service, feed, 0);
    expect(await run.finish()).toMatchObject({ outcome: 'completed', counters: { inserted: 2 } });

    const [change] = await changes();
    expect(change).toMatchObject({ job_id: numberOf(feed), run: 1 });
    expect(await service.db('products').pluck('run_id')).toEqual([change!.run_id, change!.run_id]);
    expect(await versions()).toEqual([]);
  });

  it('stores the earlier version of each updated product, with every column', async () => {
    const first = await load(tent, lamp);
    const before = await service.db('products').where({ sku: 'TENT-2' }).first();
    const second = await load('TENT-2,Tent of silk,For three,Mumo,Shelters,120,USD,out_of_stock', lamp);

    const [inserted, updated] = await changes();
    expect([inserted, updated]).toMatchObject([
      { job_id: numberOf(first), run: 1 },
      { job_id: numberOf(second), run: 1 },
    ]);
    expect(updated!.run_id).toBeGreaterThan(inserted!.run_id);
    expect(updated!.effective_at.getTime()).toBeGreaterThanOrEqual(inserted!.effective_at.getTime());
    expect(await versions()).toEqual([{ ...before, until_run_id: updated!.run_id, is_external: false }]);
    expect((await product('TENT-2')).run_id).toBe(updated!.run_id);
    expect((await product('LAMP-1')).run_id).toBe(inserted!.run_id);
  });

  it('adds nothing to the history when its feed is unchanged, with or without digests', async () => {
    const feed = await load(tent, lamp);
    const before = await changes();

    expect((await rerun(feed)).body.summary).toMatchObject({ unchanged: 2 });
    await service.db('digest_blocks').delete();
    expect((await rerun(feed)).body.summary).toMatchObject({ unchanged: 2 });

    expect(await changes()).toEqual(before);
    expect(await versions()).toEqual([]);
  });

  it('stores the earlier versions of products that it withdraws and restores', async () => {
    await replace(tent, lamp);
    await replace(tent);
    await replace(tent, lamp);

    const numbers = (await changes()).map(({ run_id }) => run_id);
    expect(numbers).toHaveLength(3);
    expect(await versions()).toMatchObject([
      { sku: 'LAMP-1', run_id: numbers[0], until_run_id: numbers[1], withdrawn_at: null },
      { sku: 'LAMP-1', run_id: numbers[1], until_run_id: numbers[2], withdrawn_at: expect.any(Date) },
    ]);
    expect(await product('LAMP-1')).toMatchObject({ run_id: numbers[2], withdrawn_at: null });
  });

  it('keeps the version of a product that only moves to another collection', async () => {
    await load(tent, lamp);
    const before = await product('TENT-2');
    await service.api.loadFeed(csvOf(tent), undefined, { collection: 'sale' });
    await service.api.loadFeed(csvOf(tent), undefined, { collection: 'sale' });

    const numbers = (await changes()).map(({ run_id }) => run_id);
    expect(numbers).toHaveLength(2);
    expect(await product('TENT-2')).toEqual({ ...before, collection: 'sale', run_id: numbers[1] });
    expect(await versions()).toMatchObject([
      { sku: 'TENT-2', collection: 'main', run_id: numbers[0], until_run_id: numbers[1] },
    ]);
  });

  it('leaves nothing in the history when it fails', async () => {
    const many = Array.from({ length: 12 }, (_, at) => `S${at},Name,,,,1,,`);
    await replace(...many);
    const before = await changes();
    const { job } = await replace(tent);

    expect(job.status).toBe('failed');
    expect(await changes()).toEqual(before);
    expect(await versions()).toEqual([]);
  });

  it('takes effect after every earlier change of its partner, even if the clock is wrong', async () => {
    await load(tent);
    await service.db.raw(
      "update catalog_versions set effective_at = '2099-01-01T00:00:00.000001Z' where partner_id is not null",
    );
    await load(lamp);

    const { rows } = await service.db.raw<{ rows: { at: string }[] }>(
      "select cast(effective_at at time zone 'UTC' as text) as at from catalog_versions where partner_id is not null order by run_id",
    );
    expect(rows.map(({ at }) => at)).toEqual(['2099-01-01 00:00:00.000001', '2099-01-01 00:00:00.000002']);
  });
});

describe('the withdrawal of one product', () => {
  const withdraw = async (sku: string) => {
    const { body } = await service.api.get(`/products?sku=${sku}`);
    return service.api.post(`/products/${body.items[0].product_id}/withdraw`);
  };

  it('is a change without a run, and adds no change if it is repeated', async () => {
    await load(tent, lamp);
    const { body } = await withdraw('TENT-2');
    await service.api.post(`/products/${body.product_id}/withdraw`);

    const [first, second, ...others] = await changes();
    expect(second).toMatchObject({ job_id: null, run: null });
    expect(others).toEqual([]);
    expect(await versions()).toMatchObject([
      { sku: 'TENT-2', run_id: first!.run_id, until_run_id: second!.run_id, withdrawn_at: null },
    ]);
    expect((await product('TENT-2')).run_id).toBe(second!.run_id);
  });

  it('precedes a run in progress for which it does not wait', async () => {
    await load(tent, lamp, 'MAT-7,Mat,,,,1,,');
    const feed = await service.api.uploadFeed(csvOf(lamp.replace('5', '6')));
    const run = await SteppedRun.start(service, feed);
    await run.stepTo(/^select pg_advisory_xact_lock.* \| 5\)/);

    await withdraw('TENT-2');
    await withdraw('MAT-7');
    await run.finish();
    await load(tent, 'MAT-7,Mat,,,,1,,');

    expect((await changes()).map(({ job_id }) => job_id)).toEqual([1, null, null, 2, 3]);
  });

  it('has a number of its own if the partner has no change yet', async () => {
    for (const partner of ['First', 'Second']) await service.api.loadFeed(csvOf(tent), partner);
    await service.db('catalog_versions').whereNotNull('partner_id').delete();
    await withoutHistory(service, (trx) => trx('products').update({ run_id: null }));

    const { items } = (await service.api.get('/products?sort_by=product_id&order=asc')).body;
    for (const { product_id: productId } of items as { product_id: string }[]) {
      expect((await service.api.post(`/products/${productId}/withdraw`)).status).toBe(200);
    }
    await service.api.loadFeed(csvOf(tent), 'First');

    const numbers = (await changes()).map(({ run_id }) => run_id);
    expect(numbers.slice(0, 2)).toEqual([1, 2]);
    expect(await versions()).toMatchObject([
      { run_id: null, until_run_id: 1 },
      { run_id: 1, until_run_id: numbers[2] },
      { run_id: null, until_run_id: 2 },
    ]);
  });
});

describe('a manual change', () => {
  const change = (set: string, sku = 'TENT-2') =>
    service.db.raw(`update products set ${set} where sku = ?`, [sku]);
  /** Loads an unchanged feed: the run takes manual changes into account. */
  const loadUnrelated = () => load('OTHER,Other,,,,1,,');

  it('is part of the next change of the catalog, together with all later manual changes', async () => {
    await load(tent, lamp);
    const before = await product('TENT-2');
    await change('price = 1');
    await change("price = 2, brand = 'Other'");

    expect(await versions()).toEqual([{ ...before, until_run_id: pending, is_external: true }]);
    await loadUnrelated();

    const [, second] = await changes();
    expect(await versions()).toEqual([{ ...before, until_run_id: second!.run_id, is_external: true }]);
    expect(await product('TENT-2')).toMatchObject({ price: '2.0000', run_id: second!.run_id });
  });

  it('of a product that the run changes too is one change with it', async () => {
    await load(tent, lamp);
    await change('price = 1');
    await load(tent.replace('100', '120'), lamp);

    const [first, second] = await changes();
    expect(await versions()).toMatchObject([
      {
        sku: 'TENT-2',
        price: '100.0000',
        run_id: first!.run_id,
        until_run_id: second!.run_id,
        is_external: true,
      },
    ]);
    expect(await product('TENT-2')).toMatchObject({ price: '120.0000', run_id: second!.run_id });
  });

  it('turns a run without changes into a change', async () => {
    const feed = await load(tent, lamp);
    await change("brand = 'Other'");
    await change("brand = 'Lumo'");
    expect((await rerun(feed)).body.summary).toMatchObject({ unchanged: 2 });

    expect((await changes()).map(({ run }) => run)).toEqual([1, 2]);
    expect(await versions()).toMatchObject([{ sku: 'TENT-2', is_external: true }]);
  });

  it('that deletes a product ends its last version, also before a first load', async () => {
    await load(tent);
    await service.db('products').delete();
    const feed = await service.api.uploadFeed(csvOf(tent));
    await (await SteppedRun.start(service, feed, 0)).finish();

    const [first, second] = await changes();
    expect(await versions()).toMatchObject([
      { sku: 'TENT-2', run_id: first!.run_id, until_run_id: second!.run_id, is_external: true },
    ]);
    expect((await product('TENT-2')).run_id).toBe(second!.run_id);
  });

  onLocalProducts(it, 'manual transactions lock no products of a working copy')(
    'stays for a later change while another manual transaction has locked the product',
    async () => {
      await load(tent, lamp);
      await change('price = 1');
      const session = await ManualSession.open(service);
      try {
        await session.execute("begin; update products set price = 2 where sku = 'TENT-2'");
        await loadUnrelated();
        expect(await versions()).toMatchObject([{ price: '100.0000', until_run_id: pending }]);
      } finally {
        await session.close();
      }
      await load(tent.replace('100', '120'), lamp);

      const last = (await changes()).at(-1)!;
      expect(await versions()).toMatchObject([{ price: '100.0000', until_run_id: last.run_id }]);
    },
  );

  it('that was made before the withdrawal of the product is part of the withdrawal', async () => {
    const { productIds } = await loadedIds();
    await change('price = 1');
    await service.api.post(`/products/${productIds[0]}/withdraw`);

    const [first, second] = await changes();
    expect(await versions()).toMatchObject([
      { price: '100.0000', run_id: first!.run_id, until_run_id: second!.run_id, is_external: true },
    ]);
  });

  async function loadedIds() {
    await load(tent, lamp);
    const { body } = await service.api.get('/products?sku=TENT-2');
    return { productIds: [body.items[0].product_id as string] };
  }
});
