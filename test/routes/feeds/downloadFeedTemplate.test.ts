import { parse } from 'csv-parse/sync';
import document from '../../../generated/openapi.json';
import { sendRaw } from '../../support/requests';
import { putFormat } from '../../support/format-requests';
import { startTestService, testKey, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const template = () => service.api.get('/feeds/template.csv');

const weekly = {
  delimiter: ';',
  encoding: 'windows-1252',
  skip_lines: 2,
  decimal_separator: ',',
  columns: {
    sku: { from: ['Nr'] },
    product_name: { join: ['Bezeichnung', 'Farbe'], with: ' ' },
    price: { from: ['Preis', 'Price'] },
    currency: { value: 'EUR' },
    availability: { from: ['Bestand'] },
  },
  availability: { 'auf Lager': 'in_stock', da: 'in_stock' },
};

async function rawBody(format: string): Promise<Buffer> {
  const url = `${service.url}/feeds/template.csv?format=${format}&partner_name=Formatted`;
  const response = await fetch(url, { headers: { 'x-api-key': testKey } });
  return Buffer.from(await response.arrayBuffer());
}

describe('GET /feeds/template.csv', () => {
  describe('200', () => {
    it('has all columns of the profile in its order, and one row of its examples', async () => {
      const { columns } = (await service.api.get('/feeds/profile')).body;

      const { status, headers, body } = await template();

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(headers.get('content-disposition')).toBe('attachment; filename="feed-template.csv"');
      expect(parse(body as string)).toEqual([
        columns.map(({ name }: { name: string }) => name),
        columns.map(({ example }: { example: string }) => example),
      ]);
    });

    it('can be uploaded and loaded unchanged, without any issue', async () => {
      const csv = (await template()).body as string;

      const inspection = await service.api.inspect({ csv, partnerName: 'Template' });
      const { job } = await service.api.loadFeed(csv, 'Template');

      expect(inspection.body).toMatchObject({ accepted: true, refusal: null, run_failure: null, issues: [] });
      expect(job).toMatchObject({
        status: 'completed',
        summary: {
          processed: 1,
          inserted: 1,
          updated: 0,
          unchanged: 0,
          skipped: 0,
          withdrawn: 0,
          restored: 0,
        },
        issue_counts: [],
      });
      const [product] = (await service.api.get('/products')).body.items;
      expect(product).toMatchObject({
        sku: 'TENT-2',
        product_name: 'Two-person tent',
        description: 'Light, quick to pitch',
        brand: 'Acme',
        category: 'Camping/Tents',
        price: 189.9,
        currency: 'EUR',
        availability: 'in_stock',
      });
    });

    it.each(['excel-eu', 'google-merchant', 'magento2', 'shopify', 'standard', 'woocommerce', 'weekly'])(
      'has the columns of the format %s, and can be loaded with it without any issue',
      async (format) => {
        await putFormat(service.api, 'Formatted', 'weekly', weekly);
        const file = await service.api.get(`/feeds/template.csv?format=${format}&partner_name=Formatted`);
        const again = await service.api.loadFeed(await rawBody(format), 'Formatted', { format });

        expect(file.status).toBe(200);
        expect(again.job).toMatchObject({ status: 'completed', issue_counts: [] });
        expect(again.job.summary).toMatchObject({ processed: 1, skipped: 0 });
      },
    );

    it("takes a bound key's own format", async () => {
      await putFormat(service.api, 'Formatted', 'weekly', weekly);
      const bound = await withStoredKey(service, 'Formatted');

      const { status, headers, body } = await bound.get('/feeds/template.csv?format=weekly');

      expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=windows-1252']);
      expect(body).toBe('\n\nNr;Bezeichnung;Preis;Bestand\nTENT-2;Two-person tent;189,90;auf Lager\n');
    });

    it('equals the example of the document', async () => {
      expect((await template()).body).toBe(
        document.paths['/feeds/template.csv'].get.responses['200'].content['text/csv'].example,
      );
    });

    it('is the same for HEAD, without the body', async () => {
      const headers = { 'x-api-key': testKey };
      const head = await sendRaw(service.url, { method: 'HEAD', path: '/feeds/template.csv', headers });

      expect(head).toMatchObject({
        status: 200,
        text: '',
        headers: { 'content-type': 'text/csv; charset=utf-8' },
      });
    });
  });

  describe('422', () => {
    it.each([
      ['unknown', ''],
      ['weekly', ''],
      ['weekly', '&partner_name=Birch'],
    ])('rejects the format %s with %j', async (format, query) => {
      await putFormat(service.api, 'Formatted', 'weekly', weekly);

      expect(await service.api.get(`/feeds/template.csv?format=${format}${query}`)).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'unknown_format', loc: ['query', 'format'], input: format }] },
      });
    });

    it('does not return the format of another partner to a bound key', async () => {
      await putFormat(service.api, 'Formatted', 'weekly', weekly);
      const bound = await withStoredKey(service, 'Birch');

      const { status } = await bound.get('/feeds/template.csv?format=weekly&partner_name=Formatted');

      expect(status).toBe(422);
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { status, body } = await service.api.withKey(key).get('/feeds/template.csv');

      expect(status).toBe(401);
      expect(body).toEqual({ detail: 'Invalid or missing API key' });
    });
  });
});
