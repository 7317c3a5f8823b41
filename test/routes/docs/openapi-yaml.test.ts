import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import document from '../../../generated/openapi.json';
import { describeNotModified } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

const file = readFileSync(join(__dirname, '../../../spec/openapi.yaml'));

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /openapi.yaml', () => {
  describe('200', () => {
    it('is spec/openapi.yaml byte for byte; no key is needed', async () => {
      const response = await fetch(`${service.url}/openapi.yaml`);

      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/yaml');
      expect(Buffer.from(await response.arrayBuffer()).equals(file)).toBe(true);
    });

    it('has the same content as the document of the running service', async () => {
      const { body } = await service.api.get('/openapi.yaml');

      expect(parse(body as string)).toEqual(document);
    });

    it('has its SHA-256 as a strong ETag, and must be revalidated', async () => {
      const { headers } = await service.api.get('/openapi.yaml');

      expect(headers.get('etag')).toBe(`"${createHash('sha256').update(file).digest('hex')}"`);
      expect(headers.get('cache-control')).toBe('no-cache');
    });
  });

  describeNotModified('/openapi.yaml', () => service);
});
