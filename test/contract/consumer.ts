import { parse } from 'csv-parse/sync';
import type { components } from '../../generated/openapi';
import type { ApiClient, ApiResponse } from '../support/api-client';

const partnerName = 'Acme Outdoor';
const csv =
  'sku,product_name,price,currency\n' +
  'TENT-2,Two-person tent,189.90,EUR\nLAMP-1,Head lamp,24.50,EUR\nMAT-1,Sleeping mat,"1.299,00",EUR\n';

/**
 * The tests of a partner's own program: upload, run, issues, rejects, products, order, analytics. They run against any
 * implementation of the document, so they check that the responses agree with each other.
 * @param connect - called once: the client of a service without any data, or of a mock
 */
export function describeConsumer(title: string, connect: () => Promise<ApiClient>): void {
  describe(`a partner's program, with ${title}`, () => {
    let api: ApiClient;
    let receipt: ApiResponse['body'];
    let products: ApiResponse['body'][];
    beforeAll(async () => {
      api = await connect();
    });

    it('gets the feed profile and the template', async () => {
      const profile = await api.get('/feeds/profile');
      const template = await api.get('/feeds/template.csv');

      expect([profile.status, template.status]).toEqual([200, 200]);
      const [header] = parse(template.body as string);
      expect(header).toEqual(expect.arrayContaining(profile.body.columns.map(({ name }: Named) => name)));
    });

    it('inspects a file, then uploads it', async () => {
      const inspected = await api.inspect({ partnerName, csv });
      const uploaded = await api.upload({ partnerName, csv });

      expect([inspected.status, inspected.body.accepted]).toEqual([200, true]);
      expect(uploaded.status).toBe(201);
      receipt = uploaded.body;
      expect(uploaded.headers.get('location')).toEqual(expect.any(String));
      expect(receipt).toMatchObject({ status: 'processing', validation_status: 'queued' });
    });

    it('gets the feed, its raw file and its jobs', async () => {
      const feed = await api.get(`/feeds/${receipt.feed_id}`);
      const file = await api.get(`/feeds/${receipt.feed_id}/raw`);
      const job = await api.get(`/jobs/${receipt.job_id}`);

      expect([feed.status, file.status, job.status]).toEqual([200, 200, 200]);
      expect(feed.body).toMatchObject({
        feed_id: receipt.feed_id,
        partner_name: partnerName,
        validation_job_id: receipt.validation_job_id,
      });
      expect(file.body).toMatch(/^sku,product_name,/);
      expect(job.body.feed_id).toBe(receipt.feed_id);
    });

    it('plans the run, then runs it', async () => {
      const plan = await api.post(`/jobs/${receipt.validation_job_id}/plan`);
      const run = await api.post(`/jobs/${receipt.validation_job_id}/run`);

      expect([plan.status, run.status]).toEqual([200, 200]);
      for (const { status, summary } of [plan.body, run.body]) {
        const { processed, inserted, updated, unchanged, skipped } = summary as RunSummary;
        expect(status).toBe('completed');
        expect(inserted + updated + unchanged + skipped).toBe(processed);
      }
      expect(run.body).toMatchObject({
        job_id: receipt.validation_job_id,
        feed_id: receipt.feed_id,
        summary: { processed: 3, inserted: 2, skipped: 1 },
        result: 'Products processed: 3. Inserted: 2. Updated: 0. Unchanged: 0. Skipped: 1.',
      });
    });

    it('gets row issues and rejects', async () => {
      const issues = await api.get(`/jobs/${receipt.validation_job_id}/issues?severity=error`);
      const rejects = await api.get(`/jobs/${receipt.validation_job_id}/rejects.csv`);

      expect([issues.status, rejects.status]).toEqual([200, 200]);
      expect(issues.body.items).toHaveLength(issues.body.count as number);
      const first = issues.body.items[0];
      expect(first).toMatchObject({ field: 'price', code: 'invalid_price', value: '1.299,00' });
      const [row] = parse(rejects.body as string, { columns: true });
      expect(row).toMatchObject({ _codes: first.code, _messages: first.message, price: first.value });
    });

    it('finds its products in the catalog', async () => {
      const listing = await api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`);
      products = listing.body.items;
      const ofFeed = await api.get(`/products/by-feed/${receipt.feed_id}`);
      const single = await api.get(`/products/${bySku('TENT-2').product_id}`);

      expect([listing.status, ofFeed.status, single.status]).toEqual([200, 200, 200]);
      expect(products).toHaveLength(listing.body.count as number);
      expect(ofFeed.body.items).toHaveLength(ofFeed.body.count as number);
      expect(single.body).toMatchObject({ sku: 'TENT-2', price: 189.9, currency: 'EUR' });
    });

    it('creates and lists orders', async () => {
      const items = [
        { product_id: bySku('TENT-2').product_id, quantity: 2 },
        { product_id: bySku('LAMP-1').product_id, quantity: 1 },
      ];
      const ordered = await api.post('/orders', {
        partner_name: partnerName,
        customer_reference: 'PO-2026-0815',
        items,
      });
      const found = await api.get(`/orders/${ordered.body.order_id}`);
      const orders = await api.get('/orders');

      expect([ordered.status, found.status, orders.status]).toEqual([201, 200, 200]);
      expect(ordered.body).toMatchObject({
        partner_name: partnerName,
        customer_reference: 'PO-2026-0815',
        total_amount: 404.3,
        currency: 'EUR',
        items: [
          { ...items[0], unit_price: 189.9, line_total: 379.8 },
          { ...items[1], unit_price: 24.5, line_total: 24.5 },
        ],
      });
      expect(found.body.order_id).toBe(ordered.body.order_id);
      expect(orders.body.items).toHaveLength(orders.body.count as number);
    });

    it('gets its sales figures', async () => {
      const byPartner = await api.get('/analytics/sales-by-partner');
      const overTime = await api.get('/analytics/sales-over-time?grain=monthly');
      const share = await api.get('/analytics/revenue-share?currency=EUR');

      expect([byPartner.status, overTime.status, share.status]).toEqual([200, 200, 200]);
      expect(byPartner.body.results).toContainEqual({
        partner_name: partnerName,
        units_sold: 3,
        total_sales: '404.30',
      });
      expect(overTime.body.results.length).toBeGreaterThan(0);
      expect(sum(share.body.results, 'revenue_pct')).toBeCloseTo(100);
    });

    it('gets 401 without a key, and a healthy status', async () => {
      const refused = await api.withKey(undefined).get('/products');
      const health = await api.get('/health');

      expect(refused).toMatchObject({ status: 401, body: { detail: 'Invalid or missing API key' } });
      expect(health).toMatchObject({ status: 200, body: { status: 'ok', database: 'connected' } });
    });

    function bySku(sku: string): ApiResponse['body'] {
      return products.find((product) => product.sku === sku);
    }
  });
}

type RunSummary = components['schemas']['RunSummary'];

interface Named {
  name: string;
}

function sum(rows: Record<string, number>[], key: string): number {
  return rows.reduce((total, row) => total + row[key]!, 0);
}
