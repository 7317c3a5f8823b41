import { transferRules } from '../../../../src/base/concurrency/transfer-limit';
import { once } from 'node:events';
import { get as request, type IncomingMessage } from 'node:http';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { inTransaction } from '../../../../src/base/db/transaction';
import { mergePartners } from '../../../../src/catalog/partners/merge-partners';
import { casesFor } from '../../../support/fuzz';
import { toCsv, type FeedRow } from '../../../support/catalog';
import { eventually } from '../../../support/harness';
import { startTestService, testKey, withStoredKey, type TestService } from '../../../support/service';

const header = 'sku,product_name,description,brand,category,price,currency,availability\n';
const notFound = { status: 404, body: { detail: 'Partner not found.' } };
const unchanged = (count: number) => ({
  processed: count,
  inserted: 0,
  updated: 0,
  unchanged: count,
  skipped: 0,
  withdrawn: 0,
  restored: 0,
});

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const download = (name = 'Acme Outdoor') =>
  service.api.get(`/partners/${encodeURIComponent(name)}/products.csv`);

const storedProducts = () => service.db('products').orderBy('product_id');

/** Loads the file again without digests, so that every product is compared. @returns the summary */
async function loadAgain(csv: string, partnerName = 'Acme Outdoor'): Promise<unknown> {
  await service.db('digest_blocks').delete();
  const { job } = await service.api.loadFeed(csv, partnerName);
  expect(job.issue_counts).toEqual([]);
  return job.summary;
}

