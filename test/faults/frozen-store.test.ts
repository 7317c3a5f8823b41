import { s3Limits } from '../../src/base/storage/s3-store';
import type { UploadedFeed } from '../support/api-client';
import { cleanUpMilliseconds } from '../../src/base/storage/object-store';
import { silentServer } from '../support/network';
import { goodCsv } from '../support/requests';
import { S3Front, type S3Request, openTestS3Store } from '../support/s3';
import { otherKey, startTestService, testKey, type TestService } from '../support/service';

const { idleMilliseconds } = s3Limits;
beforeEach(() => {
  // Long enough for a loaded machine: work that is not frozen must not be aborted either.
  jest.replaceProperty(s3Limits, 'idleMilliseconds', 4_000);
  // The SDK announces its retries on the console.
  jest.spyOn(console, 'warn').mockReturnValue();
});

const unavailable = { status: 503, body: { detail: 'Service temporarily unavailable' } };
const largeCsv = goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(500_000);

const forever = () => new Promise<'pass'>(() => undefined);
const isPut = ({ method, url }: S3Request) => method === 'PUT' && !url.includes('uploadId');
const isPart = ({ method, url }: S3Request) => method === 'PUT' && url.includes('uploadId');
const isGet = ({ method, url }: S3Request) => method === 'GET' && url.includes('/raw/');

describe('a store that accepts connections and never responds', () => {
  it.each([
    ['in one piece', goodCsv],
    ['in parts', largeCsv],
  ])('an upload stored %s gets 503', async (_how, csv) => {
    const store = openTestS3Store({ endpoint: `http://127.0.0.1:${await silentServer()}` });
    const { api, db } = await frozenService(store);

    expect(await api.upload({ csv, partnerName: 'Acme' })).toMatchObject(unavailable);
    expect(await db('feeds').select()).toEqual([]);
  });
});

/** A service whose store did not respond at startup, but which accepts requests. */
function frozenService(objectStore: ReturnType<typeof openTestS3Store>): Promise<TestService> {
  jest.spyOn(objectStore, 'prepare').mockResolvedValue();
  return startTestService({ objectStore, concurrentUploads: 1 });
}

describe('a store that freezes', () => {
  let front: S3Front;
  let service: TestService;
  let requests: S3Request[];
  beforeEach(async () => {
    front = await S3Front.open();
    service = await startTestService({
      objectStore: front.store(),
      concurrentUploads: 1,
      concurrentDownloads: 1,
    });
    requests = [];
  });

  const freeze = (isFrozen: (request: S3Request) => boolean, fate: () => 'hold midway' | Promise<'pass'>) =>
    (front.onRequest = (request) => {
      if (!isFrozen(request)) return 'pass';
      requests.push(request);
      return fate();
    });

  it.each([
    ['before it responds to a file', goodCsv, isPut, forever],
    ['in the middle of a file', goodCsv, isPut, () => 'hold midway' as const],
    ['before it responds to a part', largeCsv, isPart, forever],
    ['in the middle of a part', largeCsv, isPart, () => 'hold midway' as const],
    [
      'when the size of the object is requested',
      goodCsv,
      ({ method }: S3Request) => method === 'HEAD',
      forever,
    ],
  ])(
    '%s fails the upload with 503 after one request, and occupies no permit of another caller',
    async (_when, csv, isFrozen, fate) => {
      freeze(isFrozen, fate);

      expect(await service.api.upload({ csv, partnerName: 'Acme' })).toMatchObject(unavailable);

      // Two parts are sent concurrently.
      expect(requests.length).toBeGreaterThan(0);
      expect(requests.length).toBeLessThanOrEqual(csv === largeCsv ? 2 : 1);
      front.onRequest = () => 'pass';
      const others = service.api.withKey(otherKey);
      expect((await others.upload({ csv: goodCsv, partnerName: 'Birch' })).status).toBe(201);
      expect(await service.db('feeds').select()).toHaveLength(1);
      expect(front.unfinished.size).toBe(0);
    },
  );

  it.each([
    ['before it responds', forever],
    ['in the middle of the file', () => 'hold midway' as const],
  ])('%s fails a run with a reason, and the next run succeeds', async (_when, fate) => {
    const feed: UploadedFeed = await service.api.uploadFeed(goodCsv);
    freeze(isGet, fate);

    const { status, body } = await service.api.post(`/jobs/${feed.jobId}/run`);

    expect([status, body.status]).toEqual([200, 'failed']);
    expect(body.message).toContain('The raw file could not be read from object storage.');
    expect(requests).toHaveLength(1);
    front.onRequest = () => 'pass';
    expect((await service.api.post(`/jobs/${feed.jobId}/run`)).body.status).toBe('completed');
  });

  it.each([
    ['before it responds', forever],
    ['in the middle of the file', () => 'hold midway' as const],
  ])('%s occupies no permit of a download of another caller', async (_when, fate) => {
    const { feedId } = await service.api.uploadFeed(goodCsv);
    const path = `/feeds/${feedId}/raw`;
    const download = async (key: string) => {
      const response = await fetch(`${service.url}${path}`, { headers: { 'x-api-key': key } });
      return { status: response.status, text: await response.text() };
    };
    freeze(isGet, fate);

    const outcome = await download(testKey).catch(() => ({ status: 0 }));

    expect([0, 503]).toContain(outcome.status);
    front.onRequest = () => 'pass';
    expect(await download(otherKey)).toEqual({ status: 200, text: goodCsv });
  });
});

it('an upload to a frozen store gets 503 within 30 seconds, clean-up included', () => {
  // The SDK starts to monitor a connection when its request has this age.
  const sdkMilliseconds = 3_000;
  expect(idleMilliseconds + sdkMilliseconds + cleanUpMilliseconds).toBeLessThan(28_000);
});
