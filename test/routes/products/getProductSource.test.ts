import { mkdir, rm } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { requestRunOf } from '../../support/requested-runs';
import { runFeed } from '../../../src/runs/execution/run-feed';
import { createLog } from '../../../src/base/log';
import { anyFeed } from '../../support/arbitrary';
import { casesFor, forgetAll } from '../../support/fuzz';
import { S3Front } from '../../support/s3';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { pruneFiles, sourceIn, sourceWithoutFile } from '../../support/provenance';
import { rawFilePath } from '../../support/stored-uploads';

const head = 'sku,product_name,price';
/** The rows of a file: two lines, non-ASCII, quotes; one is rejected, one is superseded. */
const records = {
  TENT: 'TENT,"Two-person\r\ntent 😀",189.90',
  LAMP: 'LAMP,Lämpchen,"1,024.50"',
  MAT: ' MAT ,"Mat ""7""",',
};
const file = [
  `\uFEFF${head}`,
  'LAMP,superseded,1',
  '',
  records.TENT,
  'BAD,Bad,NA',
  '  ',
  records.LAMP,
  records.MAT,
].join('\r\n');

const serviceOn = {
  'the local store': () => startTestService(),
  S3: async () => startTestService({ objectStore: (await S3Front.open()).store() }),
};

let partners = 0;
const newPartner = () => `Partner ${++partners}`;

async function sourcesOf({ api }: TestService, partnerName: string): Promise<Record<string, unknown>> {
  const query = new URLSearchParams({ partner_name: partnerName, include_withdrawn: 'true', limit: '100' });
  const { items } = (await api.get(`/products?${query.toString()}`)).body as {
    items: { sku: string; product_id: string }[];
  };
  const sources: Record<string, unknown> = {};
  for (const { sku, product_id } of items) {
    const { status, body } = await api.get(`/products/${product_id}/source`);
    expect(status).toBe(200);
    sources[sku] = body as unknown;
  }
  return sources;
}

