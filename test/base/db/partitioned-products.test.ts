import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { copyDatabase } from '../../../src/operation/database/copy-database';
import { openDatabase, type DatabaseAddress } from '../../../src/base/db/database';
import { migrateToLatest } from '../../../src/operation/database/migrate';
import { inTransaction } from '../../../src/base/db/transaction';
import { mergePartners } from '../../../src/catalog/partners/merge-partners';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import { findBroken } from '../../support/service-invariants';
import { startTestService, type TestService } from '../../support/service';

const dump = readFileSync(join(__dirname, 'partitioned-products.sql'), 'utf8');

/** Replaces the content of the database by the dump, and migrates it. */
async function restore(address: DatabaseAddress): Promise<DatabaseAddress> {
  const client = new Client(address);
  await client.connect();
  await client.query(`drop schema public cascade; create schema public; ${dump}`);
  // The dump contains one database only.
  await client.query('update public.feeds set raw_file_removed_at = now()');
  await client.end();
  const db = openDatabase(address, { applicationName: 'migration', connectionsMax: 2 });
  await migrateToLatest(db);
  // On another server, it begins again.
  await rollUpSales(db);
  await db.destroy();
  return address;
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ reachDatabase: restore });
});

async function countPartitions({ db }: TestService): Promise<number> {
  const { rows } = await db.raw<{ rows: [{ partitions: number }] }>(
    "select count(*) as partitions from pg_inherits where inhparent = cast('products' as regclass)",
  );
  return rows[0].partitions;
}

const header = 'sku,product_name,brand,category,price,currency,availability\n';
const tent = 'TENT-1,Two-person tent,Fjord,Camping/Tents,189.90,EUR,in stock\n';
const lamp = 'LAMP-1,Head lamp,Lumen,Camping/Lamps,19.90,EUR,in stock\n';
const stove = 'STOVE-1,Gas stove,Lumen,Camping/Stoves,79.00,EUR,in stock\n';
const tunnelTent = 'TENT-1,Tunnel tent,North,Camping/Tents,399.00,EUR,out of stock\n';

interface Item {
  product_id: string;
  sku: string;
  price: number;
}

async function list(path: string, { api }: TestService = service): Promise<string[]> {
  const { status, body } = await api.get(path);
  expect([path, status]).toEqual([path, 200]);
  return body.items.map(({ product_id, sku, price }: Item) => `${product_id} ${sku} ${price}`);
}

const ofAcme = '/products?partner_name=Acme%20Outdoor&sort_by=price&order=asc';
const ofNorthwind = '/products?partner_name=Northwind&sort_by=price&order=asc';
/** The time before the third feed, which changed the price of the lamp. */
const past = '/products?partner_name=Acme%20Outdoor&as_of=2026-11-25T16:01:11Z';

const expectNothingBroken = async () =>
  expect(await findBroken({ ...service, apis: [service.api] })).toEqual([]);

