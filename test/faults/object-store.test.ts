import type { ApiClient } from '../support/api-client';
import { findBroken } from '../support/service-invariants';
import { S3Front, type S3Fate } from '../support/s3';
import { startTestService, type TestService } from '../support/service';

const csv = `sku,product_name,price\nA,Tent,5\nB,Lamp,7.50\n,No sku,1\n${',Still none,1\n'.repeat(500)}`;
const unavailable = { status: 503, body: { detail: 'Service temporarily unavailable' } };

let front: S3Front;
let service: TestService;
let api: ApiClient;
beforeAll(async () => {
  front = await S3Front.open();
  service = await startTestService({ objectStore: front.store() });
  api = service.api;
});
beforeEach(() => void jest.spyOn(console, 'warn').mockReturnValue());
afterEach(() => {
  front.onRequest = () => 'pass';
});

async function expectIntact(): Promise<void> {
  front.onRequest = () => 'pass';
  const { db, objectStore } = service;
  expect(await findBroken({ db, objectStore, apis: [api] }, { orphans: true })).toEqual([]);
}

describe('the object store', () => {
  it.each<[string, S3Fate]>([
    ['hangs up', 'hang up'],
    ['refuses with 403', { status: 403 }],
    ['refuses with 503', { status: 503 }],
    ['closes the connection during a read and a write', 'cut midway'],
  ])('%s: requests that need it fail, others succeed, and it is used again later', async (what, fate) => {
    const loaded = await api.loadFeed(csv, what);
    const feed = await api.uploadFeed(csv.replace(',5\n', ',6\n'), what);
    front.onRequest = () => fate;

    const upload = await api.upload({ csv, partnerName: what });
    expect(upload).toMatchObject(unavailable);
    expect(upload.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    const run = await api.post(`/jobs/${feed.jobId}/run`);
    expect(run).toMatchObject({
      status: 200,
      body: { status: 'failed', summary: { inserted: 0, updated: 0 } },
    });
    expect(run.body.message).toMatch(
      /^ETL processing failed: The raw file could not be read from object storage\./,
    );
    // A truncated response is an error, never a shorter file.
    const download = await api.get(`/feeds/${feed.feedId}/raw`).catch(() => unavailable);
    expect(download).toMatchObject(unavailable);
    expect((await api.post(`/jobs/${feed.jobId}/plan`)).body.status).toBe('failed');
    const items = [{ product_id: 'PR00001', quantity: 1 }];
    expect((await api.post('/orders', { partner_name: 'Acme', items })).status).toBe(201);
    expect((await api.get(`/products?partner_name=${encodeURIComponent(what)}`)).body.count).toBe(2);
    expect((await api.get('/health')).body).toEqual({ status: 'ok', database: 'connected' });

    await expectIntact();
    const again = await api.post(`/jobs/${feed.jobId}/run`);
    expect(again.body.summary).toMatchObject({ processed: 503, updated: 1, unchanged: 1, skipped: 501 });
    expect((await api.post(`/jobs/${loaded.jobId}/run`)).body.summary).toMatchObject({
      updated: 1,
      unchanged: 1,
    });
    await expectIntact();
  });

  it('is slow: all requests succeed', async () => {
    front.onRequest = () => 'slow';

    const { feedId, job } = await api.loadFeed(csv, 'Slow');

    expect(job.summary).toMatchObject({ processed: 503, inserted: 2 });
    expect((await api.get(`/feeds/${feedId}/raw`)).body).toBe(csv);
    await expectIntact();
  });
});
