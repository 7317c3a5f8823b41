import * as searchProducts from '../../../migrations/20261123020000_search_products';
import type { Database } from '../../../src/base/db/database';
import { indexBacklog, startSearchIndexer } from '../../../src/catalog/products/search-index';
import { createLog } from '../../../src/base/log';
import { loadProducts } from '../../support/catalog';
import { createTestDatabase } from '../../support/databases';
import { afterFile, eventually } from '../../support/harness';
import { closedPort } from '../../support/network';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

/** The words of each indexed product, by product number. */
async function indexed(db: Database = service.db): Promise<Record<number, string>> {
  const { rows } = await db.raw<{ rows: { product_id: number; words: string }[] }>(
    `select product_id, array_to_string(tsvector_to_array(words), ' ') as words
     from product_words order by partner_id, product_id`,
  );
  return Object.fromEntries(rows.map(({ product_id, words }) => [product_id, words]));
}

const backlog = () => service.db('search_backlog').select('partner_id', 'feed_id', 'product_ids');

const rename = (productId: number, name: string) =>
  service.db('products').where({ product_id: productId }).update({ product_name: name });

const insertProducts = (from: number, to: number) =>
  service.db.raw(
    `insert into products (feed_id, partner_id, sku, product_name)
     select 1, 1, 'sku' || n, 'name' || n from generate_series(${from}, ${to}) as n`,
  );

describe('a run', () => {
  it('indexes its new and changed products by name, brand and sku', async () => {
    await loadProducts(service, [{ sku: 'TENT-2', product_name: 'Zwei-Personen-Zelt', brand: 'Ácme' }]);
    await indexBacklog(service.db);
    await loadProducts(service, [
      { sku: 'LAMP', product_name: 'Lamp' },
      { sku: 'TENT-2', product_name: 'Tent' },
    ]);
    await indexBacklog(service.db);

    expect(await indexed()).toEqual({ 1: '2 acme tent', 2: 'lamp' });
    expect(await backlog()).toEqual([]);
  });

  it('adds nothing to the backlog if it changes nothing', async () => {
    await loadProducts(service, [{ sku: 'A' }]);
    await indexBacklog(service.db);
    await loadProducts(service, [{ sku: 'A' }]);

    expect(await backlog()).toEqual([]);
  });

  it('adds one row to the backlog, in its transaction', async () => {
    await loadProducts(service, [{ sku: 'A' }, { sku: 'B' }]);

    expect(await backlog()).toEqual([{ partner_id: 1, feed_id: 1, product_ids: null }]);
  });

  it('of many products is indexed in several transactions', async () => {
    const rows = Array.from({ length: 4_500 }, (_, n) => ({ sku: `S${n}` }));
    await loadProducts(service, rows);
    await indexBacklog(service.db);

    expect(Object.values(await indexed())).toEqual(rows.map(({ sku }) => sku.toLowerCase()));
  });
});

describe('a manual change', () => {
  beforeEach(async () => {
    await loadProducts(service, [{ sku: 'A' }, { sku: 'B' }]);
    await loadProducts(service, [{ sku: 'C' }], 'Other');
    await indexBacklog(service.db);
  });

  it.each([
    ['an update', () => rename(2, 'Boat'), ['a', 'b boat', 'c']],
    ['a deletion', () => service.db('products').where({ product_id: 1 }).delete(), ['b', 'c']],
    [
      'an update of all products of several partners',
      () => service.db('products').update({ product_name: 'X' }),
      ['a x', 'b x', 'c x'],
    ],
  ])('is indexed: %s', async (_, change, expected) => {
    await change();
    await indexBacklog(service.db);

    expect(Object.values(await indexed()).sort()).toEqual(expected);
    expect(await backlog()).toEqual([]);
  });

  onLocalProducts(it, 'a new product has a provisional number when it is logged')(
    'is indexed: an insert',
    async () => {
      await insertProducts(1, 1);
      await indexBacklog(service.db);

      expect(Object.values(await indexed()).sort()).toEqual(['a', 'b', 'c', 'name1 sku1']);
      expect(await backlog()).toEqual([]);
    },
  );

  onLocalProducts(it, 'triggers do not notice a truncation')('is indexed: a truncation', async () => {
    await service.db.raw('truncate products cascade');
    await indexBacklog(service.db);

    expect(await indexed()).toEqual({});
    expect(await backlog()).toEqual([]);
  });

  onLocalProducts(it, 'product numbers have gaps')(
    'of more than a thousand products reads all of the partner',
    async () => {
      await insertProducts(1, 2_500);
      await service.db('products').where({ product_id: 1 }).delete();
      await indexBacklog(service.db);
      await service.db.raw('delete from products where partner_id = 1 and product_id > 100');
      await indexBacklog(service.db);

      expect(Object.keys(await indexed()).map(Number)).toEqual([
        2,
        3,
        ...Array.from({ length: 97 }, (_, n) => n + 4),
      ]);
    },
  );

  it('that moves a product to another partner is indexed for that partner only', async () => {
    await service.db('products').where({ product_id: 1 }).update({ partner_id: 2 });
    await indexBacklog(service.db);

    expect(await service.db('product_words').where({ product_id: 1 }).pluck('partner_id')).toEqual([2]);
  });

  onLocalProducts(it, 'the transaction is not of a working copy')(
    'that is rolled back leaves nothing in the backlog',
    async () => {
      await service.db.raw("begin; update products set product_name = 'X'; rollback");

      expect(await backlog()).toEqual([]);
    },
  );
});

