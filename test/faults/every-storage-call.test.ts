import { Readable } from 'node:stream';
import { FileStore } from '../../src/base/storage/file-store';
import { StorageError, type ObjectStore } from '../../src/base/storage/object-store';
import type { ApiClient, ApiResponse } from '../support/api-client';
import { createTestFolder } from '../support/harness';
import { ofMatrix } from '../support/matrix';
import { findBroken } from '../support/service-invariants';
import { filePart, partnerPart, uploadParts } from '../support/requests';
import { S3Front, type S3Fate } from '../support/s3';
import { startTestService, type TestService } from '../support/service';

const csv = 'sku,product_name,price\nA,Tent,5\nB,Lamp,7.50\n,No sku,1\n';
/** Two parts of an S3 upload. */
const largeCsv = csv + `,${'x'.repeat(10_000)},1\n`.repeat(530);
const order = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 2 }] };

/** A service on a store whose calls can be made to fail. */
interface Subject {
  service: TestService;
  api: ApiClient;
  /** The store without injected failures. */
  objectStore: ObjectStore;
  /** Gives calls from this number on this fate; 0 restores the store. @returns a function that returns the number of calls */
  failFrom(number: number, fate: string): () => number;
}

async function localSubject(): Promise<Subject> {
  const objectStore = new FileStore(createTestFolder());
  let onCall: () => string = () => 'pass';
  const failing = new Proxy(objectStore, {
    get(store, name: keyof FileStore) {
      const value: unknown = Reflect.get(store, name);
      if (typeof value !== 'function' || !['put', 'get', 'move', 'delete'].includes(name)) return value;
      return async (...given: unknown[]) => {
        const fate = onCall();
        const fail = () => new StorageError(`${name}: ${fate}`, false, undefined);
        if (fate === 'fails') throw fail();
        const result = await (value as (...args: unknown[]) => Promise<unknown>).apply(store, given);
        if (fate === 'succeeds and then fails') {
          if (result instanceof Readable) result.destroy();
          throw fail();
        }
        return result;
      };
    },
  });
  const service = await startTestService({ objectStore: failing });
  return {
    service,
    api: service.api,
    objectStore,
    failFrom(number, fate) {
      let calls = 0;
      onCall = () => (++calls === number ? fate : 'pass');
      return () => calls;
    },
  };
}

async function s3Subject(): Promise<Subject> {
  const front = await S3Front.open();
  const service = await startTestService({ objectStore: front.store() });
  const fates: Record<string, { fate: S3Fate; once: boolean }> = {
    'is rejected (403)': { fate: { status: 403 }, once: true },
    'is rejected (503), and all that follow': { fate: { status: 503 }, once: false },
    'is cut off in its middle, and all that follow': { fate: 'cut midway', once: false },
    'is cut off': { fate: 'hang up', once: true },
    'loses its response': { fate: 'lose answer', once: true },
  };
  return {
    service,
    api: service.api,
    objectStore: service.objectStore,
    failFrom(number, name) {
      const { fate, once } = fates[name] ?? { fate: 'pass', once: true };
      let calls = 0;
      front.onRequest = () => {
        calls++;
        return (once ? calls === number : calls >= number) ? fate : 'pass';
      };
      return () => calls;
    },
  };
}

/** Failures without visible effect: the SDK retries the request. */
const cutOnce = new Set(['is cut off', 'loses its response']);

let partners = 0;
const newPartner = () => `Partner ${++partners}`;
const unavailable = { detail: 'Service temporarily unavailable' };

/** A client's work with the service, which it repeats on failure. */
interface Work {
  prepare?: (subject: Subject) => Promise<string>;
  send: (subject: Subject, target: string) => Promise<ApiResponse>;
  check: (answer: ApiResponse) => void;
  /** The expected response when the store fails permanently. */
  failure: (answer: ApiResponse) => void;
}

