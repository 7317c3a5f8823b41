import { filePart, partnerPart, uploadParts, OpenUpload } from '../../../support/requests';
import { startTestService, testKey, type TestService } from '../../../support/service';
import { expectRefusal } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe('POST /feeds/upload', () => {
  describe('401', () => {
    const unauthorized = { detail: 'Invalid or missing API key' };
    const keys = [
      undefined,
      '',
      'wrong',
      testKey.toUpperCase(),
      testKey.slice(0, -1),
      `${testKey}2`,
      `${testKey},${testKey}`,
    ];

    it.each(keys)('rejects the key %j and stores nothing', async (key) => {
      const api = service.api.withKey(key);

      const { headers } = await expectRefusal(
        service,
        () => uploadParts(api, partnerPart(), filePart()),
        401,
        unauthorized,
      );

      expect(headers.get('x-request-id')).toMatch(uuid);
    });

    it.each<[string, RequestInit]>([
      ['no body', {}],
      ['a body of another media type', { headers: { 'content-type': 'application/json' }, body: '{' }],
      ['no boundary', { headers: { 'content-type': 'multipart/form-data' }, body: 'x' }],
      ['a broken form', { headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: '--b\r\nx' }],
    ])('checks the key before anything else: %s', async (_what, init) => {
      const api = service.api.withKey(undefined);

      await expectRefusal(service, () => api.send('POST', '/feeds/upload', init), 401, unauthorized);
    });

    it('is sent before the body arrives, for any Content-Length', async () => {
      const upload = new OpenUpload(service, { 'x-api-key': 'wrong', 'content-length': String(2 ** 40) });
      try {
        await expectRefusal(service, () => upload.response, 401, unauthorized);
      } finally {
        upload.abort();
      }
    });
  });

  describe('405', () => {
    it.each(['PUT', 'PATCH', 'DELETE'])('does not allow %s, with or without a key', async (method) => {
      for (const api of [service.api, service.api.withKey(undefined)]) {
        const { headers } = await expectRefusal(service, () => api.send(method, '/feeds/upload'), 405, {
          detail: 'Method Not Allowed',
        });
        expect(headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'POST']);
      }
    });
  });
});