describe.each(Object.entries(serviceOn))('GET /products/{product_id}/source on %s', (_name, start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });

  it('returns the bytes of the record behind a byte order mark, CRLF, blank lines, and in several lines', async () => {
    const partner = newPartner();
    const { feedId, job } = await service.api.loadFeed(file, partner);

    expect(job.summary).toMatchObject({ inserted: 3, skipped: 2 });
    expect(await sourcesOf(service, partner)).toEqual({
      TENT: sourceIn(feedId, file, records.TENT),
      LAMP: sourceIn(feedId, file, records.LAMP),
      MAT: sourceIn(feedId, file, records.MAT),
    });
  });

  it('returns the record that last changed the product, even if later feeds repeat it', async () => {
    const partner = newPartner();
    const first = await service.api.loadFeed(file, partner);
    await service.api.post(`/jobs/${first.jobId}/run`);
    const second = `${head}\nLAMP,Lamp,2\n${records.TENT}\n`;
    const { feedId, job } = await service.api.loadFeed(second, partner, { collection: 'winter' });

    expect(job.summary).toMatchObject({ updated: 1, unchanged: 1 });
    expect(await sourcesOf(service, partner)).toEqual({
      TENT: sourceIn(first.feedId, file, records.TENT),
      LAMP: sourceIn(feedId, second, 'LAMP,Lamp,2'),
      MAT: sourceIn(first.feedId, file, records.MAT),
    });
  });

  it('returns the record that restored a withdrawn product, and until then the one before', async () => {
    const partner = newPartner();
    const replace = { mode: 'replace' };
    const first = `${head}\nA,Tent,1\nB,Lamp,2\nC,Mat,3\nBAD,Bad,NA\n`;
    const { feedId } = await service.api.loadFeed(first, partner, replace);
    const second = `${head}\nBAD,Bad,NA\nB,Lamp,2\nA,Tent,1\n`;
    await service.api.loadFeed(second, partner, replace);
    const before = await sourcesOf(service, partner);
    const third = await service.api.loadFeed(`${second}C,Mat,3\n`, partner, replace);

    expect(before).toMatchObject({ C: sourceIn(feedId, first, 'C,Mat,3') });
    expect(third.job.summary).toMatchObject({ restored: 1, unchanged: 2 });
    expect(await sourcesOf(service, partner)).toEqual({
      A: sourceIn(feedId, first, 'A,Tent,1'),
      B: sourceIn(feedId, first, 'B,Lamp,2'),
      C: sourceIn(third.feedId, `${second}C,Mat,3\n`, 'C,Mat,3'),
    });
  });

  it('returns the record of a product that was copied directly into the catalog', async () => {
    const { api, db, objectStore } = service;
    const partner = newPartner();
    const unique = file.replace('LAMP,superseded', 'OTHER,superseded');
    const { feedId, jobId } = await api.uploadFeed(unique, partner, { collection: 'summer' });
    const requested = await requestRunOf(db, Number(jobId.slice(2)), { attempts: 1 });
    await runFeed(requested, { db, objectStore, log: createLog('silent'), firstLoadBytes: 0 });

    expect(await sourcesOf(service, partner)).toEqual({
      OTHER: sourceIn(feedId, unique, 'OTHER,superseded,1'),
      TENT: sourceIn(feedId, unique, records.TENT),
      LAMP: sourceIn(feedId, unique, records.LAMP),
      MAT: sourceIn(feedId, unique, records.MAT),
    });
  });

  it('keeps the digests of a file that the service removed, also when it is pruned again', async () => {
    const partner = newPartner();
    const { feedId } = await service.api.loadFeed(file, partner);
    const second = `${head}\n${records.LAMP}\n`;
    await service.api.loadFeed(second, partner);
    const third = `${head}\nLAMP,Lamp,2\n`;
    const last = await service.api.loadFeed(third, partner);

    expect(await pruneFiles(service)).toBeGreaterThanOrEqual(2);
    await pruneFiles(service);

    expect(await sourcesOf(service, partner)).toEqual({
      TENT: sourceWithoutFile(feedId, file, records.TENT, 'kept'),
      LAMP: sourceIn(last.feedId, third, 'LAMP,Lamp,2'),
      MAT: sourceWithoutFile(feedId, file, records.MAT, 'kept'),
    });
    const { rows } = await service.db.raw<{ rows: unknown[] }>(
      'select from source_digests where feed_id = ?',
      [Number(feedId.slice(2))],
    );
    expect(rows).toHaveLength(2);
  });

  it('returns neither the record nor its digest for a missing file', async () => {
    const partner = newPartner();
    const { feedId } = await service.api.loadFeed(`${head}\nA,Tent,1\n`, partner);
    const [key] = await service
      .db('feeds')
      .where('feed_id', Number(feedId.slice(2)))
      .pluck<string[]>('raw_file_object_key');
    await service.objectStore.delete(key!);

    expect(await sourcesOf(service, partner)).toEqual({
      A: sourceWithoutFile(feedId, `${head}\nA,Tent,1\n`, 'A,Tent,1', 'unknown'),
    });
  });

  it('returns only the feed of a product that an earlier release loaded', async () => {
    const partner = newPartner();
    const csv = `${head}\nA,Tent,1\nB,Lamp,2\n`;
    const { feedId } = await service.api.loadFeed(csv, partner);
    const feed = Number(feedId.slice(2));
    await service.db('products').where({ feed_id: feed, sku: 'A' }).update({ record_offset: null });
    const before = await sourcesOf(service, partner);
    // The last release writes no delimiter, and leaves an old offset unchanged.
    await service.db('feeds').where('feed_id', feed).update({ delimiter: null });

    const unknown = sourceWithoutFile(feedId, csv, '', 'unknown');
    expect(before).toEqual({ A: unknown, B: sourceIn(feedId, csv, 'B,Lamp,2') });
    expect(await sourcesOf(service, partner)).toEqual({ A: unknown, B: unknown });
  });
});

