import { loadProducts, toCsv, type FeedRow } from '../support/catalog';
import { aTimestamp } from '../support/expectations';
import { eventually } from '../support/harness';
import { startTestService, type TestService } from '../support/service';
import { SteppedRun } from '../support/stepped-run';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const tent = { sku: 'TENT-2', price: '10' } as const;
const lamp = { sku: 'LAMP-1', price: '10' } as const;

const withdraw = (productId: string) => service.api.post(`/products/${productId}/withdraw`);
const get = async (path: string) => (await service.api.get(path)).body;
const skusOf = async (path: string) =>
  (await get(path)).items.map(({ sku }: { sku: string }) => sku) as string[];

describe('the withdrawal of a product while a run holds the lock of its partner', () => {
  /** Starts a run of a feed with these rows, and holds it before such a statement. */
  async function holdRun(rows: FeedRow[], partner: string, mode: string, statement: RegExp) {
    const feed = await service.api.uploadFeed(toCsv(rows), partner, { mode });
    const run = await SteppedRun.start(service, feed);
    await run.stepTo(statement);
    return run;
  }
  /** It has written all products; the rest is as short as a commit. */
  const lockingHistory = /^select pg_advisory_xact_lock.* \| 5\)/;
  const lockingWithdrawn = /feed_withdrawals[^]*for no key update of products/;
  const comparing = /create temporary table feed_changes/;
  const counters = async (run: SteppedRun) => (await run.finish()).counters;

  it('withdraws a product that the run does not change without waiting', async () => {
    const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Beside');
    const run = await holdRun([{ ...lamp, price: '11' }], 'Beside', 'upsert', lockingHistory);

    expect((await withdraw(productIds[0])).status).toBe(200);

    expect(await counters(run)).toMatchObject({ updated: 1, restored: 0 });
    expect(await skusOf('/products?partner_name=Beside')).toEqual(['LAMP-1']);
  });

  it('waits for a run that has changed the product, and withdraws it then', async () => {
    const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Behind');
    const run = await holdRun([{ ...tent, price: '11' }], 'Behind', 'upsert', /^COMMIT;/);
    const withdrawal = withdraw(productIds[0]);
    await eventually('the withdrawal waits', async () => {
      const { rows } = await service.db.raw<{ rows: unknown[] }>(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length === 1;
    });

    await run.finish();

    expect((await withdrawal).body).toMatchObject({ price: 11, withdrawn_at: aTimestamp });
    expect(await skusOf('/products?partner_name=Behind')).toEqual(['LAMP-1']);
  });

  it('is reverted by the run if that compares the row of the product later', async () => {
    const { productIds } = await loadProducts(service, [tent] as const, 'Named');
    const run = await holdRun([{ ...tent, price: '11' }], 'Named', 'upsert', comparing);

    await withdraw(productIds[0]);

    expect(await counters(run)).toMatchObject({ updated: 1, restored: 1 });
    expect(await skusOf('/products?partner_name=Named')).toEqual(['TENT-2']);
  });

  it('stays if the run has skipped the row by its digest; the next feed with the product restores it', async () => {
    const { productIds } = await loadProducts(service, [tent] as const, 'Digest');
    const run = await holdRun([tent], 'Digest', 'upsert', comparing);

    await withdraw(productIds[0]);

    expect(await counters(run)).toMatchObject({ unchanged: 1, restored: 0 });
    expect(await skusOf('/products?partner_name=Digest')).toEqual([]);
    expect((await service.api.loadFeed(toCsv([tent]), 'Digest')).job.summary).toMatchObject({ restored: 1 });
  });

  it('is not counted by a replace run that would have withdrawn the product too', async () => {
    const { productIds } = await loadProducts(service, [tent, lamp] as const, 'Both');
    const run = await holdRun([lamp], 'Both', 'replace', lockingWithdrawn);

    await withdraw(productIds[0]);

    expect(await counters(run)).toMatchObject({ unchanged: 1, withdrawn: 0 });
    expect((await get('/partners/Both')).products).toBe(1);
  });
});