// Each test continues with the products of the one before.
describe('products in partitions that an earlier version has made', () => {
  it('stay in their partitions when the schema is migrated', async () => {
    expect(await countPartitions(service)).toBe(4);
    expect(await list('/products')).toEqual([
      'PR00005 BOOT-1 129',
      'PR00004 TENT-1 399',
      'PR00003 MAT-1 59',
      'PR00002 LAMP-1 22.9',
      'PR00001 TENT-1 189.9',
    ]);
  });

  it('are found by filter, order, search and time, and counted by value', async () => {
    expect(await list('/products?brand=Fjord')).toEqual([
      'PR00005 BOOT-1 129',
      'PR00003 MAT-1 59',
      'PR00001 TENT-1 189.9',
    ]);
    expect(await list('/products?sort_by=price&order=desc&limit=2')).toEqual([
      'PR00004 TENT-1 399',
      'PR00001 TENT-1 189.9',
    ]);
    expect(await list('/products?q=tent')).toEqual(['PR00004 TENT-1 399', 'PR00001 TENT-1 189.9']);
    expect(await list(past)).toEqual(['PR00001 TENT-1 189.9', 'PR00002 LAMP-1 24.9', 'PR00003 MAT-1 59']);
    const { body: facets } = await service.api.get('/products/facets?field=brand');
    expect(facets.items).toMatchObject([
      { value: 'Fjord', count: 3 },
      { value: 'Lumen', count: 1 },
      { value: 'North', count: 1 },
    ]);
    const { body: history } = await service.api.get('/products/PR00002/history');
    expect(history.items[0].changes).toEqual([{ field: 'price', before: '24.9', after: '22.9' }]);
  });

  it('are ordered from several partitions', async () => {
    const items = [
      { product_id: 'PR00002', quantity: 2 },
      { product_id: 'PR00005', quantity: 1 },
    ];

    const { status, body } = await service.api.post('/orders', { partner_name: 'Northwind', items });

    expect([status, body.order_id, body.total_amount]).toEqual([201, 'OR00002', 174.8]);
    await expectNothingBroken();
  });

  it('are inserted, updated and left unchanged by a run, as its plan says', async () => {
    const { jobId } = await service.api.uploadFeed(header + tent + lamp + stove);
    const summary = { processed: 3, inserted: 1, updated: 1, unchanged: 1, skipped: 0 };

    const plan = await service.api.post(`/jobs/${jobId}/plan`);
    const run = await service.api.post(`/jobs/${jobId}/run`);

    expect(plan).toMatchObject({ status: 200, body: { summary } });
    expect(run).toMatchObject({ status: 200, body: { summary } });
    await indexBacklog(service.db);
    expect(await list('/products?q=stove')).toEqual(['PR00006 STOVE-1 79']);
    expect(await list(ofAcme)).toEqual([
      'PR00002 LAMP-1 19.9',
      'PR00003 MAT-1 59',
      'PR00006 STOVE-1 79',
      'PR00001 TENT-1 189.9',
    ]);
    await expectNothingBroken();
  });

  it('are withdrawn by a feed that replaces them, and restored by its revert', async () => {
    const before = await list(ofNorthwind);

    const { jobId, job } = await service.api.loadFeed(header + tunnelTent + stove, 'Northwind', {
      mode: 'replace',
    });

    expect(job.summary).toMatchObject({ inserted: 1, unchanged: 1, withdrawn: 1 });
    expect(await list(ofNorthwind)).toEqual(['PR00007 STOVE-1 79', 'PR00004 TENT-1 399']);
    expect(await service.api.post(`/jobs/${jobId}/revert?run=1`)).toMatchObject({ status: 200 });
    expect(await list(ofNorthwind)).toEqual(before);
    await expectNothingBroken();
  });

  it('are compared by the next run after a change by hand', async () => {
    await service.db('products').where({ product_id: 4 }).update({ price: 1 });

    const { job } = await service.api.loadFeed(header + tunnelTent, 'Northwind');

    expect(job.summary).toMatchObject({ updated: 1, unchanged: 0 });
    await expectNothingBroken();
  });

  it('become one table by a copy into another database, on which the service continues', async () => {
    const plain = await startTestService();
    const [from, to] = [new Client(service.address), new Client(plain.address)];
    await Promise.all([from.connect(), to.connect()]);

    await copyDatabase(from, to);

    await Promise.all([from.end(), to.end()]);
    expect(await countPartitions(plain)).toBe(0);
    for (const path of [
      '/products',
      ofAcme,
      past,
      '/products?q=stove',
      '/products/PR00002/history',
      '/products/facets?field=brand',
      '/partners',
      '/feeds',
      '/orders',
      '/jobs/JV00003/issues',
      '/jobs/JV00005/runs',
    ]) {
      const { status, body } = await service.api.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect([path, await plain.api.get(path)]).toMatchObject([path, { status, body }]);
    }
    expect(await plain.api.post('/jobs/JV00004/revert?run=1')).toMatchObject({ status: 200 });
    const feed = await plain.api.loadFeed(header + tunnelTent + lamp, 'Northwind');
    expect([feed.feedId, feed.job.summary.inserted]).toEqual(['FD00007', 1]);
    expect(await list(ofNorthwind, plain)).toEqual([
      'PR00008 LAMP-1 19.9',
      'PR00005 BOOT-1 129',
      'PR00004 TENT-1 399',
    ]);
    const order = { partner_name: 'Northwind', items: [{ product_id: 'PR00001', quantity: 1 }] };
    expect(await plain.api.post('/orders', order)).toMatchObject({ body: { order_id: 'OR00003' } });
    const twin = { product_id: 1, feed_id: 1, partner_id: 2, sku: 'TWIN', product_name: 'Twin' };
    await expect(plain.db('products').insert(twin)).rejects.toThrow('products_product_id');
  });

  it('move between partitions when their partner is merged into another one', async () => {
    const merged = await inTransaction(service.db, 'bulk', (trx) =>
      mergePartners(trx, 'Northwind', 'Acme Outdoor'),
    );

    expect(merged).toMatchObject({ products: 1, duplicates: 2 });
    expect(await list(ofNorthwind)).toEqual([]);
    expect(await list(`${ofAcme}&brand=Fjord`)).toEqual(['PR00003 MAT-1 59', 'PR00005 BOOT-1 129']);
    const { body } = await service.api.get('/partners/Acme%20Outdoor');
    expect(body.products).toBe((await list(ofAcme)).length);
  });
});
