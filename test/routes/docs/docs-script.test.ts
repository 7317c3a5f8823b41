import { readFileSync } from 'node:fs';
import { describeNotModified } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /docs/swagger-ui-bundle.js', () => {
  describe('200', () => {
    it("is Swagger UI's own file; no key is needed", async () => {
      const { status, headers, body } = await service.api
        .withKey(undefined)
        .get('/docs/swagger-ui-bundle.js');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(body === readFileSync(require.resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'utf8')).toBe(
        true,
      );
    });
  });

  describeNotModified('/docs/swagger-ui-bundle.js', () => service);
});
