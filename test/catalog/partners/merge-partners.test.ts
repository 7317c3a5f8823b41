import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { verifySales } from '../../../src/sales/analytics/sales-verification';
import { inTransaction } from '../../../src/base/db/transaction';
import { mergePartners } from '../../../src/catalog/partners/merge-partners';
import { insertKey } from '../../../src/http/keys/keys.repository';
import { insertEndpoint } from '../../../src/webhooks/endpoints.repository';
import { listClaimable } from '../../../src/runs/queue/claims.repository';
import { requestRunOf } from '../../support/requested-runs';
import { eventually } from '../../support/harness';
import { whileReading } from '../../support/runs-in-flight';
import { findBrokenHistory } from '../../support/history-invariants';
import { goodCsv } from '../../support/requests';
import { loadProducts } from '../../support/catalog';
import { startTestService, type TestService } from '../../support/service';

const composed = '\u00c1cme';
const decomposed = 'A\u0301cme';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const merge = (from: string, into: string) =>
  inTransaction(service.db, 'bulk', (trx) => mergePartners(trx, from, into));

/** Loads products of a partner that is stored under exactly this name. */
async function load(partnerName: string, prices: Record<string, string>) {
  await service.db('partners').insert({ partner_name: partnerName }).onConflict().ignore();
  const rows = Object.entries(prices).map(([sku, price]) => ({ sku, price }));
  return loadProducts(service, rows, partnerName);
}

const order = (partner_name: string, product_id: string) =>
  service.api.post('/orders', { partner_name, items: [{ product_id, quantity: 1 }] });

