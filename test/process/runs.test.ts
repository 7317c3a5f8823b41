import { openDatabase } from '../../src/db/database';
import { limits } from '../../src/limits';
import { afterFile } from '../support/after-file';
import type { ApiResponse } from '../support/api-client';
import { eventually } from '../support/eventually';
import { HeldProducts } from '../support/held-products';
import { embeddedAddress, startUsedService } from '../support/process';

const concurrentRuns = 2;

describe('while as many runs go on as one process works on', () => {
  it('a second run of a job is refused at once, of one that waits for its turn too; plans wait too, and none is lost; those for which there is no room are refused', async () => {
    const { api, dataDir } = await startUsedService({ MAX_CONCURRENT_RUNS: String(concurrentRuns) });
    const feeds = await Promise.all(
      Array.from({ length: concurrentRuns + 2 }, (_, at) =>
        api.uploadFeed('sku,product_name\nA,A\n', `Partner ${at}`),
      ),
    );
    const held = await HeldProducts.of(embeddedAddress(dataDir));
    const run = (at: number) => api.post(`/jobs/${feeds[at]!.jobId}/run`);
    const first = feeds.slice(0, concurrentRuns).map((_, at) => run(at));
    await eventually('all of them wait for the products', async () => {
      const states = await Promise.all(feeds.map(async ({ feedId }) => api.get(`/feeds/${feedId}`)));
      return states.filter(({ body }) => body.status === 'validated').length === concurrentRuns;
    });

    const refused = await run(0);
    // One of them waits for its turn, and the other is told so.
    const waiting = [run(concurrentRuns), run(concurrentRuns)];
    const early = await Promise.race(waiting);
    const { body: job } = await api.get(`/jobs/${feeds[concurrentRuns]!.jobId}`);

    expect([refused.status, refused.body]).toEqual([
      409,
      { detail: `Job ${feeds[0]!.jobId} is already running.` },
    ]);
    expect([early.status, early.body]).toEqual([
      409,
      { detail: `Job ${feeds[concurrentRuns]!.jobId} is already running.` },
    ]);
    expect(job.status).toBe('queued');
    const answers: ApiResponse[] = [];
    const beyond = 3;
    const plans = Array.from({ length: limits.waitingRuns - 1 + beyond }, async () => {
      const answer = await api.post(`/jobs/${feeds[1]!.jobId}/plan`);
      answers.push(answer);
      return answer;
    });
    await eventually('those for which there is no room are refused', () => answers.length === beyond);
    const runBeyond = await run(concurrentRuns + 1);
    for (const { status, headers, body } of [...answers, runBeyond]) {
      expect([status, body]).toEqual([503, { detail: 'Service temporarily unavailable' }]);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect((await api.get(`/jobs/${feeds[concurrentRuns + 1]!.jobId}`)).body.status).toBe('queued');
    await held.release();
    expect((await Promise.all(first)).map(({ body }) => body.summary.inserted as number)).toEqual(
      first.map(() => 1),
    );
    expect((await Promise.all(waiting)).map(({ status }) => status).sort()).toEqual([200, 409]);
    const planned = (await Promise.all(plans)).filter(({ status }) => status === 200);
    expect(planned.map(({ body }) => body.summary.processed as number)).toEqual(
      Array.from({ length: limits.waitingRuns - 1 }, () => 1),
    );
    expect((await run(concurrentRuns + 1)).body.status).toBe('completed');
  });
});

it('the runs of one partner leave room for those of another', async () => {
  const { api, dataDir } = await startUsedService({
    MAX_CONCURRENT_RUNS: '2',
    MAX_CONCURRENT_RUNS_PER_PARTNER: '1',
  });
  const csv = 'sku,product_name\nA,A\n';
  const [one, another] = [await api.uploadFeed(csv, 'Busy'), await api.uploadFeed(csv, 'Busy')];
  const other = await api.uploadFeed(csv, 'Other');
  const db = openDatabase(embeddedAddress(dataDir), { applicationName: 'test', connectionsMax: 1 });
  afterFile(() => db.destroy());
  const held = await db.transaction();
  await held('partners').where('partner_name', 'Busy').forUpdate().select('partner_id');
  const ofBusy = [one, another].map(({ jobId }) => api.post(`/jobs/${jobId}/run`));
  const states = async () =>
    Promise.all(
      [one, another].map(async ({ jobId }) => (await api.get(`/jobs/${jobId}`)).body.status as string),
    );
  await eventually('one of them is at work', async () => (await states()).includes('running'));

  const { body } = await api.post(`/jobs/${other.jobId}/run`);

  expect(body.status).toBe('completed');
  expect((await states()).sort()).toEqual(['queued', 'running']);
  await held.rollback();
  for (const answer of ofBusy) expect((await answer).body.status).toBe('completed');
});