describe('GET /products/{product_id}/source', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  it('leads every product of any sequence of feeds to a record that names it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyFeed, { minLength: 1, maxLength: 3 }), async (feeds) => {
        const files = new Map<string, string>();
        for (const csv of feeds) files.set((await service.api.loadFeed(csv)).feedId, csv);
        const sources = await sourcesOf(service, 'Acme Outdoor');
        for (const [sku, source] of Object.entries(sources)) {
          const { feed_id, record_text } = source as { feed_id: string; record_text: string };
          const csv = files.get(feed_id)!;
          expect(source).toEqual(sourceIn(feed_id, csv, record_text));
          const delimiter = /[,;\t]/.exec(csv)![0];
          const [columns]: string[][] = parse(csv, { delimiter, to: 1 });
          const [fields]: string[][] = parse(record_text, { delimiter, relax_quotes: true });
          expect(fields![columns!.indexOf('sku')]!.trim()).toBe(sku);
        }
        await forgetAll(service);
      }),
      casesFor('sources of products', 5),
    );
  });

  it('reads the object store once', async () => {
    const front = await S3Front.open();
    const onS3 = await startTestService({ objectStore: front.store() });
    await onS3.api.loadFeed(file);
    const requests: string[] = [];
    front.onRequest = ({ method }) => {
      requests.push(method);
      return 'pass';
    };

    await onS3.api.get('/products/PR00001/source');

    expect(requests).toEqual(['GET']);
  });

  it.each([{ status: 503 }, 'cut midway'] as const)(
    'is 503 while the object store responds with %j, and then returns the record',
    async (fate) => {
      const front = await S3Front.open();
      const onS3 = await startTestService({ objectStore: front.store() });
      const csv = `${head}\nA,"${'x'.repeat(1000)}",1\n`;
      await onS3.api.loadFeed(csv);
      front.onRequest = () => fate;

      const { status, body, headers } = await onS3.api.get('/products/PR00001/source');
      front.onRequest = () => 'pass';

      expect({ status, body: body as unknown }).toEqual({
        status: 503,
        body: { detail: 'Service temporarily unavailable' },
      });
      expect(headers.get('retry-after')).toBe('5');
      expect((await onS3.api.get('/products/PR00001/source')).status).toBe(200);
    },
  );

  it('is 503 while the local store cannot read the file', async () => {
    const { feedId } = await service.api.loadFeed(`${head}\nX,Tent,1\n`, 'Unreadable');
    const { body } = await service.api.get('/products?sku=X');
    const path = await rawFilePath(service, feedId);
    await rm(path);
    await mkdir(path);

    expect(await service.api.get(`/products/${body.items[0].product_id}/source`)).toMatchObject({
      status: 503,
      body: { detail: 'Service temporarily unavailable' },
    });
  });

  it('does not find a product of another partner, or one that does not exist', async () => {
    await service.api.loadFeed(`${head}\nOWN,Tent,1\n`, 'Own');
    await service.api.loadFeed(`${head}\nTHEIRS,Tent,1\n`, 'Theirs');
    const bound = await withStoredKey(service, 'Own');
    const sourceOf = async (sku: string) => {
      const { body } = await service.api.get(`/products?sku=${sku}`);
      const id = body.items[0].product_id as string;
      return { id, answer: await bound.get(`/products/${id}/source`) };
    };

    expect((await sourceOf('OWN')).answer.status).toBe(200);
    const theirs = await sourceOf('THEIRS');
    expect(theirs.answer).toMatchObject({ status: 404, body: { detail: `Product ${theirs.id} not found.` } });
    for (const id of ['PR99999', 'PR1', 'FD00001', 'x']) {
      expect(await service.api.get(`/products/${id}/source`)).toMatchObject({
        status: 404,
        body: { detail: `Product ${id} not found.` },
      });
    }
  });
});
