import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { UploadedFeed } from '../../support/api-client';
import { createTestFolder, eventually } from '../../support/harness';
import { HeldProducts } from '../../support/runs-in-flight';
import { embeddedAddress, startUsedService, type ServiceProcess } from '../../support/process';

/** NODE_OPTIONS with which a row with the sku HOG exhausts the memory of the ETL thread. */
function hogMemory(): string {
  const file = join(createTestFolder(), 'hog.cjs');
  const transform = resolve(__dirname, '../../../dist/src/feed-format/rows/transform.js');
  writeFileSync(
    file,
    `if (!require('node:worker_threads').isMainThread) {
       const transform = require(${JSON.stringify(transform)});
       const { transformRecord } = transform;
       const kept = [];
       transform.transformRecord = (record, header) => {
         if (record.field(header.positions.sku) === 'HOG')
           for (let at = 0; at < 1_000; at++) kept.push(new Array(1_000_000).fill(at));
         return transformRecord(record, header);
       };
     }`,
  );
  return `--require=${file}`;
}

const good = 'sku,product_name\nA,Tent\n';
const hog = 'sku,product_name\nHOG,Tent\n';
const outOfMemory = 'ETL processing failed: The run ran out of memory. Split the feed into smaller files.';

/** Number of crashes, one per run or plan of the thread. An idle worker has none yet. */
const crashes = ({ stdout }: ServiceProcess) =>
  stdout.match(/"msg":"ETL thread crashed(?! before a run was claimed)/g)?.length ?? 0;

/**
 * Starts a service with runs of several partners that stay in progress until `release`.
 * @returns the feeds of these runs, their responses, and a feed whose run exhausts the memory of its thread
 */
async function startBusyService(headers: Record<string, string> = {}) {
  const service = await startUsedService({ NODE_OPTIONS: hogMemory(), MAX_CONCURRENT_RUNS: '4' });
  const { api, dataDir } = service;
  const feeds = await Promise.all(['One', 'Two'].map((partner) => api.uploadFeed(good, partner)));
  const hogFeed = await api.uploadFeed(hog, 'Hog');
  const held = await HeldProducts.of(embeddedAddress(dataDir));
  const run = ({ jobId }: UploadedFeed) => api.post(`/jobs/${jobId}/run`, undefined, headers);
  const runs = feeds.map(run);
  await eventually('the runs wait for the products', async () => {
    const states = await Promise.all(feeds.map(({ feedId }) => api.get(`/feeds/${feedId}`)));
    return states.every(({ body }) => body.status === 'validated');
  });
  const release = async () => {
    await eventually('the thread has died of the other run', () => crashes(service) > feeds.length);
    await held.release();
  };
  return { service, api, feeds, runs, hogFeed, run, release };
}

describe('when a run exhausts the memory of the ETL thread', () => {
  it('only that run fails, with the reason; concurrent runs are repeated and complete', async () => {
    const { service, api, runs, hogFeed, run, release } = await startBusyService();

    const [{ status, body }] = await Promise.all([run(hogFeed), release()]);

    expect([status, body.status]).toEqual([200, 'failed']);
    expect(body.message).toContain(outOfMemory);
    for (const { body } of await Promise.all(runs)) {
      expect(body).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
    }
    expect((await api.get('/products')).body.count).toBe(2);
    // One per run of the shared thread, and one for the repeated run.
    expect(crashes(service)).toBe(runs.length + 2);
  });

  it('a queued run fails when it is repeated alone; concurrent runs complete', async () => {
    const { service, api, feeds, hogFeed, run, release } = await startBusyService({
      prefer: 'respond-async',
    });

    await Promise.all([run(hogFeed), release()]);

    const jobs = await Promise.all(
      [...feeds, hogFeed].map(({ jobId }) =>
        eventually(
          'the run has ended',
          async () => {
            const { body } = await api.get(`/jobs/${jobId}`);
            return ['completed', 'failed'].includes(body.status as string) && body;
          },
          60,
        ),
      ),
    );
    expect(jobs.map(({ status }) => status as string)).toEqual(['completed', 'completed', 'failed']);
    expect(jobs[2].message).toContain(outOfMemory);
    expect(crashes(service)).toBe(jobs.length + 1);
  });

  it('its plan reports the failure; a concurrent run is repeated', async () => {
    const { api, runs, hogFeed, release } = await startBusyService();

    const [plan] = await Promise.all([api.post(`/jobs/${hogFeed.jobId}/plan`), release()]);

    expect(plan.body).toMatchObject({ status: 'failed', count: 0 });
    expect(plan.body.message).toContain(outOfMemory);
    for (const { body } of await Promise.all(runs)) expect(body.status).toBe('completed');
    expect((await api.get(`/jobs/${hogFeed.jobId}`)).body.status).toBe('queued');
  });
});
