import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { verifySales } from '../../../src/sales/analytics/sales-verification';
import { deleteRemovedObjects } from '../../../src/operation/retention/prune';
import { countPartnerData, removePartner } from '../../../src/operation/retention/remove-partner';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import { requestRunOf } from '../../support/requested-runs';
import { putWebhook } from '../../support/webhook-requests';
import { insertEndpoint } from '../../../src/webhooks/endpoints.repository';
import { eventually } from '../../support/harness';
import { whileReading } from '../../support/runs-in-flight';
import { putFormat } from '../../support/format-requests';
import { putSource, sourcePath } from '../../support/source-requests';
import { findBroken } from '../../support/service-invariants';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';

const [leaving, staying] = ['Leaving & Co', 'Staying'];
const csv = 'sku,product_name,price,currency\nA,Tent,5,EUR\nB,Lamp,7.50,EUR\nC,Stove,NA,\n';
const refusal = 'A run of the partner is queued or in progress';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const path = `/partners/${encodeURIComponent(leaving)}`;
const order = (partner_name: string, product_id: string) =>
  service.api.post('/orders', { partner_name, items: [{ product_id, quantity: 2 }] });

/** Reads data that the removal must not change. */
async function readSales(): Promise<unknown> {
  const paths = [
    '/orders',
    '/analytics/sales-by-partner',
    '/analytics/sales-over-time',
    '/analytics/revenue-share',
  ];
  return Promise.all(paths.map(async (one) => (await service.api.get(one)).body as unknown));
}

/** Counts the rows of every table except orders and sales, which stay. */
async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const tables = await service
    .db('information_schema.tables')
    .whereRaw(
      "table_schema = current_schema() and table_name !~ '^(order|sales|idempotency|webhook_deliv|knex)'",
    )
    .pluck<string[]>('table_name');
  for (const table of tables) {
    const { rows } = await service.db.raw<{ rows: [{ count: number }] }>(`select count(*) from ${table}`);
    counts[table] = rows[0].count;
  }
  return counts;
}

