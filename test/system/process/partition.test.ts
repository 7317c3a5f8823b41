import { administer, createTestDatabase, databaseUrl, type TestDatabase } from '../../support/databases';
import { eventually } from '../../support/harness';
import { spawnService, startService, type Exit } from '../../support/process';
import { testKey } from '../../support/service';

const products = 25_000;

async function openWithProducts(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.db('partners').insert({ partner_name: 'Acme' });
  await database.db.raw(
    `insert into products (feed_id, partner_id, sku, product_name, price)
     select 1, 1, 'SKU-' || number, 'Tent', 1 from generate_series(1, ?) as number`,
    [products],
  );
  return database;
}

const command = (url: string, ...args: string[]) =>
  spawnService({ role: 'migrate', args, env: { DATABASE_URL: url } });
const migrate = (url: string, ...args: string[]): Promise<Exit> => command(url, ...args).exit;

const countPartitions = ({ db }: TestDatabase) =>
  db('pg_inherits').whereRaw("inhparent = 'products'::regclass").count({ partitions: '*' });

describe('the option --partition of migrate', () => {
  it('partitions the products of a service that runs, which serves them with its prepared statements', async () => {
    const database = await openWithProducts();
    const url = databaseUrl(database.address);
    const env = { DATABASE_URL: url, API_KEYS: testKey, DATABASE_PREPARED_STATEMENTS: 'on' };
    const { api } = await startService({ env });
    const read = async () => {
      const order = { partner_name: 'Shop', items: [{ product_id: 'PR00001', quantity: 1 }] };
      const feed = await api.loadFeed('sku,product_name\nSKU-1,Lamp\n', 'Acme');
      const [page, product, plan] = [
        await api.get('/products?limit=1'),
        await api.get('/products/PR00001'),
        await api.post(`/jobs/${feed.jobId}/plan`),
      ];
      const created = await api.post('/orders', order);
      return [feed.job.status, page.status, product.status, plan.status, created.status];
    };
    const before = await read();

    expect(await migrate(url, '--partition', '4')).toMatchObject({ code: 0, stderr: '' });

    expect(await countPartitions(database)).toEqual([{ partitions: 4 }]);
    expect(await read()).toEqual(before);
    expect(await migrate(url, '--partition', '4')).toMatchObject({ code: 0, stderr: '' });
    expect(await migrate(url)).toMatchObject({ code: 0, stderr: '' });
    expect(await migrate(url, '--partition=0')).toMatchObject({ code: 0, stderr: '' });
    expect(await read()).toEqual(before);
    expect(await countPartitions(database)).toEqual([{ partitions: 0 }]);
  });

  it('continues where a killed command was', async () => {
    const database = await openWithProducts();
    const { db } = database;
    const url = databaseUrl(database.address);
    const writer = await db.transaction();
    await writer('products').where({ product_id: 1 }).update({ price: 2 });
    const killed = command(url, '--partition', '4');
    await eventually('it waits for the writer', () => db.schema.hasTable('products_copy'));
    // The second batch meets a product whose insertion is undecided.
    const hold = await db.transaction();
    await hold.raw('insert into products_copy select * from products where product_id = 15000');
    await writer.commit();
    const copied = db('products_copy_state').where({ product_id: 10_000 }).select();
    await eventually('the first batch is copied', async () => (await copied.clone()).length === 1);

    await killed.stop('SIGKILL');
    await hold.rollback();
    await db('products').where({ product_id: 2 }).delete();
    const repeated = await migrate(url, '--partition', '4');

    expect(repeated).toMatchObject({ code: 0, stderr: '' });
    expect(repeated.stdout).toContain('"products":15000,"msg":"products copied"');
    expect(await db('products').count({ products: '*' })).toEqual([{ products: products - 1 }]);
    expect(await db('products').where({ product_id: 1 }).pluck('price')).toEqual(['2.0000']);
  });

  it.each([
    [
      ['--partition', '1'],
      'Wrong option --partition 1: it must be a number from 2 to 256, or 0 for no partitions.\n',
    ],
    [['--partition', '257'], 'Wrong option --partition 257: it must be'],
    [['--partition', 'four'], 'Wrong option --partition four: it must be'],
    [['--partition'], 'Wrong arguments: '],
    [['--partitions', '4'], "Wrong arguments: Unknown option '--partitions'.\n"],
  ])('exits with 1 and the reason for %j', async (args, reason) => {
    const { address } = await createTestDatabase();

    const { code, stderr } = await migrate(databaseUrl(address), ...args);

    expect(code).toBe(1);
    expect(stderr.slice(0, reason.length)).toBe(reason);
  });

  it('exits with 1 and names the owner for an account without rights', async () => {
    const { address, db } = await createTestDatabase();
    const account = `account_of_${address.database}`;
    await administer(`create role ${account} login`);
    try {
      await db.raw(`grant select on all tables in schema public to ${account}`);

      const { code, stderr } = await migrate(databaseUrl(address, account), '--partition', '4');

      expect(code).toBe(1);
      expect(stderr).toMatch(/permission denied|does not own the table products/);
    } finally {
      await db.raw(`drop owned by ${account}`);
      await administer(`drop role ${account}`);
    }
  });
});
