import { setTimeout as sleep } from 'node:timers/promises';
import { jobPollMilliseconds, jobWaitLimits } from '../../../../src/runs/jobs/job-changes';
import type { ApiResponse, UploadedFeed } from '../../../support/api-client';
import { eventually } from '../../../support/harness';
import { whileLoading, whileReading } from '../../../support/runs-in-flight';
import { startTestService, testKey, type TestService } from '../../../support/service';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,NA\n';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const get = ({ jobId }: Pick<UploadedFeed, 'jobId'>, headers: Record<string, string> = {}) =>
  service.api.get(`/jobs/${jobId}`, headers);
const tagOf = ({ headers }: ApiResponse) => headers.get('etag')!;

/** Counts the polls for changed jobs. */
function countLooks(): () => number {
  let looks = 0;
  service.pool.on('query', ({ sql }: { sql: string }) => (looks += Number(/where job_id = any/.test(sql))));
  return () => looks;
}

describe('GET /jobs/{job_id} during a run', () => {
  describe('progress', () => {
    it('reports bytes read and rates', async () => {
      // Larger than the maximum header row.
      const rows = Array.from({ length: 30_000 }, (_, at) => `SKU-${at},Head lamp,24.50\n`);
      const large = csv + rows.join('');
      const feed = await service.api.uploadFeed(large, 'Reading');

      await whileReading(service, feed, async (write) => {
        await write(large);
        const job = await eventually('the rows are read', async () => {
          const { body } = await get(feed);
          if (!(body.progress?.rows > 0)) return false;
          // Rows are counted after the bytes of their chunk.
          expect(body.progress.rows / rows.length).toBeCloseTo(body.progress.bytes_read / large.length, 1);
          return body;
        });

        expect(job).toMatchObject({ status: 'running', message: 'ETL is running.', summary: null });
        expect(job.progress).toEqual({
          phase: 'reading',
          rows: expect.any(Number),
          bytes_read: expect.any(Number),
          bytes_total: large.length,
          rows_per_second: expect.any(Number),
          bytes_per_second: expect.any(Number),
        });
        const { bytes_read, rows_per_second, bytes_per_second } = job.progress;
        expect(bytes_read).toBeLessThanOrEqual(large.length);
        expect(bytes_per_second).toBeGreaterThan(rows_per_second);
        expect(rows_per_second).toBeGreaterThan(0);
      });

      expect((await get(feed)).body).not.toHaveProperty('progress');
    });

    it('reports the phase after the file is read', async () => {
      const feed = await service.api.uploadFeed(csv, 'Comparing');

      await whileLoading(service, feed, async () => {
        const { progress } = await eventually('the cancellation is requested', async () => {
          const { body } = await get(feed);
          return body.progress !== undefined && body;
        });
        expect(progress).toMatchObject({ phase: 'comparing', rows: 2, bytes_read: csv.length });
      });

      expect((await get(feed)).body).toMatchObject({ status: 'completed' });
    });
  });

  describe('304', () => {
    it('is returned until the job changes', async () => {
      const feed = await service.api.uploadFeed(csv, 'Cached');
      const first = await get(feed);
      expect(first.headers.get('cache-control')).toBe('private, no-cache');

      const again = await get(feed, { 'if-none-match': tagOf(first) });
      expect([again.status, again.body, tagOf(again)]).toEqual([304, undefined, tagOf(first)]);
      expect(again.headers.get('cache-control')).toBe('private, no-cache');

      await service.api.post(`/jobs/${feed.jobId}/run`);
      const changed = await get(feed, { 'if-none-match': tagOf(first) });
      expect([changed.status, changed.body.status]).toEqual([200, 'completed']);
      expect(tagOf(changed)).not.toBe(tagOf(first));
    });

    it('requires access to the job', async () => {
      const feed = await service.api.uploadFeed(csv);
      const tag = tagOf(await get(feed));

      const { status } = await service.api
        .withKey('wrong')
        .get(`/jobs/${feed.jobId}`, { 'if-none-match': tag });

      expect(status).toBe(401);
    });
  });

  describe('Prefer: wait', () => {
    it('delays the response until the run starts, and until it ends', async () => {
      const feed = await service.api.uploadFeed(csv, 'Held');
      const looks = countLooks();
      const begun = get(feed, { prefer: 'wait=60' });
      await eventually('it waits', () => looks() > 0);

      await whileLoading(service, feed, async () => {
        const { status, headers, body } = await begun;
        expect([status, body.status]).toEqual([200, 'running']);
        expect(headers.get('preference-applied')).toBe('wait=60');
      });
      for (let tag = tagOf(await begun); ;) {
        const next = await get(feed, { prefer: 'wait=60', 'if-none-match': tag });
        expect(next.status).toBe(200);
        if (next.body.status === 'completed') break;
        tag = tagOf(next);
      }
    });

    it('ends when nothing has changed', async () => {
      const feed = await service.api.uploadFeed(csv, 'Over');
      const tag = tagOf(await get(feed));

      const unchanged = await get(feed, { prefer: 'wait=1', 'if-none-match': tag });
      const waited = await get(feed, { prefer: 'wait=1' });

      expect([unchanged.status, unchanged.headers.get('preference-applied')]).toEqual([304, 'wait=1']);
      expect([waited.status, waited.headers.get('preference-applied')]).toEqual([200, 'wait=1']);
      expect(waited.body.status).toBe('queued');
    });

    it('does not delay the response for a job that has changed', async () => {
      const feed = await service.api.loadFeed(csv, 'News');
      const looks = countLooks();

      const ended = await get(feed, { prefer: 'wait=60' });
      const other = await get(feed, { prefer: 'wait=60', 'if-none-match': '"another"' });
      const submission = await get({ jobId: feed.submissionJobId }, { prefer: 'wait=60' });

      expect([ended.status, other.status, submission.status]).toEqual([200, 200, 200]);
      expect(looks()).toBe(0);
    });

    it('with a current ETag blocks on a finished job until the next run', async () => {
      const feed = await service.api.loadFeed(csv, 'Known');
      const looks = countLooks();
      const next = get(feed, { prefer: 'wait=60', 'if-none-match': tagOf(await get(feed)) });
      await eventually('it waits', () => looks() > 0);

      await service.api.post(`/jobs/${feed.jobId}/run`);

      expect((await next).status).toBe(200);
    });

    it('waits no longer than preferred', async () => {
      jest.replaceProperty(jobWaitLimits, 'secondsMax', 1);
      const feed = await service.api.uploadFeed(csv);

      const { headers } = await get(feed, { prefer: 'wait=1000' });

      expect(headers.get('preference-applied')).toBe('wait=1');
    });

    it('is ignored beyond the maximum number of waiters', async () => {
      jest.replaceProperty(jobWaitLimits, 'waitersMax', 0);
      const feed = await service.api.uploadFeed(csv);

      const { status, headers } = await get(feed, { prefer: 'wait=60' });

      expect([status, headers.has('preference-applied')]).toEqual([200, false]);
    });

    it('polls once for all waiters, and stops without waiters', async () => {
      const feeds = await Promise.all(
        Array.from({ length: 20 }, (_, at) => service.api.uploadFeed(csv, `Many ${at}`)),
      );
      const client = new AbortController();
      const looks = countLooks();
      const responses = feeds.map(({ jobId }) =>
        fetch(`${service.url}/jobs/${jobId}`, {
          headers: { 'x-api-key': testKey, prefer: 'wait=60' },
          signal: client.signal,
        }).catch(() => undefined),
      );
      await eventually('they wait', () => looks() > 3);
      const from = performance.now();
      const before = looks();
      await sleep(5 * jobPollMilliseconds);
      const rounds = (performance.now() - from) / jobPollMilliseconds;

      expect(looks() - before).toBeLessThanOrEqual(rounds + 1);
      client.abort();
      await Promise.all(responses);
      await eventually('polling has stopped', async () => {
        const last = looks();
        await sleep(3 * jobPollMilliseconds);
        return looks() === last;
      });
    });
  });
});
