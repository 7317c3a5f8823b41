import { formatPath, isoTime, minimal, putFormat } from '../../support/format-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const formatNotFound = { status: 404, body: { detail: 'Format not found.' } };
const partnerNotFound = { status: 404, body: { detail: 'Partner not found.' } };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await putFormat(service.api, 'Acme Outdoor', 'weekly');
  await putFormat(service.api, 'Zebra', 'striped');
});

describe('GET /partners/{partner_name}/formats/{format_name}', () => {
  describe('200', () => {
    it('returns a format of the partner', async () => {
      expect(await service.api.get(formatPath('Acme Outdoor', 'weekly'))).toMatchObject({
        status: 200,
        body: {
          format_name: 'weekly',
          partner_name: 'Acme Outdoor',
          definition: minimal,
          created_at: isoTime,
          updated_at: isoTime,
        },
      });
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      expect(await service.api.get('/partners/Acme/formats/%E0%A4%A')).toMatchObject({
        status: 400,
        body: { detail: 'Malformed request path.' },
      });
    });
  });

  describe('404', () => {
    it.each(['striped', 'Weekly', 'standard', 'a\0', 'x'.repeat(3_000)])(
      'does not find the format %j',
      async (name) => {
        expect(await service.api.get(formatPath('Acme Outdoor', name))).toMatchObject(formatNotFound);
      },
    );

    it.each(['Unknown', 'a\0', 'Acme Outdoor '])('does not find the partner %j', async (name) => {
      expect(await service.api.get(formatPath(name, 'weekly'))).toMatchObject(partnerNotFound);
    });

    it('does not find a format of another partner for a limited key', async () => {
      const limited = await withStoredKey(service, 'Zebra');

      expect((await limited.get(formatPath('Zebra', 'striped'))).status).toBe(200);
      expect(await limited.get(formatPath('Acme Outdoor', 'weekly'))).toMatchObject(partnerNotFound);
    });
  });
});
