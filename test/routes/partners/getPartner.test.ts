import { sendRaw } from '../../support/requests';
import { startTestService, testKey, withStoredKey, type TestService } from '../../support/service';

const csv = 'sku,product_name\nA,A\nB,B\nC,\n';
const notFound = { status: 404, body: { detail: 'Partner not found.' } };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const get = (name: string) => service.api.get(`/partners/${encodeURIComponent(name)}`);

describe('GET /partners/{partner_name}', () => {
  describe('200', () => {
    it('has the current numbers after each upload, run and failed run', async () => {
      const first = await service.api.uploadFeed(csv);
      expect((await get('Acme Outdoor')).body).toEqual({
        partner_name: 'Acme Outdoor',
        products: 0,
        feeds: 1,
        last_feed_id: first.feedId,
        last_completed_at: null,
        attention: [],
      });

      const { body: job } = await service.api.post(`/jobs/${first.jobId}/run`);
      const completed = {
        partner_name: 'Acme Outdoor',
        products: 2,
        feeds: 1,
        last_feed_id: first.feedId,
        last_completed_at: job.finished_at,
      };
      expect((await get('Acme Outdoor')).body).toEqual({ ...completed, attention: [] });

      const failed = await service.api.uploadFeed('sku,product_name\nD,"D\n');
      await service.api.post(`/jobs/${failed.jobId}/run`);
      const { attention, ...numbers } = (await get('Acme Outdoor')).body;
      expect(numbers).toEqual({ ...completed, feeds: 2, last_feed_id: failed.feedId });
      expect(attention).toMatchObject([{ reason: 'last_run_failed' }]);

      const { body: again } = await service.api.post(`/jobs/${first.jobId}/run`);
      expect((await get('Acme Outdoor')).body).toEqual({
        ...completed,
        feeds: 2,
        last_feed_id: failed.feedId,
        last_completed_at: again.finished_at,
        attention: [],
      });
    });

    it.each(['Birch & Sons', 'a/b', '100% Wolle?', '#1', 'Café Müller', '株式会社', '...', '%2F', 'a;b=c,d'])(
      'finds a partner by its name in one segment: %s',
      async (name) => {
        await service.api.uploadFeed(csv, name);

        expect(await get(name)).toMatchObject({ status: 200, body: { partner_name: name, feeds: 1 } });
      },
    );

    it('finds a partner by any Unicode form of its name', async () => {
      await service.api.uploadFeed(csv, 'Ångström');

      expect(await get('Ångström'.normalize('NFD'))).toMatchObject({
        status: 200,
        body: { partner_name: 'Ångström'.normalize('NFC') },
      });
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      expect(await service.api.get('/partners/%E0%A4%A')).toMatchObject({
        status: 400,
        body: { detail: 'Malformed request path.' },
      });
    });
  });

  describe('404', () => {
    it.each(['Unknown', 'acme outdoor', 'Acme Outdoor ', 'a\0', '\u0301\0', ' ', 'x'.repeat(3_000)])(
      'does not find the partner %j',
      async (name) => {
        expect(await get(name)).toMatchObject(notFound);
      },
    );

    it('does not find another partner than the one of the key', async () => {
      await service.api.uploadFeed(csv, 'Zebra');
      const limited = await withStoredKey(service, 'Zebra');

      expect(await limited.get('/partners/Zebra')).toMatchObject({ status: 200 });
      expect(await limited.get('/partners/Acme%20Outdoor')).toMatchObject(notFound);
    });

    it.each(['.', '..', '%2E', '%2e%2E'])(
      'does not find a partner with the impossible name %s',
      async (segment) => {
        const headers = { 'x-api-key': testKey };

        const { status, text } = await sendRaw(service.url, {
          method: 'GET',
          path: `/partners/${segment}`,
          headers,
        });

        expect([status, text]).toEqual([404, JSON.stringify(notFound.body)]);
      },
    );
  });
});

describe('the partner names . and ..', () => {
  const reserved = (input: string) => ({
    status: 422,
    body: {
      detail: [
        {
          type: 'reserved_name',
          loc: ['body', 'partner_name'],
          msg: "Input should not be '.' or '..'",
          input,
        },
      ],
    },
  });

  it.each(['.', '..', ' .. '])('are rejected by uploads, inspections and orders: %j', async (name) => {
    const { body: products } = await service.api.get('/products?limit=1');
    const items = [{ product_id: products.items[0].product_id, quantity: 1 }];

    expect(await service.api.upload({ partnerName: name, csv })).toMatchObject(reserved(name));
    expect(await service.api.inspect({ partnerName: name, csv })).toMatchObject(reserved(name));
    expect(await service.api.post('/orders', { partner_name: name, items })).toMatchObject(reserved(name));
    expect(await service.db('partners').whereIn('partner_name', ['.', '..', name])).toEqual([]);
  });
});
