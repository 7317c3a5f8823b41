import type { Knex } from 'knex';
import { firstSize } from '../../../src/runs/etl/change-order';
import { listChanges } from '../../../src/runs/etl/list-changes';
import { applyChanges } from '../../../src/runs/etl/apply-changes';
import { raw } from '../../../src/base/db/sql';
import { lockProducts } from '../../../src/runs/etl/merge-staged';
import { compareProducts } from '../../../src/runs/etl/load';
import { RunStats } from '../../../src/runs/etl/run-stats';
import { endManualVersions } from '../../../src/runs/etl/manual-versions';
import { createStaging } from '../../../src/runs/etl/staging';
import { beginRunChange } from '../../../src/catalog/changes/catalog-changes';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  // PostgreSQL then estimates one product per partner, also for products that the tests add.
  await service.db.raw('alter table products set (autovacuum_enabled = off)');
  await service.db.raw(`
    insert into partners (partner_name) select 'Tiny ' || n from generate_series(1, 300) as n;
    insert into products (feed_id, partner_id, sku, product_name) select 1, partner_id, 'A', 'Name' from partners;
    analyze products
  `);
});

interface Sizes {
  products: number;
  staged: number;
  /** Rows that the planner believes to be staged. */
  copied?: number;
}

let partners = 0;

/** Creates a partner with products without statistics, and stages rows; each price differs. */
async function stage(trx: Knex.Transaction, { products, staged, copied = staged }: Sizes) {
  const { rows } = await service.db.raw<{ rows: [{ partner_id: number }] }>(
    'insert into partners (partner_name) values (?) returning partner_id',
    [`Partner ${++partners}`],
  );
  const partnerId = rows[0].partner_id;
  const skus = "lpad(cast(n as text), 8, '0')";
  await service.db.raw(
    `insert into products (feed_id, partner_id, sku, product_name, price)
     select 1, ?, ${skus}, 'Name', 1 from generate_series(1, cast(? as integer)) as n`,
    [partnerId, products],
  );
  await createStaging(trx);
  await trx.raw(
    `insert into feed_rows (line, row_number, sku, product_name, price)
     select n + 1, n, ${skus}, 'Name', 2 from generate_series(1, cast(? as integer)) as n`,
    [staged],
  );
  const stats = new RunStats(false);
  stats.copied = copied;
  const feed = {
    feedId: 2,
    partnerId,
    columns: new Set(['sku', 'product_name', 'price'] as const),
    keptColumns: new Set<never>(),
    positions: {},
    mode: 'upsert' as const,
    collection: 'main',
    isCollectionNamed: false,
    maxWithdrawn: null,
    maxWithdrawnPercent: null,
  };
  return { feed, stats };
}

/** Counts the rows that the transaction has read. */
async function countRead(trx: Knex.Transaction, table: 'products' | 'feed_rows'): Promise<number> {
  const { rows } = await trx.raw<{ rows: [{ count: string }] }>(
    'select seq_tup_read + coalesce(idx_tup_fetch, 0) as count from pg_stat_xact_user_tables where relid = to_regclass(?)',
    [table],
  );
  return Number(rows[0].count);
}

describe.each<Sizes & { readAtMost: { compare: number; update: number } }>([
  { products: 4_000, staged: 10, readAtMost: { compare: 100, update: 100 } },
  { products: 10, staged: 4_000, readAtMost: { compare: 4_000, update: 10_000 } },
  { products: 4_000, staged: 4_000, readAtMost: { compare: 4_000, update: 20_000 } },
  { products: 4_000, staged: 4_000, copied: 60_000, readAtMost: { compare: 20_000, update: 20_000 } },
])(
  'staged rows ($staged) of a partner with $products products without statistics',
  ({ readAtMost, ...sizes }) => {
    it('are compared, listed and updated without reading the products once for each row', async () => {
      const trx = await service.db.transaction();
      try {
        const { feed, stats } = await stage(trx, sizes);
        let before = await countRead(trx, 'products');
        const readSince = async () => {
          const now = await countRead(trx, 'products');
          const read = now - before;
          before = now;
          return read;
        };
        const both = Math.min(sizes.products, sizes.staged);

        const counters = await compareProducts(trx, feed, stats, false);
        expect(counters).toMatchObject({ updated: both, inserted: sizes.staged - both });
        expect(await readSince()).toBeLessThanOrEqual(readAtMost.compare);

        for (const sort of ['usual', 'price_change'] as const) {
          const start = { sort, size: firstSize(sort), afterRow: 0, limit: 5 };
          expect((await listChanges(trx, feed, start, 0)).changes).toHaveLength(5);
          expect(await readSince()).toBeLessThanOrEqual(100);
        }

        const change = await beginRunChange(trx, feed.partnerId);
        await lockProducts(trx, [raw('feed_changes')], 0, new AbortController().signal);
        expect(await readSince()).toBeLessThanOrEqual(readAtMost.update);
        await applyChanges(trx, feed, change, { ...counters, inserted: 0 }, () => Promise.resolve());
        expect(await readSince()).toBeLessThanOrEqual(readAtMost.update);
        expect(await countRead(trx, 'feed_rows')).toBeLessThanOrEqual(10 * sizes.staged);
      } finally {
        await trx.rollback();
      }
    });
  },
);

const products = 4_000;

onLocalProducts(it, 'manual changes of distributed products are made in a working copy')(
  'products of such a partner that were changed or deleted by hand are not looked for among all for each',
  async () => {
    const trx = await service.db.transaction();
    try {
      const { feed } = await stage(trx, { products, staged: 0 });
      await trx.raw('update products set price = 3 where partner_id = ? and product_id % 10 = 0', [
        feed.partnerId,
      ]);
      await trx.raw('delete from products where partner_id = ? and product_id % 10 = 1', [feed.partnerId]);
      const before = await countRead(trx, 'products');

      const change = await beginRunChange(trx, feed.partnerId);

      expect(await endManualVersions(trx, change)).toBe(products / 5);
      expect((await countRead(trx, 'products')) - before).toBeLessThan(products);
    } finally {
      await trx.rollback();
    }
  },
);
