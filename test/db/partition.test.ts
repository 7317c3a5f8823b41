import type { Knex } from 'knex';
import { partitionProducts } from '../../src/db/partitions/partition';
import type { Database } from '../../src/db/database';
import { createLog } from '../../src/shared/log';
import { toCsv, loadProducts } from '../support/catalog';
import { administer, createTestDatabase } from '../support/databases';
import { eventually } from '../support/harness';
import { findBroken } from '../support/invariants';
import { startTestService } from '../support/service';

const log = createLog(process.env.TEST_LOG_LEVEL ?? 'fatal');

function partition(db: Database, partitions: number, signal = new AbortController().signal): Promise<void> {
  return partitionProducts(db, partitions, { log, signal, batchSize: 10 });
}

/** All that belongs to `products` in the catalog of PostgreSQL, but for its partitions. */
async function describeProducts(db: Knex): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { line: string }[] }>(`
    select format('%s %s %s %s %s', column_name, data_type, is_nullable, column_default, identity_generation) as line
    from information_schema.columns where table_name = 'products'
    union all select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint where conrelid = 'products'::regclass
    union all select indexdef from pg_indexes where tablename = 'products'
    union all select format('%s %s', pg_get_triggerdef(oid), tgenabled) from pg_trigger
      where tgrelid = 'products'::regclass and not tgisinternal
    union all select format('%s %s', grantee, privilege_type) from information_schema.role_table_grants where table_name = 'products'
    union all select format('%s %s %s', grantee, column_name, privilege_type) from information_schema.column_privileges
      where table_name = 'products'
    union all select pg_get_serial_sequence('products', 'product_id')
    union all select format('%s %s %s', relname, relkind, reloptions) from pg_class where relname like '%product%' and relkind <> 't'
    order by line
  `);
  return rows.map(({ line }) => line);
}

async function insertProducts(db: Knex, partners: number, products: number): Promise<void> {
  await db.raw(
    `insert into partners (partner_name) select 'Partner ' || number from generate_series(1, ?) as number`,
    [partners],
  );
  await db.raw(
    `insert into products (feed_id, partner_id, sku, product_name, price)
     select 1, partner_id, 'SKU-' || number, 'Tent ' || number, number
     from partners, generate_series(1, ?) as number`,
    [products],
  );
}

/** Begins a copy into 4 partitions that is aborted after some batches of ten products. */
async function interrupt(db: Database, batches: number): Promise<void> {
  const aborting = new AbortController();
  const countBatch = ({ sql }: { sql: string }) => {
    if (sql.includes('with batch') && --batches === 0) aborting.abort();
  };
  db.on('query', countBatch);
  await expect(partition(db, 4, aborting.signal)).rejects.toThrow();
  db.removeListener('query', countBatch);
}

