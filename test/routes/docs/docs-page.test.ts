import { describeNotModified } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
let page: string;
beforeAll(async () => {
  service = await startTestService();
  page = (await service.api.get('/docs')).body as string;
});

/** The files that the page loads. */
const addresses = () => [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);

describe('GET /docs', () => {
  describe('200', () => {
    it('is an HTML page; no key is needed', async () => {
      const { status, headers, body } = await service.api.withKey(undefined).get('/docs');

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-cache');
      expect(body).toMatch(/^<!doctype html>/);
    });

    it('can load from this service only, and cannot be framed', async () => {
      const { headers } = await service.api.get('/docs');

      const policy = headers.get('content-security-policy')!.split('; ');
      expect(policy).toEqual(
        expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'"]),
      );
      expect(policy).toEqual(expect.arrayContaining(["connect-src 'self'", "frame-ancestors 'none'"]));
      expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
    });

    it('has no inline script or style, and no other host', () => {
      expect(page).not.toMatch(/<style|style=|\son\w+=/);
      expect(page).not.toMatch(/<script(?![^>]* src=)/);
      expect(addresses().filter((address) => /^(\w+:)?\/\//.test(address))).toEqual([]);
    });

    it('addresses its files by digest, so that caches can keep them forever', async () => {
      const versioned = addresses().filter((address) => address.includes('?v='));

      expect(versioned).toHaveLength(3);
      for (const address of versioned) {
        const { status, headers } = await service.api.withKey(undefined).get(`/${address}`);
        const version = /\?v=([0-9a-f]{16})$/.exec(address)![1]!;
        expect(status).toBe(200);
        expect(headers.get('etag')).toMatch(new RegExp(`^"${version}[0-9a-f]{48}"$`));
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      }
    });
  });

  describeNotModified('/docs', () => service);
});
