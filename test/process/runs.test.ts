import { limits } from '../../src/config';
import { eventually } from '../support/eventually';
import { HeldProducts } from '../support/held-products';
import { embeddedAddress, startUsedService } from '../support/process';

describe('while as many runs go on as one process works on', () => {
  it('a second run of a job is refused at once, of one that waits for its turn too; a plan waits, and none is lost', async () => {
    const { api, dataDir } = await startUsedService();
    const feeds = await Promise.all(
      Array.from({ length: limits.concurrentRuns + 1 }, (_, at) =>
        api.uploadFeed('sku,product_name\nA,A\n', `Partner ${at}`),
      ),
    );
    const held = await HeldProducts.of(embeddedAddress(dataDir));
    const run = (at: number) => api.post(`/jobs/${feeds[at]!.jobId}/run`);
    const first = feeds.slice(0, limits.concurrentRuns).map((_, at) => run(at));
    await eventually('all of them wait for the products', async () => {
      const states = await Promise.all(feeds.map(async ({ feedId }) => api.get(`/feeds/${feedId}`)));
      return states.filter(({ body }) => body.status === 'validated').length === limits.concurrentRuns;
    });

    const refused = await run(0);
    // One of them waits for its turn, and the other is told so.
    const waiting = [run(limits.concurrentRuns), run(limits.concurrentRuns)];
    const early = await Promise.race(waiting);
    const { body: job } = await api.get(`/jobs/${feeds.at(-1)!.jobId}`);

    expect([refused.status, refused.body]).toEqual([
      409,
      { detail: `Job ${feeds[0]!.jobId} is already running.` },
    ]);
    expect([early.status, early.body]).toEqual([
      409,
      { detail: `Job ${feeds.at(-1)!.jobId} is already running.` },
    ]);
    expect(job.status).toBe('queued');
    const plan = api.post(`/jobs/${feeds[1]!.jobId}/plan`);
    await held.release();
    expect((await Promise.all(first)).map(({ body }) => body.summary.inserted as number)).toEqual(
      first.map(() => 1),
    );
    expect((await Promise.all(waiting)).map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await plan).body).toMatchObject({ status: 'completed', summary: { processed: 1 } });
  });
});