function expectUnavailable({ status, body, headers }: ApiResponse): void {
  expect({ status, body }).toEqual({ status: 503, body: unavailable });
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

const upload = (content: string): Work => ({
  send: ({ api }) => uploadParts(api, filePart(content), partnerPart(newPartner())),
  check: ({ status }) => expect(status).toBe(201),
  failure: expectUnavailable,
});

const run: Work = {
  prepare: async ({ api }) => (await api.uploadFeed(csv, newPartner())).jobId,
  send: ({ api }, jobId) => api.post(`/jobs/${jobId}/run`),
  check({ status, body }) {
    expect({ status, job: body.status }).toEqual({ status: 200, job: 'completed' });
    expect(body.summary).toMatchObject({ processed: 3, skipped: 1 });
  },
  failure({ status, body }) {
    expect({ status, job: body.status }).toEqual({ status: 200, job: 'failed' });
    expect(body.message).toMatch(/^ETL processing failed: The raw file could not be read/);
  },
};

const download: Work = {
  prepare: async ({ api }) => (await api.uploadFeed(csv, newPartner())).feedId,
  send: ({ api }, feedId) => api.get(`/feeds/${feedId}/raw`),
  check: ({ status, body }) => expect({ status, body: body as unknown }).toEqual({ status: 200, body: csv }),
  failure: expectUnavailable,
};

const source: Work = {
  prepare: async ({ api }) => {
    const { feedId } = await api.loadFeed(csv, newPartner());
    return (await api.get(`/products/by-feed/${feedId}`)).body.items[1].product_id as string;
  },
  send: ({ api }, productId) => api.get(`/products/${productId}/source`),
  check: ({ status, body }) =>
    expect({ status, text: body.record_text as unknown }).toEqual({ status: 200, text: 'B,Lamp,7.50' }),
  failure: expectUnavailable,
};

const createOrder: Work = {
  prepare: async ({ api }) => {
    await api.loadFeed(csv);
    return '';
  },
  send: ({ api }) => api.post('/orders', order),
  check: ({ status }) => expect(status).toBe(201),
  failure: () => fail('An order has nothing to do with the store.'),
};

async function expectIntact({ service, api, objectStore }: Subject): Promise<void> {
  expect(await findBroken({ db: service.db, objectStore, apis: [api] }, { orphans: true })).toEqual([]);
}

/** Does the work once per call with that call failing, and repeats it without failure. @returns the calls */
async function failEvery(subject: Subject, work: Work, fate: string): Promise<number> {
  for (let number = 1; ; number++) {
    subject.failFrom(0, 'none');
    const target = (await work.prepare?.(subject)) ?? '';
    const calls = subject.failFrom(number, fate);
    const answer = await work.send(subject, target);
    const isReached = calls() >= number;
    subject.failFrom(0, 'none');
    if (!isReached) {
      work.check(answer);
      return number - 1;
    }
    try {
      // Failures of some calls have no effect.
      if (cutOnce.has(fate)) work.check(answer);
      else if (answer.status >= 300 || answer.body.status === 'failed') work.failure(answer);
      await expectIntact(subject);
      work.check(await work.send(subject, target));
    } catch (error) {
      throw new Error(`call ${number}: ${(error as Error).message}`, { cause: error });
    }
  }
}

describe('the Nth call of the local store', () => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await localSubject();
  });

  describe.each(['fails', 'succeeds and then fails'])('%s, for every N', (fate) => {
    it.each<[string, Work, number]>([
      ['an upload', upload(csv), 2],
      ['a run', run, 1],
      ['a download', download, 1],
      ['the source of a product', source, 1],
      ['an order', createOrder, 0],
    ])('%s gets a clear response, leaves consistent data, and can be retried', async (_what, work, calls) => {
      expect(await failEvery(subject, work, fate)).toBe(calls);
    });
  });
});

describe('the Nth request to S3', () => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await s3Subject();
  });
  beforeEach(() => void jest.spyOn(console, 'warn').mockReturnValue());

  describe.each(
    ofMatrix<[string]>(
      [
        ['is rejected (403)'],
        ['is rejected (503), and all that follow'],
        ['is cut off in its middle, and all that follow'],
        ['is cut off'],
        ['loses its response'],
      ],
      'is rejected (403)',
      'is cut off in its middle, and all that follow',
      'loses its response',
    ),
  )('%s, for every N', (fate) => {
    it.each<[string, Work, number]>([
      // Put, head, copy, delete.
      ['an upload', upload(csv), 4],
      ['a run', run, 1],
      ['the source of a product', source, 1],
    ])('%s gets a clear response, leaves consistent data, and can be retried', async (_what, work, calls) => {
      expect(await failEvery(subject, work, fate)).toBe(calls);
    });
  });

  it('is rejected (403), for every N of an upload in parts: it gets a clear response, leaves consistent data, and can be retried', async () => {
    // Create, two parts and complete, instead of the put.
    expect(await failEvery(subject, upload(largeCsv), 'is rejected (403)')).toBe(7);
  });
});