describe('the indexer', () => {
  onLocalProducts(it, 'words cannot be locked without their partner')(
    'that is killed loses nothing, and another one leaves its partner alone meanwhile',
    async () => {
      await loadProducts(service, [{ sku: 'A' }]);
      await indexBacklog(service.db);
      const holder = await service.db.transaction();
      await holder.raw('select from product_words for update');
      await rename(1, 'Tent');

      const killed = expect(indexBacklog(service.db)).rejects.toThrow();
      const pid = await eventually('the indexer waits for the row', async () => {
        const { rows } = await service.db.raw<{ rows: { pid: number }[] }>(
          `select pid from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like 'insert into product_words%'`,
        );
        return rows[0]?.pid ?? false;
      });
      await indexBacklog(service.db);
      expect(await indexed()).toEqual({ 1: 'a' });
      await service.db.raw('select pg_terminate_backend(cast(? as integer))', [pid]);
      await killed;
      await holder.rollback();
      await indexBacklog(service.db);

      expect(await indexed()).toEqual({ 1: 'a tent' });
    },
  );

  it('indexes only the last of many changes, also with several processes', async () => {
    const indexers = [1, 2, 3].map(() => startSearchIndexer(service.address, createLog('fatal')));
    indexers.forEach((indexer) => afterFile(() => indexer.stop()));
    await loadProducts(service, [{ sku: 'A' }, { sku: 'B' }]);
    for (let n = 0; n < 50; n++) {
      await rename(1, `a${n}`);
      await rename(2, `b${n}`);
      if (n % 10 === 0) await indexBacklog(service.db);
    }

    await eventually('everything is indexed', async () => (await backlog()).length === 0);
    expect(await indexed()).toEqual({ 1: 'a a49', 2: 'b b49' });
  });

  onLocalProducts(it, 'statistics of a shard are its own')(
    'does not read all products of a partner that is new to statistics for each of them',
    async () => {
      const { db } = service;
      await db.raw("insert into partners (partner_name) values ('Known'), ('New')");
      await insertProducts(1, 3_000);
      await indexBacklog(db);
      await db.raw('analyze products, product_words');
      const trx = await db.transaction();
      try {
        await trx.raw(
          `insert into products (feed_id, partner_id, sku, product_name)
         select 1, 2, 'sku' || n, 'name' || n from generate_series(1, 3000) as n`,
        );

        await indexBacklog(trx);

        const { rows } = await trx.raw<{ rows: [{ count: string }] }>(
          `select idx_tup_fetch as count from pg_stat_xact_user_tables where relid = to_regclass('products')`,
        );
        expect(Number(rows[0].count)).toBeLessThan(60_000);
      } finally {
        await trx.rollback();
      }
    },
  );

  it('logs that the database is unreachable, and keeps running', async () => {
    const logged: string[] = [];
    const address = { host: '127.0.0.1', port: await closedPort(), user: 'x', database: 'x' };
    const log = createLog('warn', { write: (line) => void logged.push(line) });
    const indexer = startSearchIndexer(address, log);
    afterFile(() => indexer.stop());

    await eventually('it is logged twice', () => logged.length > 1);
    expect(JSON.parse(logged[0]!)).toMatchObject({ level: 40, msg: 'failed to index products for search' });
  });
});

onLocalProducts(it, 'migrations are for local products')(
  'the migration has the products of all partners indexed, and can be repeated',
  async () => {
    const { db } = await createTestDatabase();
    await searchProducts.down(db);
    await db('partners').insert({ partner_name: 'Acme' });
    await db('products').insert({ feed_id: 1, partner_id: 1, sku: 'A', product_name: 'Tent' });

    await searchProducts.up(db);
    await searchProducts.up(db);
    await indexBacklog(db);

    expect(await indexed(db)).toEqual({ 1: 'a tent' });
  },
);