describe('merging a partner into another one', () => {
  it('moves sources, except those whose name the other partner has', async () => {
    for (const name of [composed, decomposed]) {
      await load(name, { A: '1' });
      await service.db.raw(
        `insert into sources (partner_id, source_name, definition)
         select partner_id, unnest(array['both', octet_length(partner_name)::text]), json_build_object('of', partner_name)
         from partners where partner_name = ?`,
        [name],
      );
    }

    await merge(decomposed, composed);

    expect(await service.db('sources').orderBy('source_name').select('source_name', 'definition')).toEqual([
      { source_name: '5', definition: { of: composed } },
      { source_name: '6', definition: { of: decomposed } },
      { source_name: 'both', definition: { of: composed } },
    ]);
  });

  it('moves named webhooks with their secrets, except those whose name the other partner has', async () => {
    for (const name of [composed, decomposed]) {
      await load(name, { A: '1' });
      await service.db.raw(
        `insert into webhook_endpoints (partner_name, webhook_name, url, sealed_secret)
         select :name, unnest(array['both', octet_length(:name)::text]), :name, cast(:name as bytea)`,
        { name },
      );
    }

    await merge(decomposed, composed);

    expect(
      await service
        .db('webhook_endpoints')
        .orderBy('webhook_name')
        .select('partner_name', 'webhook_name', 'url', 'sealed_secret'),
    ).toEqual(
      [
        ['5', composed],
        ['6', decomposed],
        ['both', composed],
      ].map(([webhook_name, url]) => ({
        ...{ partner_name: composed, webhook_name, url },
        sealed_secret: Buffer.from(url!),
      })),
    );
  });

  it('moves formats, but none whose name the other partner has', async () => {
    for (const name of [composed, decomposed]) {
      await load(name, { A: '1' });
      await service.db.raw(
        `insert into partner_formats (partner_id, format_name, definition)
         select partner_id, unnest(array['both', octet_length(partner_name)::text]), json_build_object('of', partner_name)
         from partners where partner_name = ?`,
        [name],
      );
    }

    await merge(decomposed, composed);

    const kept = await service
      .db('partner_formats')
      .orderBy('format_name')
      .select('format_name', 'definition');
    expect(kept).toEqual([
      { format_name: '5', definition: { of: composed } },
      { format_name: '6', definition: { of: decomposed } },
      { format_name: 'both', definition: { of: composed } },
    ]);
  });

  it('moves feeds, products, orders, keys and webhooks, and keeps sales figures right', async () => {
    const first = await load(composed, { OLD: '1', ONLY_COMPOSED: '2' });
    const second = await load(decomposed, { OLD: '10', NEW: '20', ONLY_DECOMPOSED: '30' });
    const third = await load(composed, { NEW: '200' });
    const digest = Buffer.alloc(32);
    await insertKey(service.db, { key_name: 'k', key_digest: digest, partner_name: decomposed });
    const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
    const endpoint = { url: 'https://example.org/', partner_name: decomposed, event_types: null, secret };
    await insertEndpoint(service.db, endpoint);
    const ordered = await order(decomposed, second.productIds[0]!);
    await rollUpSales(service.db);

    expect(await merge(decomposed, composed)).toEqual({
      ...{ feeds: 1, products: 1, duplicates: 2, replaced: 1 },
      ...{ orders: 1, keys: 1, webhooks: 1 },
    });

    const { body } = await service.api.get(
      `/products?partner_name=${encodeURIComponent(decomposed)}&sort_by=product_id&order=asc`,
    );
    type Product = { product_id: string; sku: string; price: number; feed_id: string; partner_name: string };
    // By number, because ids depend on the layout of the table.
    const byNumber = (rows: unknown[][]) => rows.sort();
    expect(
      byNumber(
        body.items.map(({ product_id, sku, price, feed_id, partner_name }: Product) => [
          ...[product_id, sku, price, feed_id, partner_name],
        ]),
      ),
    ).toEqual(
      byNumber([
        [first.productIds[0], 'OLD', 10, second.feedId, composed],
        [first.productIds[1], 'ONLY_COMPOSED', 2, first.feedId, composed],
        [second.productIds[2], 'ONLY_DECOMPOSED', 30, second.feedId, composed],
        [third.productIds[0], 'NEW', 200, third.feedId, composed],
      ]),
    );
    const moved = (await service.api.get(`/orders/${ordered.body.order_id}`)).body;
    expect(moved).toMatchObject({ partner_name: composed, items: [{ product_id: first.productIds[0] }] });
    expect(await service.db('partners').pluck('partner_name')).toEqual([composed]);
    expect(await service.db('api_keys').pluck('partner_name')).toEqual([composed]);
    expect(await service.db('webhook_endpoints').pluck('partner_name')).toEqual([composed]);
    expect(await verifySales(service.db)).toEqual([]);
    await rollUpSales(service.db);
    expect((await service.api.get('/analytics/sales-by-partner')).body.results).toEqual([
      { partner_name: composed, units_sold: 1, total_sales: '10.00' },
    ]);
    const rerun = (await service.api.post(`/jobs/${second.jobId}/run`)).body;
    expect(rerun).toMatchObject({ status: 'completed', summary: { inserted: 0, updated: 1, unchanged: 2 } });
  });

  it('moves the history of products, and counts as a manual change of the products that it replaces', async () => {
    await load(composed, { BOTH: '1' });
    await load(decomposed, { MOVED: '10' });
    await load(decomposed, { MOVED: '20' });
    const last = await load(decomposed, { BOTH: '5' });
    await merge(decomposed, composed);

    const { body } = await service.api.post(`/jobs/${last.jobId}/run`);
    expect(body.summary).toMatchObject({ unchanged: 1 });

    const { rows } = await service.db.raw<{ rows: object[] }>(
      `select partner_name, version.sku, trim_scale(version.price)::text as price, is_external,
         version.until_run_id = products.run_id as is_last
       from product_versions as version join products using (partner_id, product_id) join partners using (partner_id)
       order by version.sku`,
    );
    expect(rows).toEqual([
      { partner_name: composed, sku: 'BOTH', price: '1', is_external: true, is_last: true },
      { partner_name: composed, sku: 'MOVED', price: '10', is_external: false, is_last: true },
    ]);
    expect(await findBrokenHistory(service.db)).toEqual([]);
  });

  it('renames it if the other one does not exist', async () => {
    const { productIds } = await load(decomposed, { OLD: '1' });
    await order(decomposed, productIds[0]!);

    expect(await merge(decomposed, composed)).toMatchObject({ products: 0, duplicates: 0, orders: 1 });

    expect((await service.api.get(`/products/${productIds[0]}`)).body.partner_name).toBe(composed);
    expect(await verifySales(service.db)).toEqual([]);
  });
});