describe('GET /partners/{partner_name}/products.csv', () => {
  describe('200', () => {
    it('has only the header for a partner without products', async () => {
      await service.api.uploadFeed('sku,product_name\nA,A\n');

      const { status, headers, body } = await download();

      expect(status).toBe(200);
      expect(body).toBe(header);
      expect(headers.get('content-disposition')).toBe('attachment; filename="products.csv"');
    });

    it('has the active products of the partner in the feed format, by product number', async () => {
      await service.api.loadFeed(
        'sku;price;product_name;availability\nB;189,90;"Tent ""Two""";in stock\nA;1.299,0000;A;\nC;5.1250;C;\n'
          .replace('189,90', '189.90')
          .replace('1.299,0000', '1,299.0000'),
      );
      await service.api.loadFeed('sku,product_name\nX,X\n', 'Birch & Sons');
      await service.db('products').where('sku', 'C').update({ withdrawn_at: new Date() });

      const { body } = await download();

      expect(body).toBe(`${header}B,"Tent ""Two""",,,,189.9,,in_stock\nA,A,,,,1299,,\n`);
    });

    it('leaves all products unchanged when it is loaded again, with awkward texts', async () => {
      const rows: FeedRow[] = [
        { sku: '007', product_name: '=1+1', description: 'one\ntwo\r\nthree\n\n   four', price: '0.0001' },
        { sku: '"', product_name: '""', brand: 'a,b;c\td|e', category: "'@-+", price: '999999999999.9999' },
        { sku: 'a\rb', product_name: 'lone\rreturn', description: '"quoted"\n"again"', currency: 'EUR' },
        {
          sku: ' padded ',
          product_name: '\t padded\u00a0',
          description: '\u2028between\u2029',
          price: '10.10',
        },
        { sku: '株式会社', product_name: '\u{1F419}é', description: '\\n \\. NULL', availability: 'ask us' },
        { sku: '_line', product_name: 'sku', description: header, price: '1,234.5', currency: 'JPY' },
        { sku: '\ufeffbom', product_name: '\u200bzero width', availability: 'In Stock' },
      ];
      await service.api.loadFeed(toCsv(rows));
      const before = await storedProducts();
      expect(before).toHaveLength(rows.length);

      const { body } = await download();

      // An unknown value is a warning, as in the first feed.
      await service.db('digest_blocks').delete();
      const { job } = await service.api.loadFeed(body);
      expect(job.summary).toEqual(unchanged(rows.length));
      expect(await storedProducts()).toEqual(before);
      expect((await download()).body).toBe(body);
    });

    it('leaves all products unchanged when it is loaded again, for any texts', async () => {
      const text = fc.string({
        unit: fc.constantFrom('a', '"', ',', ';', '\t', '\n', '\r', ' ', "'", '=', 'é', '|'),
        maxLength: 8,
      });
      const row = fc.record({
        product_name: text.filter((name) => name.trim() !== ''),
        description: text,
        brand: text,
        category: text,
        price: fc.option(
          fc.integer({ min: 1, max: 10 ** 9 }).map((units) => (units / 10_000).toFixed(4)),
          { nil: '' },
        ),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
          const name = `Partner ${Math.random()}`;
          const { job } = await service.api.loadFeed(
            toCsv(rows.map((each, at) => ({ sku: `SKU-${at}`, ...each }))),
            name,
          );
          expect(job.summary.inserted).toBe(rows.length);

          expect(await loadAgain((await download(name)).body, name)).toEqual(unchanged(rows.length));
        }),
        casesFor('files of products', 5),
      );
    });

    it('has each product once over many batches', async () => {
      const skus = Array.from({ length: 2_001 }, (_, at) => `S${at}`);
      await service.api.loadFeed(toCsv(skus.map((sku) => ({ sku, price: '1.50' }))));

      const { body } = await download();

      const rows = parse<{ sku: string }>(body as string, { columns: true });
      expect(rows.map(({ sku }) => sku)).toEqual(skus);
    });

    it('is the file of the own partner for a limited key', async () => {
      await service.api.loadFeed('sku,product_name\nA,A\n');
      await service.api.loadFeed('sku,product_name\nZ,Z\n', 'Zebra');
      const limited = await withStoredKey(service, 'Zebra');

      expect((await limited.get('/partners/Zebra/products.csv')).body).toBe(`${header}Z,Z,,,,,,\n`);
      expect(await limited.get('/partners/Acme%20Outdoor/products.csv')).toMatchObject(notFound);
    });

    it('is truncated when the partner is merged into another one meanwhile', async () => {
      const long = 'x'.repeat(20_000);
      const rows = Array.from({ length: 900 }, (_, at) => ({ sku: `S${at}`, description: long }));
      await service.api.loadFeed(toCsv(rows));
      await service.api.uploadFeed('sku,product_name\nA,A\n', 'Zebra');
      const url = `${service.url}/partners/Acme%20Outdoor/products.csv`;
      const sent = request(url, { headers: { 'x-api-key': testKey } });
      // The client does not read: the response waits in buffers.
      const [response] = (await once(sent, 'response')) as [IncomingMessage];

      await inTransaction(service.db, 'bulk', (trx) => mergePartners(trx, 'Acme Outdoor', 'Zebra'));
      response.resume();

      await expect(once(response, 'end')).rejects.toThrow('aborted');
      await eventually('its place is free', async () => (await download('Zebra')).status === 200);
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      expect(await service.api.get('/partners/%E0%A4%A/products.csv')).toMatchObject({
        status: 400,
        body: { detail: 'Malformed request path.' },
      });
    });
  });

  describe('404', () => {
    it.each(['Unknown', 'acme outdoor', 'a\0', '.csv'])('does not find the partner %j', async (name) => {
      expect(await download(name)).toMatchObject(notFound);
    });
  });

  describe('503', () => {
    it('is returned when the caller has occupied all its slots for downloads for too long', async () => {
      const own = await startTestService({ concurrentDownloads: 1 });
      const rows = Array.from({ length: 900 }, (_, at) => ({
        sku: `S${at}`,
        description: 'x'.repeat(20_000),
      }));
      await own.api.loadFeed(toCsv(rows));
      const path = '/partners/Acme%20Outdoor/products.csv';
      const sent = request(own.url + path, { headers: { 'x-api-key': testKey } });
      const [response] = (await once(sent, 'response')) as [IncomingMessage];

      jest.replaceProperty(transferRules, 'waitMilliseconds', 50);
      const { status, headers } = await own.api.get(path);
      jest.restoreAllMocks();

      expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      response.destroy();
      await eventually('the slot is free', async () => (await own.api.get(path)).status === 200);
    });
  });
});
