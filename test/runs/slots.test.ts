import type { UploadedFeed } from '../support/api-client';
import { whileReading } from '../support/runs-in-flight';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ queuedRuns: 2 });
});

describe('a partner with a run in progress', () => {
  it('gets its plan before a backlog of queued runs is finished', async () => {
    const { api, db } = service;
    const csv = 'sku,product_name\nA,Tent\n';
    const first = await api.uploadFeed(csv, 'Acme');
    const planned = await api.uploadFeed(csv, 'Acme');
    const queued: UploadedFeed[] = [];
    for (let each = 0; each < 40; each++) queued.push(await api.uploadFeed(csv, `Queued ${each}`));

    await whileReading(service, first, async () => {
      await Promise.all(
        queued.map(({ jobId }) => api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' })),
      );

      expect((await api.post(`/jobs/${planned.jobId}/plan`)).status).toBe(200);

      const waiting = await db('runs').where({ status: 'queued' });
      expect(waiting.length).toBeGreaterThan(0);
    });
  });
});
