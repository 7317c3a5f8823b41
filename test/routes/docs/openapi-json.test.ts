import { createHash } from 'node:crypto';
import document from '../../../generated/openapi.json';
import { describeNotModified } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /openapi.json', () => {
  describe('200', () => {
    it('is the document of the running service; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/openapi.json');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      expect(body).toEqual(document);
    });

    it('has its SHA-256 as a strong ETag, and must be revalidated', async () => {
      const response = await fetch(`${service.url}/openapi.json`);

      const sha256 = createHash('sha256')
        .update(Buffer.from(await response.arrayBuffer()))
        .digest('hex');
      expect(response.headers.get('etag')).toBe(`"${sha256}"`);
      expect(response.headers.get('cache-control')).toBe('no-cache');
    });
  });

  describeNotModified('/openapi.json', () => service);
});
