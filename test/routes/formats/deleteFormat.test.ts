import { formatPath, putFormat } from '../../support/format-requests';
import { putSource } from '../../support/source-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const url = 'https://feeds.acme.example/products.csv';
const formatNotFound = { status: 404, body: { detail: 'Format not found.' } };
const partnerNotFound = { status: 404, body: { detail: 'Partner not found.' } };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('DELETE /partners/{partner_name}/formats/{format_name}', () => {
  describe('200', () => {
    it('deletes the format and returns it', async () => {
      const { body: format } = await putFormat(service.api, 'Acme Outdoor', 'weekly');
      await putFormat(service.api, 'Acme Outdoor', 'other');
      await putFormat(service.api, 'Zebra', 'weekly');

      const { status, body } = await service.api.send('DELETE', formatPath('Acme Outdoor', 'weekly'));

      expect(status).toBe(200);
      expect(body).toEqual(format);
      expect(await service.api.get(formatPath('Acme Outdoor', 'weekly'))).toMatchObject(formatNotFound);
      expect((await service.api.get(formatPath('Acme Outdoor', 'other'))).status).toBe(200);
      expect((await service.api.get(formatPath('Zebra', 'weekly'))).status).toBe(200);
    });

    it('keeps the definition of feeds that were uploaded with it', async () => {
      const definition = { columns: { sku: { from: ['sku'] }, product_name: { from: ['product_name'] } } };
      await putFormat(service.api, 'Acme Outdoor', 'used', definition);
      const { feedId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme Outdoor', {
        format: 'used',
      });

      await service.api.send('DELETE', formatPath('Acme Outdoor', 'used'));

      expect((await service.api.get(`/feeds/${feedId}`)).body.format_name).toBe('used');
      expect(await service.db('feeds').whereNotNull('format_name').pluck('format_definition')).toEqual([
        definition,
      ]);
    });
  });

  describe('403', () => {
    it('rejects a read-only key', async () => {
      await putFormat(service.api, 'Acme Outdoor', 'kept');
      const reader = await withStoredKey(service, null, 'reader', { is_read_only: true });

      expect(await reader.send('DELETE', formatPath('Acme Outdoor', 'kept'))).toMatchObject({
        status: 403,
        body: { detail: 'This API key is read-only.' },
      });
      expect((await service.api.get(formatPath('Acme Outdoor', 'kept'))).status).toBe(200);
    });
  });

  describe('404', () => {
    it('does not find a built-in or unknown format, or one of another partner', async () => {
      await putFormat(service.api, 'Acme Outdoor', 'theirs');
      const limited = await withStoredKey(service, 'Zebra');
      const remove = (partner: string, name: string, api = service.api) =>
        api.send('DELETE', formatPath(partner, name));

      expect(await remove('Acme Outdoor', 'standard')).toMatchObject(formatNotFound);
      expect(await remove('Acme Outdoor', 'unknown')).toMatchObject(formatNotFound);
      expect(await remove('Unknown', 'theirs')).toMatchObject(partnerNotFound);
      expect(await remove('Acme Outdoor', 'theirs', limited)).toMatchObject(partnerNotFound);
      expect((await service.api.get(formatPath('Acme Outdoor', 'theirs'))).status).toBe(200);
    });
  });

  describe('409', () => {
    it('rejects a format that a source uses', async () => {
      await putFormat(service.api, 'Formatted', 'weekly');
      await putSource(service.api, 'Formatted', 'daily', { url, format: 'weekly' });

      const refused = await service.api.send('DELETE', formatPath('Formatted', 'weekly'));
      await putSource(service.api, 'Formatted', 'daily', { url });

      expect([refused.status, refused.body.detail]).toEqual([
        409,
        'Source daily uses this format. Change or delete the source first.',
      ]);
      expect((await service.api.send('DELETE', formatPath('Formatted', 'weekly'))).status).toBe(200);
    });
  });
});