describe('partitionProducts', () => {
  it('partitions by partner and back, and leaves rows, numbers, triggers and privileges as they were', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 7, 30);
    await db.raw(`
      alter table products set (fillfactor = 90);
      alter table products disable trigger products_changed;
      grant select on products to pg_monitor;
      grant update (price) on products to pg_monitor with grant option;
    `);
    const before = await describeProducts(db);
    const rows: unknown[] = await db('products').orderBy('product_id');

    await partition(db, 4);

    expect(await db('products').orderBy('product_id')).toEqual(rows);
    const { rows: counts } = await db.raw<{ rows: { products: number }[] }>(
      'select count(*) as products from products group by tableoid',
    );
    expect(counts.length).toBeGreaterThan(1);

    await partition(db, 8);
    expect(await db('products').orderBy('product_id')).toEqual(rows);
    await partition(db, 0);
    expect(await db('products').orderBy('product_id')).toEqual(rows);
    expect(await describeProducts(db)).toEqual(before);
    const [last] = await db('products').insert(
      { feed_id: 1, partner_id: 1, sku: 'NEW', product_name: 'New' },
      'product_id',
    );
    expect(last).toEqual({ product_id: 211 });
  });

  it('loses and doubles nothing of a service with reads, orders, runs and manual changes in progress', async () => {
    const service = await startTestService();
    const { api, db } = service;
    const { productIds } = await loadProducts(service, [{ sku: 'TENT-1', price: '9.90' }], 'Orders');
    await insertProducts(db, 5, 30);
    const failures: unknown[] = [];
    const expected = new Map<string, string>();
    let isDone = false;
    /** Repeats requests, whose answers must be successes, until the products are partitioned. */
    const repeat = async (work: (round: number) => Promise<number>) => {
      for (let round = 1; !isDone || round < 3; round++) {
        const status = await work(round);
        if (status >= 300) failures.push(status);
      }
    };
    const manualChanges = async () => {
      for (let round = 1; !isDone || round < 3; round++) {
        const sku = `MANUAL-${round}`;
        const row = { feed_id: 1, partner_id: 2, sku, product_name: 'inserted' };
        await db('products').insert([row, { ...row, sku: `${sku}-gone` }, { ...row, sku: `${sku}-moved` }]);
        await db('products')
          .where({ sku })
          .update({ product_name: `changed ${round}` });
        await db('products')
          .where({ sku: `${sku}-gone` })
          .delete();
        await db('products')
          .where({ sku: `${sku}-moved` })
          .update({ partner_id: 3, sku: `${sku}-there` });
        // Another product takes over a sku.
        await db('products').where({ partner_id: 4, sku: 'SKU-1' }).delete();
        await db('products').insert({
          ...row,
          partner_id: 4,
          sku: 'SKU-1',
          product_name: `taken over ${round}`,
        });
        expected
          .set(`2 ${sku}`, `changed ${round}`)
          .set(`3 ${sku}-there`, 'inserted')
          .set('4 SKU-1', `taken over ${round}`);
      }
    };
    const load = Promise.all([
      repeat(async () => (await api.get('/products')).status),
      repeat(async () => (await api.get(`/products/${productIds[0]}`)).status),
      repeat(async () => {
        const items = [{ product_id: productIds[0], quantity: 1 }];
        return (await api.post('/orders', { partner_name: 'Shop', items })).status;
      }),
      repeat(async (round) => {
        const rows = Array.from({ length: 20 }, (_, at) => ({
          sku: `RUN-${at + round}`,
          product_name: `run ${round}`,
        }));
        for (const { sku, product_name } of rows) expected.set(`run ${sku}`, product_name);
        const { jobId } = await api.uploadFeed(toCsv(rows), 'Runs');
        return (await api.post(`/jobs/${jobId}/run`)).status;
      }),
      manualChanges(),
    ]);

    for (const partitions of [4, 0]) await partition(db, partitions);
    isDone = true;
    await load;

    expect(failures).toEqual([]);
    for (let number = 1; number <= 30; number++) {
      for (let partner = 1; partner <= 6; partner++) {
        const key = `${partner} SKU-${number}`;
        if (!expected.has(key)) expected.set(key, `Tent ${number}`);
      }
    }
    const found = await db('products')
      .join('partners', 'partners.partner_id', 'products.partner_id')
      .whereNot({ sku: 'TENT-1' })
      .select<{ partner_id: number; partner_name: string; sku: string; product_name: string }[]>(
        'products.partner_id',
        'partner_name',
        'sku',
        'product_name',
      );
    const owner = (partnerId: number, name: string) => (name === 'Runs' ? 'run' : partnerId);
    expect(
      found.map((row) => [`${owner(row.partner_id, row.partner_name)} ${row.sku}`, row.product_name]).sort(),
    ).toEqual([...expected].sort());
    expect(await findBroken({ db, objectStore: service.objectStore, apis: [api] })).toEqual([]);
  });

  it('shows all products to a transaction whose snapshot is older than the copy', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 3, 10);
    const snapshot = await db.transaction(undefined, { isolationLevel: 'repeatable read' });
    await snapshot('partners').first();

    const partitioned = partition(db, 4);
    await eventually('the copy is verified', async () => {
      const { rows } = await db.raw<{ rows: [{ there: boolean }] }>(
        "select to_regclass('products_partner_id_sku_copy') is not null as there",
      );
      return rows[0].there;
    });
    const seen = await snapshot('products').count({ products: '*' });
    await snapshot.commit();
    await partitioned;

    expect(seen).toEqual([{ products: 30 }]);
  });

  it('begins again after a truncate', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 3, 10);
    await interrupt(db, 2);
    await db.raw('truncate products');
    await db('products').insert({ feed_id: 1, partner_id: 1, sku: 'NEW', product_name: 'New' });

    await partition(db, 4);

    expect(await db('products').pluck('sku')).toEqual(['NEW']);
  });

  it('continues an interrupted copy, with the changes since', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 3, 20);
    await interrupt(db, 2);
    await db('products').where({ partner_id: 1 }).update({ product_name: 'Changed' });
    await db('products').where({ partner_id: 2, sku: 'SKU-1' }).delete();

    await partition(db, 4);

    expect(await db('products').where({ product_name: 'Changed' }).count({ products: '*' })).toEqual([
      { products: 20 },
    ]);
    expect(await db('products').count({ products: '*' })).toEqual([{ products: 59 }]);
  });

  it('discards an interrupted copy when the table was altered since, or with the present number', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 3, 20);
    const before = await describeProducts(db);
    await interrupt(db, 2);

    await partition(db, 0);

    expect(await describeProducts(db)).toEqual(before);
    await interrupt(db, 2);
    await db.raw('alter table products add column weight integer default 7');
    await partition(db, 4);
    expect(await db('products').sum({ weight: 'weight' })).toEqual([{ weight: 420 }]);
  });

  it('refuses another number while a copy is unfinished, with both ways out', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 1, 20);
    await interrupt(db, 2);

    await expect(partition(db, 8)).rejects.toThrow(
      'A copy of the products into 4 partitions is unfinished: continue it with --partition 4, or discard it with --partition 0.',
    );
  });

  it('refuses what would stay with the old table', async () => {
    const { db } = await createTestDatabase();
    await db.raw('create view cheap_products as select * from products where price < 10');

    await expect(partition(db, 4)).rejects.toThrow(
      /^These depend on the table products.*rule _RETURN on view cheap_products/,
    );
  });

  it('refuses an account that does not own the table, and names the owner', async () => {
    const { db, address } = await createTestDatabase();
    const account = `account_of_${address.database}`;
    await administer(`create role ${account}`);
    try {
      await db.raw(`grant select on all tables in schema public to ${account}`);
      const session = await db.transaction();
      await session.raw(`set local role ${account}`);
      await expect(partition(session, 4)).rejects.toThrow(
        `The account ${account} does not own the table products: use postgres, which does, in DATABASE_URL.`,
      );
      await session.rollback();
    } finally {
      await db.raw(`drop owned by ${account}`);
      await administer(`drop role ${account}`);
    }
  });

  it('refuses more partitions than PostgreSQL has locks for', async () => {
    const { db } = await createTestDatabase();

    await expect(partition(db, 256)).rejects.toThrow(
      /^256 partitions need max_locks_per_transaction = \d+ or more in PostgreSQL; it is \d+\./,
    );
  });

  it('throws when a change was not logged, and keeps products as they are', async () => {
    const { db } = await createTestDatabase();
    await insertProducts(db, 3, 20);
    await interrupt(db, 2);
    await db.raw('alter table products disable trigger products_copy_delete');
    await db('products').where({ partner_id: 1, sku: 'SKU-1' }).delete();

    await expect(partition(db, 4)).rejects.toThrow(
      /^The copy differs from products.* Discard it with --partition 0,/,
    );

    expect(await db('products').count({ products: '*' })).toEqual([{ products: 59 }]);
  });

  it('refuses to run twice at a time', async () => {
    const { db } = await createTestDatabase();
    const writer = await db.transaction();
    await writer('products').insert({ feed_id: 1, partner_id: 1, sku: 'A', product_name: 'Tent' });
    const first = partition(db, 4);
    await eventually('it copies', async () => (await db.schema.hasTable('products_copy_state')) || false);

    await expect(partition(db, 4)).rejects.toThrow(
      'Another process is partitioning the products: wait for its end.',
    );

    await writer.commit();
    await first;
    expect(await db('products').pluck('sku')).toEqual(['A']);
  });
});
