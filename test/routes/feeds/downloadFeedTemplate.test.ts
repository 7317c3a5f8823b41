import { parse } from 'csv-parse/sync';
import document from '../../../generated/openapi.json';
import { sendRaw } from '../../support/requests';
import { startTestService, testKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const template = () => service.api.get('/feeds/template.csv');

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

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { status, body } = await service.api.withKey(key).get('/feeds/template.csv');

      expect(status).toBe(401);
      expect(body).toEqual({ detail: 'Invalid or missing API key' });
    });
  });
});
