import { eventually } from '../../support/harness';
import type { ApiResponse, UploadedFeed } from '../../support/api-client';
import { HeldProducts } from '../../support/runs-in-flight';
import { createTestDatabase, databaseUrl, type TestDatabase } from '../../support/databases';
import { startService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';
import { waitingRuns } from '../../../src/runs/execution/worker';

const concurrentRuns = 2;
const csv = 'sku,product_name\nA,A\n';

let service: ServiceProcess;
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({
    env: {
      DATABASE_URL: databaseUrl(database.address),
      API_KEYS: testKey,
      MAX_CONCURRENT_RUNS: String(concurrentRuns),
    },
  });
});

let partners = 0;
/** Occupies all run slots of the service by blocked runs, one per partner. */
async function occupy() {
  const { api } = service;
  const test = ++partners;
  const upload = (partner: string) => api.uploadFeed(csv, `${partner} of ${test}`);
  const feeds = await Promise.all(Array.from({ length: concurrentRuns }, (_, at) => upload(`Busy ${at}`)));
  const held = await HeldProducts.of(database.address);
  const run = ({ jobId }: UploadedFeed) => api.post(`/jobs/${jobId}/run`);
  const stateOf = async ({ jobId }: UploadedFeed) => (await api.get(`/jobs/${jobId}`)).body;
  const runs = feeds.map(run);
  await eventually('all of them wait for the products', async () => {
    const states = await Promise.all(feeds.map(async ({ feedId }) => api.get(`/feeds/${feedId}`)));
    return states.every(({ body }) => body.status === 'validated');
  });
  const waits = (feed: UploadedFeed) =>
    eventually('the run waits', async () => {
      const { status, message } = await stateOf(feed);
      return status === 'queued' && (message as string).includes('It starts automatically');
    });
  return { api, upload, feeds, held, run, runs, stateOf, waits };
}

/** Sends `count` requests, and waits for the responses of those without room. @returns all, and these */
async function flood(count: number, refusals: number, send: () => Promise<ApiResponse>) {
  const refused: ApiResponse[] = [];
  const all = Array.from({ length: count }, async () => {
    const answer = await send();
    refused.push(answer);
    return answer;
  });
  await eventually('those for which there is no room are refused', () => refused.length === refusals);
  for (const { status, headers, body } of refused) {
    expect([status, body]).toEqual([503, { detail: 'Service temporarily unavailable' }]);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  return all;
}

describe('while all run slots of a process are in use', () => {
  it('a waiting run shows that it waits, and a second request gets 409 with waiting or running', async () => {
    const { upload, feeds, held, run, runs, stateOf, waits } = await occupy();
    const feed = await upload('Waits');
    const waiting = run(feed);
    await waits(feed);

    const again = await Promise.all([run(feed), run(feeds[0]!)]);

    expect(again.map(({ status, body }) => [status, body.detail])).toEqual([
      [409, `A run of job ${feed.jobId} is already queued.`],
      [409, `Job ${feeds[0]!.jobId} is already running.`],
    ]);
    expect((await stateOf(feed)).status).toBe('queued');
    await held.release();
    for (const { body } of await Promise.all([...runs, waiting])) expect(body.summary.inserted).toBe(1);
  });

  it('a waiting run can be cancelled, and its client gets the response at once', async () => {
    const { api, upload, held, run, stateOf, waits } = await occupy();
    const feed = await upload('Cancelled');
    const before = (await stateOf(feed)) as unknown;
    const waiting = run(feed);
    await waits(feed);

    const { status, body } = await api.post(`/jobs/${feed.jobId}/cancel`);

    expect([status, body]).toEqual([200, before]);
    expect(await waiting).toMatchObject({
      status: 409,
      body: { detail: `The run of job ${feed.jobId} was cancelled before it started.` },
    });
    await held.release();
    expect(await stateOf(feed)).toEqual(before);
  });

  it('plans of one partner take at most half of the waiting places: a run of another partner is not rejected', async () => {
    const { api, upload, feeds, held, run, waits } = await occupy();
    const share = (waitingRuns + concurrentRuns) / 2;
    const plans = await flood(share + 3, 3, () => api.post(`/jobs/${feeds[1]!.jobId}/plan`));
    const other = await upload('Other');

    const waiting = run(other);

    await waits(other);
    await held.release();
    expect((await waiting).body.status).toBe('completed');
    const planned = (await Promise.all(plans)).filter(({ status }) => status === 200);
    expect(planned.map(({ body }) => body.summary.processed as number)).toEqual(
      Array.from({ length: share }, () => 1),
    );
  });

  it('runs of one partner take at most half of the waiting places; rejected ones are not requested', async () => {
    const { upload, held, run, stateOf, waits } = await occupy();
    const share = (waitingRuns + concurrentRuns) / 2;
    const many: UploadedFeed[] = [];
    while (many.length < share + 2) many.push(await upload('Many'));
    const next = many.values();
    const runs = await flood(many.length, 2, () => run(next.next().value!));
    const other = await upload('Other');

    const waiting = run(other);

    await waits(other);
    const notes = await Promise.all(many.map(async (feed) => (await stateOf(feed)).message as string));
    expect(notes.filter((note) => note.includes('It starts automatically'))).toHaveLength(share);
    await held.release();
    expect((await waiting).body.status).toBe('completed');
    expect((await Promise.all(runs)).filter(({ status }) => status === 200)).toHaveLength(share);
  });
});

it('the runs of one partner leave places for runs of another', async () => {
  const { address, db } = await createTestDatabase();
  const { api } = await startService({
    env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey, MAX_CONCURRENT_RUNS: '4' },
  });
  const feeds: UploadedFeed[] = [];
  while (feeds.length < 3) feeds.push(await api.uploadFeed(csv, 'Busy'));
  const other = await api.uploadFeed(csv, 'Other');
  const held = await db.transaction();
  await held('partners').where('partner_name', 'Busy').forUpdate().select('partner_id');
  const ofBusy = feeds.map(({ jobId }) => api.post(`/jobs/${jobId}/run`));
  const states = async () =>
    Promise.all(feeds.map(async ({ jobId }) => (await api.get(`/jobs/${jobId}`)).body.status as string));
  const twoRun = ['queued', 'running', 'running'];
  await eventually('two of them run', async () => expect((await states()).sort()).toEqual(twoRun));

  const { body } = await api.post(`/jobs/${other.jobId}/run`);

  expect(body.status).toBe('completed');
  expect((await states()).sort()).toEqual(twoRun);
  await held.rollback();
  for (const answer of ofBusy) expect((await answer).body.status).toBe('completed');
});
