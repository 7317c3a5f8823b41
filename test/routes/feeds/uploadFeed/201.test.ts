import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  fieldPart,
  filePart,
  formBody,
  goodCsv,
  partnerPart,
  uploadParts,
  type RawPart,
  OpenUpload,
} from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { rawFilePath, stored, storedFeed } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const numberOf = (id: string) => Number(id.slice(2));

describe('POST /feeds/upload', () => {
  describe('201', () => {
    it('returns the identifiers of the feed and both jobs, and the Location', async () => {
      const { status, body, headers } = await service.api.upload({
        csv: goodCsv,
        partnerName: 'Acme Outdoor',
      });

      expect(status).toBe(201);
      expect(body).toEqual({
        feed_id: expect.stringMatching(/^FD\d{5}$/),
        status: 'processing',
        job_id: expect.stringMatching(/^JS\d{5}$/),
        validation_job_id: expect.stringMatching(/^JV\d{5}$/),
        validation_status: 'queued',
        sha256: createHash('sha256').update(goodCsv).digest('hex'),
        size_bytes: goodCsv.length,
        duplicate_of: null,
      });
      expect(headers.get('location')).toBe(`/feeds/${body.feed_id}`);
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('x-request-id')).toMatch(uuid);
    });

    it('serves the feed at its Location', async () => {
      const { body, headers } = await service.api.upload({ csv: goodCsv, partnerName: 'Acme Outdoor' });

      const feed = await service.api.get(headers.get('location')!);

      expect(feed.status).toBe(200);
      expect(feed.body.feed_id).toBe(body.feed_id);
    });

    it('creates one feed and both jobs', async () => {
      const before = await stored(service);
      const since = Date.now();
      const { body } = await service.api.upload({
        csv: goodCsv,
        partnerName: 'Rows & Sons',
        fileName: 'spring.csv',
      });

      const feedId = numberOf(body.feed_id);
      const key = `raw/partners/rows-sons/feeds/${body.feed_id}/spring.csv`;
      const [partner] = await service.db('partners').where({ partner_name: 'Rows & Sons' });
      const feed = await storedFeed(service, body.feed_id);
      expect(feed).toEqual({
        feed_id: feedId,
        partner_id: partner.partner_id,
        filename: 'spring.csv',
        content_type: 'text/csv',
        status: 'processing',
        uploaded_at: expect.any(Date),
        raw_file_bucket: 'local',
        raw_file_object_key: key,
        sha256: createHash('sha256').update(goodCsv).digest(),
        size_bytes: goodCsv.length,
        mode: 'upsert',
        collection: 'main',
        is_collection_named: false,
        format_name: null,
        format_definition: null,
        source_name: null,
        max_skipped_percent: null,
        max_price_jump_percent: null,
        last_completed_at: null,
        raw_file_removed_at: null,
        delimiter: null,
      });
      expect(feed.uploaded_at.getTime()).toBeGreaterThanOrEqual(since - 1000);
      expect(feed.uploaded_at.getTime()).toBeLessThanOrEqual(Date.now() + 1000);
      expect(await service.db('submission_jobs').where({ feed_id: feedId })).toEqual([
        { job_id: numberOf(body.job_id), feed_id: feedId, created_at: expect.any(Date) },
      ]);
      expect(await service.db('validation_jobs').where({ feed_id: feedId })).toMatchObject([
        { job_id: numberOf(body.validation_job_id), status: 'queued', started_at: null, finished_at: null },
      ]);
      const after = await stored(service);
      expect(after.feeds).toEqual([...before.feeds, feedId]);
      expect(after.partners).toEqual([...before.partners, partner.partner_id]);
      expect(after.files).toEqual([...before.files, `objects/local/${key}`].sort());
    });

    it('loads no product', async () => {
      const { body } = await service.api.upload({ csv: goodCsv, partnerName: 'Nothing yet' });

      expect(await service.db('products').where({ feed_id: numberOf(body.feed_id) })).toEqual([]);
    });

    it('stores the file byte for byte', async () => {
      const csv = Buffer.from(
        '\ufeffsku;product_name\r\n1;"Zelt ""Größe""\r\nzwei"\r\n\r\n; ;\r\n2;€\t😀',
        'utf8',
      );

      const { body } = await service.api.upload({ csv, partnerName: 'Acme Outdoor' });

      expect(await readFile(await rawFilePath(service, body.feed_id))).toEqual(csv);
    });

    it('accepts a file of 20 MB', async () => {
      const row = Buffer.from(`SKU-1,"A tent, ${'é'.repeat(80)}",12.50\n`);
      const csv = Buffer.concat([
        Buffer.from('sku,product_name,price\n'),
        ...Array<Buffer>(Math.ceil(20e6 / row.length)).fill(row),
      ]);

      const { status, body } = await service.api.upload({ csv, partnerName: 'Acme Outdoor' });

      expect(status).toBe(201);
      const kept = await readFile(await rawFilePath(service, body.feed_id));
      expect(kept.length).toBe(csv.length);
      expect(createHash('sha256').update(kept).digest('hex')).toBe(
        createHash('sha256').update(csv).digest('hex'),
      );
    });

    it("accepts the file before partner_name, and stores it under the feed's key only", async () => {
      const before = await stored(service);

      const { status, body } = await uploadParts(service.api, filePart(), partnerPart('File First'));

      expect(status).toBe(201);
      const path = `objects/local/raw/partners/file-first/feeds/${body.feed_id}/feed.csv`;
      expect((await stored(service)).files).toEqual([...before.files, path].sort());
      expect(await readFile(await rawFilePath(service, body.feed_id), 'utf8')).toBe(goodCsv);
    });

    const image = { name: 'photo', fileName: 'photo.png', mediaType: 'image/png' };
    const ignored: [string, RawPart][] = [
      ['a field', fieldPart('comment', 'Hello')],
      ['an empty field', fieldPart('comment', '')],
      [
        'a field in JSON',
        {
          ...fieldPart('meta', '{}'),
          headers: [...fieldPart('meta', '').headers, 'Content-Type: application/json'],
        },
      ],
      ['a field of a megabyte', fieldPart('comment', 'x'.repeat(1_000_000))],
      ['another file', filePart(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff]), image)],
      ['an empty file', filePart('', image)],
      ['a file of two megabytes', filePart(Buffer.alloc(2_000_000, 0xff), image)],
      ['a name in another case', fieldPart('Partner_Name', 'Birch & Sons')],
      ['a part without a name', { headers: ['Content-Disposition: form-data'], content: 'x' }],
      ['a part without a disposition', { headers: ['X-Header: 1'], content: 'x' }],
    ];
    it.each(ignored)('ignores other parts: %s', async (_what, part) => {
      const { status, body } = await uploadParts(service.api, part, partnerPart(), part, filePart(), part);

      expect(status).toBe(201);
      const { filename, content_type } = await storedFeed(service, body.feed_id);
      expect({ filename, content_type }).toEqual({ filename: 'feed.csv', content_type: 'text/csv' });
      expect(await readFile(await rawFilePath(service, body.feed_id), 'utf8')).toBe(goodCsv);
    });

    it('accepts a form that arrives byte by byte', async () => {
      const upload = new OpenUpload(service);
      for (const byte of formBody([
        partnerPart('Byte by Byte €'),
        filePart('sku,product_name\n1,Zelt ä€😀\n'),
      ])) {
        await upload.write(Uint8Array.of(byte));
        // The service reads the received bytes before the next one is sent.
        await new Promise((resolve) => setImmediate(resolve));
      }
      upload.end();

      const { status, body } = await upload.response;

      expect(status).toBe(201);
      expect(await readFile(await rawFilePath(service, body.feed_id), 'utf8')).toBe(
        'sku,product_name\n1,Zelt ä€😀\n',
      );
    });

    it('assigns concurrent uploads distinct identifiers and objects', async () => {
      const before = await stored(service);
      const uploads = Array.from({ length: 20 }, (_, n) => ({
        csv: `sku,product_name\n${n},Product ${n}\n`,
        // Half of them create the same new partner.
        partnerName: n % 2 === 0 ? 'At Once' : `At Once ${n}`,
      }));

      const responses = await Promise.all(uploads.map((upload) => service.api.upload(upload)));

      expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201));
      for (const field of ['feed_id', 'job_id', 'validation_job_id']) {
        expect(new Set(responses.map(({ body }) => body[field] as string)).size).toBe(20);
      }
      const files = await Promise.all(
        responses.map(async ({ body }) => readFile(await rawFilePath(service, body.feed_id), 'utf8')),
      );
      expect(files).toEqual(uploads.map(({ csv }) => csv));
      const after = await stored(service);
      expect(after.partners.length).toBe(before.partners.length + 11);
      expect(after.feeds.length).toBe(before.feeds.length + 20);
      expect(after.submissionJobs.length).toBe(before.submissionJobs.length + 20);
      expect(after.validationJobs.length).toBe(before.validationJobs.length + 20);
      expect(after.files.length).toBe(before.files.length + 20);
    });

    it('continues with six digits after 99999', async () => {
      const other = await startTestService();
      await other.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 99998)");
      await other.db.raw("select setval(pg_get_serial_sequence('submission_jobs', 'job_id'), 99999)");

      const first = await other.api.uploadFeed(goodCsv);
      const second = await other.api.uploadFeed(goodCsv);

      expect(first).toEqual({ feedId: 'FD99999', submissionJobId: 'JS100000', jobId: 'JV00001' });
      expect(second).toEqual({ feedId: 'FD100000', submissionJobId: 'JS100001', jobId: 'JV00002' });
      for (const path of ['/feeds/FD100000', '/jobs/JS100001', '/jobs/JV00002']) {
        expect(await other.api.get(path)).toMatchObject({ status: 200, body: { feed_id: 'FD100000' } });
      }
    });

    it("returns the caller's own request id", async () => {
      const form = new FormData();
      form.set('partner_name', 'Acme Outdoor');
      form.set('file', new Blob([goodCsv], { type: 'text/csv' }), 'feed.csv');

      const { headers } = await service.api.send('POST', '/feeds/upload', {
        headers: { 'x-request-id': 'my-upload_1.0' },
        body: form,
      });

      expect(headers.get('x-request-id')).toBe('my-upload_1.0');
    });
  });
});
