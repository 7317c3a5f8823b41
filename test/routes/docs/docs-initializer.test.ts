import { describeNotModified } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /docs/initializer.js', () => {
  describe('200', () => {
    it('loads the document of the service and uses no validator; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/docs/initializer.js');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(body).toContain("url: 'openapi.json'");
      expect(body).toContain('validatorUrl: null');
      expect(body).not.toMatch(/https?:/);
    });
  });

  describeNotModified('/docs/initializer.js', () => service);
});
