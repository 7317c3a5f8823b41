import { Client } from 'pg';
import { afterFile } from '../../../support/harness';
import { loadProducts } from '../../../support/catalog';
import { onLocalProducts } from '../../../support/local-products';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
let partnerId: number;
let feedId: number;
beforeEach(async () => {
  service = await startTestService();
  const feed = await loadProducts(service, [{ sku: 'SEEN-1' }, { sku: 'SEEN-2' }]);
  feedId = Number(feed.feedId.slice(2));
  partnerId = (await service.db('partners').first('partner_id')).partner_id;
});

/** Simulates a load in progress, which the test commits. */
async function beginLoad(skus: string, count: number): Promise<Client> {
  const client = new Client({ ...service.address, application_name: 'test load' });
  await client.connect();
  afterFile(() => client.end());
  await client.query("begin; set local partner_catalog.keeps_digests = 'on'");
  await client.query(
    `insert into products (feed_id, partner_id, sku, product_name)
     select $1, $2, $3 || n, 'Product' from generate_series(1, $4::integer) as n`,
    [feedId, partnerId, skus, count],
  );
  return client;
}

async function addProductsOfOthers(count: number): Promise<void> {
  await service.db.raw(
    "insert into partners (partner_name) select 'Other ' || n from generate_series(1, 20) as n",
  );
  await service.db.raw(
    `insert into products (feed_id, partner_id, sku, product_name)
     select ?, partner_id, 'OTHER-' || n, 'Product'
     from partners, generate_series(1, ?::integer) as n where partner_name like 'Other %'`,
    [feedId, count],
  );
}

const listed = async (query = ''): Promise<string[]> => {
  const { status, body } = await service.api.get(`/products?${query}`);
  expect(status).toBe(200);
  return body.items.map((item: { sku: string }) => item.sku);
};

/** Returns the number of pages of tables and indexes that the statements of a request read. */
async function pagesTouched(request: () => Promise<unknown>): Promise<number> {
  const statements: { sql: string; bindings: unknown[] }[] = [];
  const note = (statement: { sql: string; bindings: unknown[] }) => statements.push(statement);
  service.pool.on('query', note);
  await request();
  service.pool.off('query', note);

  let pages = 0;
  const client = new Client({ ...service.address, application_name: 'test explain' });
  await client.connect();
  for (const { sql, bindings } of statements.filter((statement) => /from "?products/.test(statement.sql))) {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${sql}`, bindings);
    const plan = rows[0]['QUERY PLAN'][0].Plan as Record<string, number>;
    pages += plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  }
  await client.end();
  expect(pages).toBeGreaterThan(0);
  return pages;
}

describe('GET /products during loads', () => {
  onLocalProducts(it, 'a load in progress writes in a working copy').each([
    '',
    'order=asc',
    'partner_name=Acme%20Outdoor',
  ])('does not scan uncommitted products: "%s"', async (query) => {
    // While the table is nearly empty, the planner rates a partner-led index of another order equally.
    if (query.startsWith('partner_name')) await addProductsOfOthers(1_000);
    const load = await beginLoad('NEW-', 20_000);
    // As autovacuum would, for a plan that fits the size of the table.
    await service.db.raw('analyze products');

    expect(await pagesTouched(() => listed(query))).toBeLessThan(100);
    expect((await listed(query)).sort()).toEqual(['SEEN-1', 'SEEN-2']);

    await load.query('rollback');
    expect((await listed(query)).sort()).toEqual(['SEEN-1', 'SEEN-2']);
  });

  onLocalProducts(it, 'a load in progress writes in a working copy')(
    'returns the products of a load once it commits, whichever load began first',
    async () => {
      const first = await beginLoad('FIRST-', 1);
      const second = await beginLoad('SECOND-', 1);

      await second.query('commit');
      expect(await listed()).toEqual(['SECOND-1', 'SEEN-2', 'SEEN-1']);

      await first.query('commit');
      expect(await listed()).toEqual(['SECOND-1', 'FIRST-1', 'SEEN-2', 'SEEN-1']);

      const third = await beginLoad('THIRD-', 1);
      await third.query('commit');
      expect(await listed()).toEqual(['THIRD-1', 'SECOND-1', 'FIRST-1', 'SEEN-2', 'SEEN-1']);
      // The watermark is one row again.
      expect(await service.db('product_horizons')).toHaveLength(1);
    },
  );

  it('returns a product with a future created_at', async () => {
    await service.db('products').insert({
      feed_id: feedId,
      partner_id: partnerId,
      sku: 'LATER',
      product_name: 'Product',
      created_at: '2099-01-01T00:00:00Z',
    });

    expect(await listed()).toEqual(['LATER', 'SEEN-2', 'SEEN-1']);
  });

  it.each([
    ['that of the transaction', 'now()'],
    ['that of the clock', 'clock_timestamp()'],
    ['a moment ago', "now() - interval '1 millisecond'"],
    ['tomorrow', "now() + interval '1 day'"],
  ])('returns a product whose creation time was set manually to the present: %s', async (_, time) => {
    const hour = "interval '1 hour'";
    await service.db.raw(`update products set created_at = created_at - ${hour}`);
    await service.db.raw(`update product_horizons set created_at = created_at - ${hour}`);

    await service.db.raw(`update products set created_at = ${time} where sku = 'SEEN-1'`);

    expect(await listed()).toEqual(['SEEN-1', 'SEEN-2']);
    expect(await listed('limit=1')).toEqual(['SEEN-1']);
    expect(await listed('order=asc')).toEqual(['SEEN-2', 'SEEN-1']);
    expect(await listed('partner_name=Acme%20Outdoor')).toEqual(['SEEN-1', 'SEEN-2']);
  });
});