describe('removing a partner', () => {
  it('removes all of its data, and keeps its orders, the sales figures and other partners', async () => {
    await service.api.loadFeed(csv, staying);
    await withStoredKey(service, staying);
    await putFormat(service.api, staying, 'weekly');
    await indexBacklog(service.db);
    const before = await countRows();
    await service.api.loadFeed(csv, leaving);
    await service.api.loadFeed(`${csv}D,Mat,1,EUR\n`, leaving);
    const { feedId } = await service.api.uploadFeed(csv, leaving);
    const digest = { feed_id: Number(feedId.slice(2)), record_offset: 18, sha256: Buffer.alloc(32) };
    await service.db('source_digests').insert(digest);
    await indexBacklog(service.db);
    await putFormat(service.api, leaving, 'weekly');
    await putSource(service.api, leaving, 'daily', { url: 'https://feeds.acme.example/products.csv' });
    expect((await service.api.post(`${sourcePath(leaving, 'daily')}/fetch`)).status).toBe(202);
    await putWebhook(service.api, leaving, 'events', { url: 'https://hooks.acme.example/' });
    const bound = await withStoredKey(service, leaving);
    const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
    await insertEndpoint(service.db, {
      url: 'https://example.org/',
      partner_name: leaving,
      event_types: null,
      secret,
    });
    const idsOf = async (name: string) => {
      const { body } = await service.api.get(
        `/products?partner_name=${encodeURIComponent(name)}&sort_by=product_id&order=asc`,
      );
      return (body.items as { product_id: string }[]).map(({ product_id }) => product_id);
    };
    const [left] = await idsOf(leaving);
    const [first, second] = await idsOf(staying);
    for (const [name, id] of [
      [leaving, left!],
      [staying, first!],
      [staying, second!],
    ] as const) {
      expect((await order(name, id)).status).toBe(201);
    }
    await rollUpSales(service.db);
    const sales = await readSales();

    expect(await countPartnerData(service.db, leaving)).toEqual({
      ...{
        products: 3,
        product_versions: 0,
        feeds: 3,
        row_issues: 2,
        formats: 1,
        sources: 1,
        raw_files: 3,
        keys: 1,
        webhooks: 2,
        orders: 1,
      },
      raw_file_bytes: 3 * csv.length + 'D,Mat,1,EUR\n'.length,
    });
    await removePartner(service.db, leaving);
    await deleteRemovedObjects(service);

    expect(await countRows()).toEqual(before);
    expect(await filesBelow(service.dataDir)).toHaveLength(1);
    expect(await readSales()).toEqual(sales);
    await rollUpSales(service.db);
    expect(await readSales()).toEqual(sales);
    expect(await verifySales(service.db)).toEqual([]);
    expect((await service.api.get(path)).status).toBe(404);
    expect((await service.api.get(`/products?partner_name=${encodeURIComponent(leaving)}`)).body.count).toBe(
      0,
    );
    expect((await service.api.get('/products?q=stove')).body.count).toBe(0);
    expect((await service.api.get('/products?q=tent')).body.count).toBe(1);
    expect((await order(staying, left!)).status).toBe(404);
    expect((await bound.get('/products')).status).toBe(401);
    const { db, objectStore, api } = service;
    expect(await findBroken({ db, objectStore, apis: [api] })).toEqual([]);
  });

  it('removes the words that the search indexer writes meanwhile', async () => {
    await service.api.loadFeed(csv, leaving);
    const indexer = await service.db.transaction();
    await indexer('search_backlog').delete();
    await indexer.raw(
      "insert into product_words select partner_id, product_id, array_to_tsvector('{tent}') from products",
    );

    const removal = removePartner(service.db, leaving);
    await eventually('the removal waits for the indexer', async () => {
      const waiting = await service
        .db('pg_stat_activity')
        .whereRaw("wait_event_type = 'Lock' and datname = current_database()")
        .pluck('pid');
      return waiting.length === 1;
    });
    await indexer.commit();
    await removal;

    expect(await countRows()).toMatchObject({ partners: 0, product_words: 0, search_backlog: 0 });
  });

  it('a partner of the same name starts without data', async () => {
    await service.api.loadFeed(csv, leaving);
    await removePartner(service.db, leaving);

    const { job } = await service.api.loadFeed(csv, leaving);

    expect(job.summary).toMatchObject({ inserted: 2, unchanged: 0 });
    expect((await service.api.get(path)).body).toMatchObject({ products: 2, feeds: 1 });
  });

  it('removes more products and feeds than one batch', async () => {
    const rows = Array.from({ length: 2_500 }, (_, at) => `S${at},Product ${at},1,EUR\n`).join('');
    await service.api.loadFeed(`sku,product_name,price,currency\n${rows}`, leaving);
    for (let at = 0; at < 6; at++) await service.api.uploadFeed(csv, leaving);

    await removePartner(service.db, leaving);

    expect(await service.db('products').pluck('product_id')).toEqual([]);
    expect(await service.db('removed_objects').pluck('bucket')).toHaveLength(7);
  });

  it('removes the fetches of its sources in batches', async () => {
    await service.api.loadFeed(csv, leaving);
    await putSource(service.api, leaving, 'daily', { url: 'https://feeds.acme.example/products.csv' });
    await service.db.raw(`
      insert into source_fetches (source_id, fetch_number, status, finished_at)
      select source_id, number, 'unchanged', now() from sources, generate_series(1, 2500) as number;
      create table batch_sizes (size integer);
      create function note_batch() returns trigger language plpgsql as $$
      begin insert into batch_sizes select count(*) from gone; return null; end $$;
      create trigger note_batch after delete on source_fetches referencing old table as gone
        for each statement execute function note_batch()`);

    await removePartner(service.db, leaving);

    expect(await service.db('source_fetches')).toEqual([]);
    expect(await service.db('batch_sizes').max('size').first()).toEqual({ max: 1_000 });
  });

  it('removes a webhook that the partner creates meanwhile', async () => {
    await service.api.loadFeed(csv, leaving);
    await service.db.raw(`
      create function create_webhook() returns trigger language plpgsql as $$
      begin
        insert into webhook_endpoints (partner_name, webhook_name, url, sealed_secret)
        values ('${leaving}', 'late', 'https://hooks.acme.example/', '') on conflict do nothing;
        return null;
      end $$;
      create trigger create_webhook after delete on feeds execute function create_webhook()`);

    await removePartner(service.db, leaving);

    expect(await service.db('webhook_endpoints')).toEqual([]);
  });

  it('is rejected while a revert is queued, and changes nothing', async () => {
    const { jobId } = await service.api.loadFeed(csv, leaving);
    await requestRunOf(service.db, Number(jobId.slice(2)), { reverts: { run: 1, skipsConflicts: false } });

    await expect(removePartner(service.db, leaving)).rejects.toThrow(refusal);

    expect(await service.db('products').pluck('sku')).toHaveLength(2);
    await service.db('runs').where({ kind: 'revert' }).delete();
    await removePartner(service.db, leaving);
  });

  it('is rejected while a run is queued or in progress, and changes nothing', async () => {
    const queued = await service.api.uploadFeed(csv, leaving);
    await service.api.post(`/jobs/${queued.jobId}/run`, undefined, { prefer: 'respond-async' });
    await expect(removePartner(service.db, leaving)).rejects.toThrow(refusal);
    await service.api.post(`/jobs/${queued.jobId}/cancel`);

    await withStoredKey(service, leaving);
    const before = await countRows();
    await whileReading(service, queued, async () => {
      await expect(removePartner(service.db, leaving)).rejects.toThrow(refusal);
    });

    expect(await countRows()).toMatchObject({ api_keys: before.api_keys, feeds: before.feeds });
  });

  it('removes the rest after an interrupted removal', async () => {
    await service.api.loadFeed(csv, leaving);
    await service.db.raw('delete from products where product_id = 1');

    await removePartner(service.db, leaving);

    expect(await service.db('partners').pluck('partner_name')).toEqual([]);
  });

  it('removes the keys of a partner without feeds, and rejects an unknown name', async () => {
    await withStoredKey(service, leaving);

    await removePartner(service.db, leaving);

    expect(await service.db('api_keys').pluck('partner_name')).toEqual([]);
    await expect(removePartner(service.db, leaving)).rejects.toThrow(`Unknown partner: ${leaving}.`);
    await expect(countPartnerData(service.db, leaving)).rejects.toThrow(`Unknown partner: ${leaving}.`);
  });
});
