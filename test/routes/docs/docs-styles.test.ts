import { readFileSync } from 'node:fs';
import { describeNotModified } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /docs/swagger-ui.css', () => {
  describe('200', () => {
    it("is Swagger UI's own file; no key is needed", async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/docs/swagger-ui.css');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/css; charset=utf-8');
      expect(body === readFileSync(require.resolve('swagger-ui-dist/swagger-ui.css'), 'utf8')).toBe(true);
    });
  });

  describeNotModified('/docs/swagger-ui.css', () => service);
});
