import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { recoverRuns } from '../../../src/runs/queue/recovery';
import type { ApiClient, ApiResponse } from '../../support/api-client';
import { findBroken } from '../../support/service-invariants';
import { filePart, formBody, formType, partnerPart, uploadParts } from '../../support/requests';
import { PostgresProxy, type DatabaseCall, type Fate } from '../../support/postgres-proxy';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
let api: ApiClient;
let proxy: PostgresProxy;
beforeAll(async () => {
  service = await startTestService({
    reachDatabase: async (address) => {
      proxy = await PostgresProxy.to(address);
      return proxy.address;
    },
  });
  api = service.api;
  await api.loadFeed('sku,product_name,price\nTENT-2,Tent,189.90\n', 'Orders');
});

async function expectIntact(): Promise<void> {
  // Periodic calls of every process.
  await recoverRuns(service.db);
  await rollUpSales(service.db);
  const system = { db: service.db, objectStore: service.objectStore, apis: [api] };
  expect(await findBroken(system, { orphans: true })).toEqual([]);
}

const csv = 'sku,product_name,price\nA,Tent,5\nB,Lamp,7.50\n,No sku,1\n';
const order = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 2 }] };
const unavailable = { status: 503, body: { detail: 'Service temporarily unavailable' } };
let partners = 0;
const newPartner = () => `Partner ${++partners}`;

/** A task: `send` is the client's work, repeated on failure; `check` verifies the result. */
interface Work {
  prepare?: () => Promise<string>;
  send: (target: string) => Promise<ApiResponse>;
  check: (answer: ApiResponse) => void;
  /** Creates one resource at a time. */
  creates?: 'feeds' | 'orders';
  /** Created resources, also after a repetition. */
  createsOnce?: true;
}

const works: [string, Work][] = [
  [
    'an upload whose file comes first',
    {
      creates: 'feeds',
      send: () => uploadParts(api, filePart(csv), partnerPart(newPartner())),
      check: ({ status }) => expect(status).toBe(201),
    },
  ],
  [
    'a run',
    {
      prepare: async () => (await api.uploadFeed(csv, newPartner())).jobId,
      send: (jobId) => api.post(`/jobs/${jobId}/run`),
      check({ status, body }) {
        expect({ status, job: body.status }).toEqual({ status: 200, job: 'completed' });
        const { processed, skipped, withdrawn, restored, inserted, unchanged } = body.summary as Record<
          string,
          number
        >;
        expect({ processed, skipped, withdrawn, restored, loaded: inserted! + unchanged! }).toEqual({
          processed: 3,
          skipped: 1,
          withdrawn: 0,
          restored: 0,
          loaded: 2,
        });
      },
    },
  ],
  [
    'an order',
    {
      creates: 'orders',
      send: () => api.post('/orders', order),
      check: ({ status, body }) =>
        expect({ status, total: body.total_amount }).toEqual({ status: 201, total: 379.8 }),
    },
  ],
];

let keys = 0;
/** All attempts have one key: the response of the first may be replayed. */
const keyed: [string, Work][] = [
  [
    'an order with an Idempotency-Key',
    {
      prepare: () => Promise.resolve(`order ${++keys}`),
      creates: 'orders',
      createsOnce: true,
      send: (key) => api.post('/orders', order, { 'idempotency-key': key }),
      check: ({ status, body }) =>
        expect({ status, total: body.total_amount }).toEqual({ status: 201, total: 379.8 }),
    },
  ],
  [
    'an upload with an Idempotency-Key',
    {
      prepare: () => Promise.resolve(`upload ${++keys}`),
      creates: 'feeds',
      createsOnce: true,
      send: (key) =>
        api.send('POST', '/feeds/upload', {
          headers: { 'content-type': formType, 'idempotency-key': key },
          body: formBody([partnerPart(key), filePart(csv)]),
        }),
      check: ({ status }) => expect(status).toBe(201),
    },
  ],
];

/** Makes the call with this number fail; health checks do not count. @returns the number of calls */
function failCall(number: number, fate: Fate): { calls: DatabaseCall[] } {
  const seen = { calls: [] as DatabaseCall[] };
  proxy.onCall = (call) => {
    if (!['api', 'upload keys'].includes(call.applicationName)) return 'pass';
    seen.calls.push(call);
    return seen.calls.length === number ? fate : 'pass';
  };
  return seen;
}

/** Does the work on new connections, with one call failing, and then without. */
async function doWithFailure(
  { prepare, send, check, creates, createsOnce }: Work,
  number: number,
  fate: Fate,
) {
  proxy.onCall = () => 'pass';
  const target = (await prepare?.()) ?? '';
  const count = async () => (creates ? (await service.db(creates)).length : 0);
  const before = await count();
  await proxy.hangUp();
  const seen = failCall(number, fate);
  const answer = await send(target);
  const isReached = seen.calls.length >= number;
  proxy.onCall = () => 'pass';
  // After a lost statement nothing is stored; after a lost response that is unknown.
  if (creates && fate === 'lose') expect((await count()) - before).toBe(answer.status === 503 ? 0 : 1);
  const retry = async () => {
    check(await send(target));
    if (createsOnce) expect((await count()) - before).toBe(1);
  };
  return { answer, isReached, retry };
}

/** Allowed responses: success, a failed run, or a request to retry. */
function expectClearAnswer({ status, body, headers }: ApiResponse): void {
  if (status === 503) {
    expect({ status, body }).toEqual(unavailable);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  } else expect([200, 201]).toContain(status);
}

describe.each<[string, Fate]>([
  ['before the server gets it', 'lose'],
  ['after the server has done it', 'lose answer'],
])('the connection to PostgreSQL is lost at the Nth call, %s, for every N', (_when, fate) => {
  it.each([...works, ...keyed])(
    '%s gets a clear response, leaves consistent data, and can be retried',
    async (_what, work) => {
      for (let number = 1; ; number++) {
        const { answer, isReached, retry } = await doWithFailure(work, number, fate);
        try {
          expectClearAnswer(answer);
          await expectIntact();
          await retry();
        } catch (error) {
          throw new Error(`call ${number}: ${(error as Error).message}`, { cause: error });
        }
        if (!isReached) {
          expect(number).toBeGreaterThan(2);
          return work.check(answer);
        }
      }
    },
  );
});
