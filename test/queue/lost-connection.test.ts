import { failInterruptedRuns } from '../../src/jobs/left-runs.repository';
import { ApiClient } from '../support/api-client';
import { eventually } from '../support/eventually';
import { PostgresProxy, type DatabaseCall } from '../support/postgres-proxy';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
let api: ApiClient;
let proxy: PostgresProxy;
beforeAll(async () => {
  service = await startTestService({
    queuedRuns: 1,
    reachDatabase: async (address) => {
      proxy = await PostgresProxy.to(address);
      return proxy.address;
    },
  });
  api = new ApiClient(service.url, testKey);
});

const csv = 'sku,product_name\nA,A\n';
const run = (jobId: string, seconds: number) =>
  api.post(`/jobs/${jobId}/run`, undefined, { prefer: `respond-async, wait=${seconds}` });

/** Cuts the connection on which the queue is told that something is done, once. @returns when that has happened */
function loseNextEnd(): Promise<void> {
  return new Promise((resolve) => {
    const isEnd = ({ applicationName, sql }: DatabaseCall) =>
      applicationName === 'queue' && /^with j as \(\s*delete from/.test(sql);
    proxy.onCall = (call) => {
      if (!isEnd(call)) return 'pass';
      proxy.onCall = () => 'pass';
      resolve();
      return 'lose';
    };
  });
}

/** Has what was taken from the queue have been taken long ago, as it seems to those who look for what was left. */
const age = () =>
  service.db.raw(
    `with job as (
       update graphile_worker._private_jobs set locked_at = now() - interval '2 minutes' where locked_at is not null
     )
     update graphile_worker._private_job_queues set locked_at = now() - interval '2 minutes' where locked_at is not null`,
  );

const waiting = () => service.db('graphile_worker.jobs').pluck('key');

describe('the end of a piece of work of which the queue does not learn', () => {
  it('does not end the work on queued runs', async () => {
    const first = await api.uploadFeed(csv, 'First');
    const second = await api.uploadFeed(csv, 'Second');
    const lost = loseNextEnd();

    const { body } = await run(first.jobId, 30);
    await lost;

    expect(body.status).toBe('completed');
    expect((await run(second.jobId, 60)).body.status).toBe('completed');
    // The first one is still there, and done.
    await age();
    await failInterruptedRuns(service.db);
    await eventually('nothing waits', async () => (await waiting()).length === 0, 30);
    expect((await api.get(`/jobs/${first.jobId}`)).body).toEqual(body);
  });
});
