import { createLog } from '../../src/base/log';
import { eventually } from '../support/harness';
import { startTestService, type TestService } from '../support/service';

type Line = Record<string, unknown>;

const logged: Line[] = [];
const csv = 'sku,product_name\nTENT-2,Two-person tent\n';

let service: TestService;
beforeAll(async () => {
  const log = createLog('info', { write: (line: string) => void logged.push(JSON.parse(line) as Line) });
  service = await startTestService({ log, queuedRuns: 1 });
});
beforeEach(() => {
  logged.length = 0;
});

/** Waits for the log line of the only run of the test. */
async function runLine(): Promise<Line> {
  const lines = () => logged.filter(({ msg }) => msg === 'run');
  await eventually('the run is logged', () => lines().length > 0);
  expect(lines()).toHaveLength(1);
  return lines()[0]!;
}

describe('the log line of a run', () => {
  it.each([
    ['that a client waits for', {}],
    ['that was queued', { prefer: 'respond-async' }],
  ])('%s has public ids, partner and the id of the request', async (what, headers) => {
    const { jobId, feedId } = await service.api.uploadFeed(csv, what);

    await service.api.post(`/jobs/${jobId}/run`, undefined, { ...headers, 'x-request-id': 'mine' });

    expect(await runLine()).toMatchObject({
      job_id: jobId,
      feed_id: feedId,
      partner: what,
      run: 1,
      request_id: 'mine',
      outcome: 'completed',
    });
  });

  it('has the id of the last request of the job', async () => {
    const { jobId } = await service.api.uploadFeed(csv, 'Again');
    await service.api.post(`/jobs/${jobId}/run`, undefined, { 'x-request-id': 'first' });
    logged.length = 0;

    await service.api.post(`/jobs/${jobId}/run`, undefined, { 'x-request-id': 'second' });

    expect(await runLine()).toMatchObject({ job_id: jobId, run: 2, request_id: 'second' });
  });

  it("that reverts another run has the id of the revert's request", async () => {
    const { jobId } = await service.api.uploadFeed(csv, 'Reverted');
    await service.api.post(`/jobs/${jobId}/run`, undefined, { 'x-request-id': 'load' });
    logged.length = 0;

    await service.api.post(`/jobs/${jobId}/revert?run=1`, undefined, { 'x-request-id': 'revert' });

    expect(await runLine()).toMatchObject({
      job_id: jobId,
      partner: 'Reverted',
      run: 2,
      request_id: 'revert',
    });
  });
});

it('a run that fails logs the reason with its ids', async () => {
  const { jobId, feedId } = await service.api.uploadFeed(csv, 'Failing');
  await service
    .db('feeds')
    .where('feed_id', Number(feedId.slice(2)))
    .update({ sha256: Buffer.alloc(32) });

  await service.api.post(`/jobs/${jobId}/run`, undefined, { 'x-request-id': 'mine' });

  const failure = logged.find(({ msg }) => msg === 'run failed');
  expect(failure).toMatchObject({ level: 40, job_id: jobId, partner: 'Failing', run: 1, request_id: 'mine' });
});
