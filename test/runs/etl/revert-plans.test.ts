import type { Knex } from 'knex';
import { findRunChange } from '../../../src/runs/etl/change-effects';
import { listKnownEffects } from '../../../src/runs/etl/list-effects';
import { countRevert } from '../../../src/runs/etl/revert-counts';
import { listRunChanges } from '../../../src/runs/jobs/run-changes.service';
import { RunStats } from '../../../src/runs/etl/run-stats';
import { runRevert } from '../../../src/runs/execution/run-revert';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.db.raw(`
    alter table products set (autovacuum_enabled = off);
    alter table product_versions set (autovacuum_enabled = off)`);
});

const products = 4_000;
const feedOf = (price: number) =>
  `sku,product_name,price\n${Array.from({ length: products }, (_, at) => `S${at},Tent,${price}\n`).join('')}`;

/** Counts the products and versions that the transaction has read. */
async function countRead(trx: Knex.Transaction): Promise<number> {
  const { rows } = await trx.raw<{ rows: [{ count: string }] }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as count from pg_stat_xact_user_tables
     where relid in (to_regclass('products'), to_regclass('product_versions'))`,
  );
  return Number(rows[0].count);
}

const tables = [
  { state: 'were never analyzed', prepareSql: 'select' },
  {
    state: 'were analyzed when each partner had one product',
    prepareSql: `
      insert into partners (partner_name) select 'Tiny ' || n from generate_series(1, 300) as n;
      insert into products (feed_id, partner_id, sku, product_name) select 1, partner_id, 'A', 'Name' from partners;
      analyze products, product_versions`,
  },
];

describe.each(tables)('of tables that $state', ({ state, prepareSql }) => {
  beforeAll(() => service.db.raw(prepareSql));

  onLocalProducts(it, 'statistics of a shard are its own').each([
    { what: 'changed', loads: 2, effect: { updated: products } },
    { what: 'inserted', loads: 1, effect: { withdrawn: products } },
  ])('counts, lists and reverts $what products without reading all for each', async (tried) => {
    const partner = `${state} ${tried.what}`;
    for (let price = 1; price < tried.loads; price++) await service.api.loadFeed(feedOf(price), partner);
    const { jobId: id } = await service.api.loadFeed(feedOf(tried.loads), partner);
    const jobId = Number(id.slice(2));
    const trx = await service.db.transaction();
    try {
      let before = await countRead(trx);
      const readLittle = async () => {
        const now = await countRead(trx);
        expect(now - before).toBeLessThan(20 * products);
        before = now;
      };
      const kept = await findRunChange(trx, { jobId, run: 1 }, true);
      if (kept === 'not kept' || !kept.change) throw new Error('no change');
      const page = { afterProduct: 0, limit: 1_000, conflictsMax: 100 };

      const { counts, revertedIds } = await countRevert(trx, kept.change, page);
      expect(counts).toMatchObject({ ...tried.effect, conflicts: 0 });
      expect(revertedIds).toHaveLength(1_001);
      await readLittle();

      const asked = { productIds: revertedIds, limit: 1_000 };
      expect((await listKnownEffects(trx, 'reverted', kept.change, asked)).effects).toHaveLength(1_000);
      await readLittle();

      for (const sort of ['usual', 'price_change'] as const) {
        const done = await listRunChanges(trx, { id, run: 1, scope: null }, { limit: 1_000, sort });
        expect(done.effects).toHaveLength(1_000);
        await readLittle();
      }

      const { partnerId } = kept.change;
      await trx('runs').insert({
        job_id: jobId,
        run: 2,
        kind: 'revert',
        status: 'running',
        reverts_run: 1,
        skips_conflicts: false,
      });
      const revert = { jobId, run: 2, kind: 'revert', partnerId, revertsRun: 1, skipsConflicts: false };
      const { signal } = new AbortController();
      const counters = await runRevert(
        trx,
        revert as Parameters<typeof runRevert>[1],
        new RunStats(),
        signal,
      );
      expect(counters).toMatchObject(tried.effect);
      await readLittle();
    } finally {
      await trx.rollback();
    }
  });
});
