import { createHash, randomUUID } from 'node:crypto';
import { rm, truncate, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { parse as parseDisposition } from 'content-disposition';
import { FileStore } from '../../../src/base/storage/file-store';
import { mebibyte, eventually, createTestFolder } from '../../support/harness';
import { closedPort } from '../../support/network';
import { download, openFiles, filePart, partnerPart, uploadParts, sendRaw } from '../../support/requests';
import { manyProducts } from '../../support/catalog';
import { openTestS3Store } from '../../support/s3';
import { expectSecurityHeaders } from '../../support/contract';
import { startTestService, testKey, type TestService } from '../../support/service';
import { rawFilePath, storedFeed } from '../../support/stored-uploads';

/** With a byte order mark, every line end, multi-byte characters, and no final line end. */
const csv = Buffer.from('\ufeffsku;product_name\r\n1;"Zelt ""Größe""\r\nzwei"\n\r\n; ;\r\n2;€\t😀', 'utf8');
const size = csv.length;
const digest = (bytes: Buffer, encoding: 'hex' | 'base64' = 'hex') =>
  createHash('sha256').update(bytes).digest(encoding);
const etag = `"${digest(csv)}"`;
const otherEtag = `"${digest(Buffer.from('other'))}"`;

/** A partner that no other test file has, because they share the bucket. */
const partnerName = `Raw ${randomUUID()}`;

let local: TestService;
let feedId: string;
beforeAll(async () => {
  local = await startTestService();
  ({ feedId } = await local.api.uploadFeed(csv, partnerName));
});

describe('GET /feeds/{feed_id}/raw', () => {
  describe.each([
    ['the local store', () => startTestService()],
    ['an S3 store', () => startTestService({ objectStore: openTestS3Store() })],
  ])('with %s', (_which, start) => {
    let service: TestService;
    let id: string;
    beforeAll(async () => {
      service = await start();
      ({ feedId: id } = await service.api.uploadFeed(csv, partnerName));
    });

    it('200: returns the uploaded bytes, with digests to verify them', async () => {
      const { status, headers, bytes } = await download(service, id);

      expect(status).toBe(200);
      expect(bytes).toEqual(csv);
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(headers.get('content-length')).toBe(String(size));
      expect(headers.get('etag')).toBe(etag);
      expect(headers.get('repr-digest')).toBe(`sha-256=:${digest(csv, 'base64')}:`);
      expect(headers.get('accept-ranges')).toBe('bytes');
      expect(headers.get('content-disposition')).toBe('attachment; filename=feed.csv');
      expectSecurityHeaders(headers, { 'cache-control': 'private, no-cache' });
      expect(headers.get('content-range')).toBeNull();
    });

    it('200: returns a file of 20 MB', async () => {
      const large = Buffer.from(manyProducts(200_000));
      expect(large.length).toBeGreaterThan(10 * mebibyte);
      const { feedId: largeId } = await service.api.uploadFeed(large, partnerName);

      const { bytes } = await download(service, largeId);

      expect(bytes.equals(large)).toBe(true);
    });

    it('206: resumes an interrupted download', async () => {
      const rest = await download(service, id, { range: 'bytes=20-', 'if-range': etag });

      expect(rest.status).toBe(206);
      expect(rest.headers.get('content-range')).toBe(`bytes 20-${size - 1}/${size}`);
      expect(Buffer.concat([csv.subarray(0, 20), rest.bytes])).toEqual(csv);
    });

    it('404: distinguishes a missing file from an unknown feed', async () => {
      const { feedId: gone } = await service.api.uploadFeed(csv, partnerName);
      await service.objectStore.delete((await storedFeed(service, gone)).raw_file_object_key);

      for (const headers of [{}, { range: 'bytes=0-9' }] as Record<string, string>[]) {
        const { status, body, headers: sent } = await service.api.get(`/feeds/${gone}/raw`, headers);

        expect(status).toBe(404);
        expect(body).toEqual({ detail: `The raw file of feed ${gone} is missing from object storage.` });
        expect(sent.get('content-type')).toBe('application/json');
        expect(sent.get('etag')).toBeNull();
      }
    });
  });

  describe('200', () => {
    it('is independent of the outcome of the run', async () => {
      const broken = Buffer.from('sku,product_name\n1,"never closed\n');
      const { feedId: failed, job } = await local.api.loadFeed(broken, partnerName);
      expect(job.status).toBe('failed');

      expect((await download(local, failed)).bytes).toEqual(broken);
    });

    it('returns a file that was sent before partner_name', async () => {
      const { body } = await uploadParts(local.api, filePart(csv), partnerPart(partnerName));

      expect((await download(local, body.feed_id)).bytes).toEqual(csv);
    });

    it.each([
      ['spring.csv', 'attachment; filename=spring.csv'],
      ['spring feed.csv', 'attachment; filename="spring feed.csv"'],
      ['50%25;a=b.csv', `attachment; filename="50%25;a=b.csv"; filename*=UTF-8''50%2525%3Ba%3Db.csv`],
      ['Größen.csv', `attachment; filename="Gr??en.csv"; filename*=UTF-8''Gr%C3%B6%C3%9Fen.csv`],
      ['商品🙂.csv', `attachment; filename="????.csv"; filename*=UTF-8''%E5%95%86%E5%93%81%F0%9F%99%82.csv`],
      ["it's (new).csv", 'attachment; filename="it\'s (new).csv"'],
    ])('has the original file name: %s', async (fileName, disposition) => {
      const { body } = await local.api.upload({ csv, partnerName, fileName });
      expect((await local.api.get(`/feeds/${body.feed_id}`)).body.file_name).toBe(fileName);

      const { headers } = await download(local, body.feed_id);

      expect(headers.get('content-disposition')).toBe(disposition);
      expect(parseDisposition(disposition).parameters.filename).toBe(fileName);
    });

    it('encodes a file name with control characters', async () => {
      const fileName = 'a\tb\u0085.csv';
      const { body } = await uploadParts(local.api, partnerPart(partnerName), filePart(csv, { fileName }));

      const { status, headers } = await download(local, body.feed_id);

      expect(status).toBe(200);
      expect(headers.get('content-disposition')).toBe(
        `attachment; filename="a?b?.csv"; filename*=UTF-8''a%09b%C2%85.csv`,
      );
    });

    it.each<[string, Record<string, string>]>([
      ['several ranges', { range: 'bytes=0-1,3-4' }],
      ['several ranges of which one is satisfiable', { range: 'bytes=0-1,100000-' }],
      ['several ranges of which none is', { range: 'bytes=100000-,200000-' }],
      ['another unit', { range: 'lines=0-1' }],
      ['another unit, and beyond the end', { range: 'lines=100000-' }],
      ['no unit', { range: '0-1' }],
      ['no number', { range: 'bytes=-' }],
      ['an end before its begin', { range: 'bytes=5-4' }],
      ['an end before its begin, beyond the file', { range: 'bytes=100001-100000' }],
      ['a third number', { range: 'bytes=0-1-2' }],
      ['two signs', { range: 'bytes=--1' }],
      ['letters behind its numbers', { range: 'bytes=0x-1x' }],
      ['an exponent', { range: 'bytes=0-1e1' }],
      ['spaces', { range: 'bytes= 0 - 1 ' }],
      ['an empty range set', { range: 'bytes=' }],
      ['letters', { range: 'bytes=a-b' }],
      ['a sign', { range: 'bytes=+0-1' }],
      ['a hexadecimal number', { range: 'bytes=0x0-0x1' }],
      ['nothing', { range: '' }],
      ['a range of another file', { range: 'bytes=0-1', 'if-range': otherEtag }],
      ['a range with a weak tag', { range: 'bytes=0-1', 'if-range': `W/${etag}` }],
      ['a range with a date', { range: 'bytes=0-1', 'if-range': 'Sun, 01 Mar 2026 09:30:00 GMT' }],
      ['a range beyond the end of another file', { range: 'bytes=100000-', 'if-range': otherEtag }],
      ['a condition without a range', { 'if-range': etag }],
      ['another copy', { 'if-none-match': otherEtag }],
      ['a tag without its quotes', { 'if-none-match': digest(csv) }],
      ['a date', { 'if-modified-since': 'Sun, 01 Mar 2099 09:30:00 GMT' }],
    ])('is sent whole to %s', async (_what, headers) => {
      const { status, headers: sent, bytes } = await download(local, feedId, headers);

      expect(status).toBe(200);
      expect(bytes).toEqual(csv);
      expect(sent.get('content-length')).toBe(String(size));
    });

    it.each<[string, Record<string, string>]>([
      ['plain', {}],
      ['with a range, which is for GET', { range: 'bytes=0-1' }],
      ['with a range beyond the end', { range: 'bytes=100000-' }],
    ])('HEAD has the same headers, and no body: %s', async (_what, extra) => {
      const path = `/feeds/${feedId}/raw`;
      const headers = { 'x-api-key': testKey, 'x-request-id': 'the-same' };

      const got = await sendRaw(local.url, { method: 'GET', path, headers });
      const head = await sendRaw(local.url, { method: 'HEAD', path, headers: { ...headers, ...extra } });

      expect(head).toEqual({
        status: 200,
        headers: { ...got.headers, date: expect.any(String) },
        text: '',
      });
      expect(head.headers['content-length']).toBe(String(size));
    });

    it('leaves no file open after a complete read, a HEAD or an abort', async () => {
      const { feedId: large } = await local.api.uploadFeed(manyProducts(200_000), partnerName);
      await download(local, large);
      await download(local, large, {}, 'HEAD');
      await download(local, large, { range: 'bytes=10-20' });
      await new Promise<void>((resolve, reject) => {
        const headers = { 'x-api-key': testKey };
        const request = get(`${local.url}/feeds/${large}/raw`, { headers, agent: false }, (response) => {
          response.once('data', () => {
            expect(openFiles(local.dataDir)).toHaveLength(1);
            response.destroy();
            resolve();
          });
        });
        request.on('error', reject);
      });

      await eventually('the file is closed', () => expect(openFiles(local.dataDir)).toEqual([]));
    });
  });

  describe('206', () => {
    it.each<[string, number, number]>([
      ['bytes=0-0', 0, 0],
      ['bytes=0-9', 0, 9],
      ['bytes=9-9', 9, 9],
      ['bytes=5-', 5, size - 1],
      ['bytes=0-', 0, size - 1],
      [`bytes=${size - 1}-`, size - 1, size - 1],
      [`bytes=0-${size - 1}`, 0, size - 1],
      ['bytes=10-100000', 10, size - 1],
      ['bytes=10-99999999999999999999999', 10, size - 1],
      ['bytes=-1', size - 1, size - 1],
      ['bytes=-7', size - 7, size - 1],
      [`bytes=-${size}`, 0, size - 1],
      ['bytes=-100000', 0, size - 1],
      ['Bytes=0-1', 0, 1],
    ])('returns the bytes of %s', async (range, first, last) => {
      const { status, headers, bytes } = await download(local, feedId, { range });

      expect(status).toBe(206);
      expect(bytes).toEqual(csv.subarray(first, last + 1));
      expect(headers.get('content-range')).toBe(`bytes ${first}-${last}/${size}`);
      expect(headers.get('content-length')).toBe(String(last - first + 1));
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
      // Digest of the whole file, to verify it after all parts have arrived.
      expect(headers.get('etag')).toBe(etag);
      expect(headers.get('repr-digest')).toBe(`sha-256=:${digest(csv, 'base64')}:`);
    });

    it('returns a file in parts', async () => {
      const parts: Buffer[] = [];
      for (let at = 0; at < size; at += 7) {
        parts.push(
          (await download(local, feedId, { range: `bytes=${at}-${at + 6}`, 'if-range': etag })).bytes,
        );
      }

      expect(Buffer.concat(parts)).toEqual(csv);
    });
  });

  describe('304', () => {
    it.each<[string, Record<string, string>]>([
      ['names it', { 'if-none-match': etag }],
      ['names it weakly', { 'if-none-match': `W/${etag}` }],
      ['names it among others', { 'if-none-match': `${otherEtag}, ${etag}` }],
      ['names whatever there is', { 'if-none-match': '*' }],
      ['names it and asks for a range', { 'if-none-match': etag, range: 'bytes=0-1' }],
      ['names it and asks for a range beyond the end', { 'if-none-match': etag, range: 'bytes=100000-' }],
      ['asks caches to stay out of it', { 'if-none-match': etag, 'cache-control': 'no-cache' }],
    ])('is sent without a body to a client that has a copy and %s', async (_how, headers) => {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers: sent, bytes } = await download(local, feedId, headers, method);

        expect(status).toBe(304);
        expect(bytes.length).toBe(0);
        expect(sent.get('etag')).toBe(etag);
        const own = { 'cache-control': 'private, no-cache', 'content-security-policy': null };
        expectSecurityHeaders(sent, own);
        expect(sent.get('content-type')).toBeNull();
        expect(sent.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      }
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await local.api.get('/feeds/%E0%A4%A/raw');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each<Record<string, string>>([{}, { 'if-none-match': '*' }, { range: 'bytes=100000-' }])(
      'exposes nothing without a key, with the headers %j',
      async (headers) => {
        const {
          status,
          body,
          headers: sent,
        } = await local.api.withKey('wrong').get(`/feeds/${feedId}/raw`, headers);

        expect(status).toBe(401);
        expect(body).toEqual({ detail: 'Invalid or missing API key' });
        expect(sent.get('etag')).toBeNull();
      },
    );
  });

  describe('404', () => {
    it.each(['FD99999', 'FD1', 'fd00001', 'JV00001', 'upload', '%20'])(
      'does not find the feed %s',
      async (id) => {
        const { status, body } = await local.api.get(`/feeds/${id}/raw`, { 'if-none-match': '*' });

        expect(status).toBe(404);
        expect(body).toEqual({ detail: `Feed ${decodeURIComponent(id)} not found.` });
      },
    );
  });

  describe('416', () => {
    it.each([`bytes=${size}-`, `bytes=${size}-100000`, 'bytes=100000-', 'bytes=-0'])(
      'rejects %s, with the size of the file',
      async (range) => {
        const { status, body, headers } = await local.api.get(`/feeds/${feedId}/raw`, { range });

        expect(status).toBe(416);
        expect(body).toEqual({ detail: `The requested range is not within the ${size} bytes of the file.` });
        expect(headers.get('content-range')).toBe(`bytes */${size}`);
        expect(headers.get('content-type')).toBe('application/json');
      },
    );
  });

  describe('503', () => {
    it('has Retry-After when the local store fails', async () => {
      const broken = await startTestService();
      const { feedId: id } = await broken.api.uploadFeed(csv, partnerName);
      await rm(join(broken.dataDir, 'objects'), { recursive: true });
      await writeFile(join(broken.dataDir, 'objects'), '');

      const { status, body, headers } = await broken.api.get(`/feeds/${id}/raw`);

      expect(status).toBe(503);
      expect(body).toEqual({ detail: 'Service temporarily unavailable' });
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(headers.get('etag')).toBeNull();
    });

    it('has Retry-After when the S3 store is down', async () => {
      const down = openTestS3Store({ endpoint: `http://127.0.0.1:${await closedPort()}` });
      const store = new FileStore(createTestFolder());
      store.get = (key, range) => down.get(key, range);
      const service = await startTestService({ objectStore: store });
      const { feedId: id } = await service.api.uploadFeed(csv, partnerName);

      const { status, headers } = await service.api.get(`/feeds/${id}/raw`);

      expect(status).toBe(503);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    });
  });

  describe('a file that cannot be read to its end', () => {
    it('closes the connection when the store fails midway', async () => {
      const store = new FileStore(createTestFolder());
      const service = await startTestService({ objectStore: store });
      const { feedId: id } = await service.api.uploadFeed(csv, partnerName);
      store.get = () =>
        Promise.resolve(
          Readable.from(
            (async function* () {
              await Promise.resolve();
              yield csv.subarray(0, 10);
              throw new Error('the store went away');
            })(),
          ),
        );

      await expect(download(service, id)).rejects.toThrow();

      // Other downloads are not affected.
      expect((await service.api.get(`/feeds/${id}`)).status).toBe(200);
    });

    it('closes the connection when the object is shorter than the upload', async () => {
      const { feedId: id } = await local.api.uploadFeed(csv, partnerName);
      await truncate(await rawFilePath(local, id), 10);

      await expect(download(local, id)).rejects.toThrow();
      await expect(download(local, id, { range: 'bytes=5-' })).rejects.toThrow();

      expect((await download(local, id, { range: 'bytes=0-9' })).bytes).toEqual(csv.subarray(0, 10));
    });

    it('closes the connection when the object is longer than the upload', async () => {
      const { feedId: id } = await local.api.uploadFeed(csv, partnerName);
      await writeFile(await rawFilePath(local, id), Buffer.concat([csv, csv]));

      await expect(download(local, id)).rejects.toThrow();
    });
  });
});
