import type { Knex } from 'knex';
import { partitionProducts } from '../../src/db/partitions/partition';
import type { Database } from '../../src/db/database';
import { createLog } from '../../src/shared/log';
import { createTestDatabase } from '../support/databases';

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
});