describe('a concurrent merge', () => {
  it('fails a run of the merged partner that reads its file, and the next run succeeds', async () => {
    await load(composed, { OLD: '1' });
    const { jobId, ...feed } = await load(decomposed, { OLD: '2' });

    const { body } = await whileReading(service, { jobId, ...feed }, async () => {
      await merge(decomposed, composed);
    });

    expect(body).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(
        'The partner was merged into another one during the run: run the job again.',
      ),
    });
    expect((await service.api.post(`/jobs/${jobId}/run`)).body).toMatchObject({
      status: 'completed',
      summary: { inserted: 0, updated: 0, unchanged: 1 },
    });
  });

  it('is visible to a run of the other partner that is reading its file', async () => {
    const feed = await load(composed, { OLD: '1', KEPT: '1' });
    await load(decomposed, { OLD: '2' });

    const { body } = await whileReading(service, feed, async () => {
      await merge(decomposed, composed);
    });

    expect(body).toMatchObject({ status: 'completed', summary: { updated: 1, unchanged: 1 } });
    expect((await service.api.get(`/products/${feed.productIds[0]}`)).body.price).toBe(1);
  });

  it('keeps the queue position of its runs among the runs of the other partner', async () => {
    const waiting = [];
    for (const name of [composed, decomposed]) {
      await service.db('partners').insert({ partner_name: name });
      const { jobId } = await service.api.uploadFeed(goodCsv, name);
      waiting.push((await requestRunOf(service.db, Number(jobId.slice(2)))).jobId);
    }
    const claimable = async () =>
      (await listClaimable(service.db, 'of any size', 10)).map(({ jobId }) => jobId);
    expect(await claimable()).toEqual(waiting);

    await merge(decomposed, composed);

    expect(await claimable()).toEqual([waiting[0]]);
  });

  it('blocks an upload of the merged partner, which is then refused', async () => {
    await load(decomposed, { OLD: '1' });
    await load(composed, { OLD: '2' });

    const uploading = await service.db.transaction(async (trx) => {
      await mergePartners(trx, decomposed, composed);
      const started = service.api.upload({ csv: goodCsv, partnerName: decomposed });
      await eventually('the upload waits for a lock', async () => {
        const waits = "datname = current_database() and wait_event_type = 'Lock'";
        return (await service.db('pg_stat_activity').whereRaw(waits)).length > 0;
      });
      return { started };
    });

    expect((await uploading.started).status).toBe(404);
    const { rows } = await service.db.raw<{ rows: object[] }>(
      'select partner_name, count(*)::int as feeds from feeds join partners using (partner_id) group by 1 order by 1',
    );
    expect(rows).toEqual([{ partner_name: composed, feeds: 2 }]);
  });
});

describe('merging partners', () => {
  it('rejects an unknown partner', async () => {
    await expect(merge('Unknown', composed)).rejects.toThrow('Unknown partner: Unknown.');
  });

  it('handles every table that refers to partners', async () => {
    const { rows } = await service.db.raw<{ rows: { place: string }[] }>(
      `select table_name || '.' || column_name as place from information_schema.columns
       where table_schema = 'public' and column_name ~ 'partner_(id|name)$'
         -- Only where products are distributed: see src/operation/database/distribution/objects.ts.
         and table_name not in ('products_local', 'product_blocks', 'product_insertions', 'product_partners')
       order by place`,
    );

    // A new table or column among these must be merged too.
    expect(rows.map(({ place }) => place)).toEqual([
      'api_keys.partner_name',
      'catalog_versions.partner_id',
      'digest_blocks.partner_id',
      'feeds.partner_id',
      'manual_changes.partner_id',
      'orders.partner_name',
      'partner_attention.partner_id',
      'partner_counts.partner_id',
      'partner_formats.partner_id',
      'partners.partner_id',
      'partners.partner_name',
      'product_versions.partner_id',
      'product_words.partner_id',
      'products.partner_id',
      'record_digests.partner_id',
      'runs.partner_id',
      // Derived from orders.
      'sales_by_partner.partner_name',
      'sales_by_partner_and_day.partner_name',
      'sales_by_product.partner_name',
      'sales_by_product_and_day.partner_name',
      'sales_by_product_and_month.partner_name',
      'sales_changes.partner_name',
      'search_backlog.partner_id',
      'sources.partner_id',
      'stale_partners.partner_id',
      'webhook_endpoints.partner_name',
    ]);
  });
});
