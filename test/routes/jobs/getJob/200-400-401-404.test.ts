import { aTimestamp } from '../../../support/expectations';
import { rm } from 'node:fs/promises';
import { whileLoading, whileReading } from '../../../support/runs-in-flight';
import { startTestService, type TestService } from '../../../support/service';
import { rawFilePath } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,NA\n,Rope,\n';
const summary = 'Products processed: 3. Inserted: 1. Updated: 0. Unchanged: 0. Skipped: 2.';
const noRows = 'Products processed: 0. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 0.';
const issueCounts = [
  {
    code: 'missing_required',
    severity: 'error',
    count: 1,
    first_rows: [{ line: 4, row: 3, sku: null, value: null }],
  },
  {
    code: 'invalid_price',
    severity: 'error',
    count: 1,
    first_rows: [{ line: 3, row: 2, sku: 'LAMP-1', value: 'NA' }],
  },
];

async function getJob(id: string) {
  const { status, body } = await service.api.get(`/jobs/${id}`);
  expect(status).toBe(200);
  return body as Record<string, unknown> & { created_at: string; started_at: string; finished_at: string };
}

describe('GET /jobs/{job_id}', () => {
  describe('200', () => {
    it('shows a submission job as completed from the start', async () => {
      const { feedId, submissionJobId } = await service.api.uploadFeed(csv);

      const job = await getJob(submissionJobId);

      expect(job).toEqual({
        job_id: submissionJobId,
        feed_id: feedId,
        status: 'completed',
        job_type: 'submission',
        message: 'Feed received and stored.',
        created_at: aTimestamp,
        started_at: job.created_at,
        finished_at: job.created_at,
        summary: null,
        issue_counts: [],
      });
      expect(Math.abs(Date.parse(job.created_at) - Date.now())).toBeLessThan(10_000);
    });

    it('shows a validation job as queued, with a note, until it is run', async () => {
      const { feedId, jobId } = await service.api.uploadFeed(csv);

      expect(await getJob(jobId)).toEqual({
        job_id: jobId,
        feed_id: feedId,
        status: 'queued',
        job_type: 'validation',
        message: `Validation job queued. Start it with POST /jobs/${jobId}/run.`,
        created_at: aTimestamp,
        started_at: null,
        finished_at: null,
        summary: null,
        issue_counts: [],
      });
    });

    it('returns the summary of a run as text and numbers, with issue counts', async () => {
      const { feedId, jobId } = await service.api.loadFeed(csv, 'Completed');

      const job = await getJob(jobId);

      expect(job).toEqual({
        job_id: jobId,
        feed_id: feedId,
        status: 'completed',
        job_type: 'validation',
        message: summary,
        result: summary,
        created_at: aTimestamp,
        started_at: aTimestamp,
        finished_at: aTimestamp,
        summary: {
          processed: 3,
          inserted: 1,
          updated: 0,
          unchanged: 0,
          skipped: 2,
          withdrawn: 0,
          restored: 0,
        },
        issue_counts: issueCounts,
      });
      const times = [job.created_at, job.started_at, job.finished_at];
      expect([...times].sort()).toEqual(times);
    });

    it('lists counts of errors before warnings, then by frequency', async () => {
      const { jobId } = await service.api.loadFeed(
        'sku,product_name,price,a,b,c\n1,A,x\n2,B,y\n,C,\n4,D,0\n',
      );

      const first = (line: number, sku: string | null, value: string | null) => ({
        line,
        row: line - 1,
        sku,
        value,
      });
      expect((await getJob(jobId)).issue_counts).toEqual([
        {
          code: 'invalid_price',
          severity: 'error',
          count: 2,
          first_rows: [first(2, '1', 'x'), first(3, '2', 'y')],
        },
        { code: 'missing_required', severity: 'error', count: 1, first_rows: [first(4, null, null)] },
        {
          code: 'unknown_column',
          severity: 'warning',
          count: 3,
          first_rows: [first(1, null, 'a'), first(1, null, 'b'), first(1, null, 'c')],
        },
        { code: 'zero_price', severity: 'warning', count: 1, first_rows: [first(5, '4', '0')] },
      ]);
    });

    it('returns the first three rows of each code, superseded rows too', async () => {
      const rows = Array.from({ length: 5 }, (_, n) => `A,A,\nB${n},"B\nB",NA\n`).join('\n');
      const { jobId } = await service.api.loadFeed(`sku,product_name,price\n${rows}`, 'First rows');

      expect((await getJob(jobId)).issue_counts).toEqual([
        {
          code: 'invalid_price',
          severity: 'error',
          count: 5,
          first_rows: [
            { line: 3, row: 2, sku: 'B0', value: 'NA' },
            { line: 7, row: 4, sku: 'B1', value: 'NA' },
            { line: 11, row: 6, sku: 'B2', value: 'NA' },
          ],
        },
        {
          code: 'duplicate_sku',
          severity: 'error',
          count: 4,
          first_rows: [
            { line: 2, row: 1, sku: 'A', value: 'A' },
            { line: 6, row: 3, sku: 'A', value: 'A' },
            { line: 10, row: 5, sku: 'A', value: 'A' },
          ],
        },
      ]);
    });

    it('shows why a run failed', async () => {
      const feed = await service.api.uploadFeed(csv);
      await rm(await rawFilePath(service, feed.feedId));
      await service.api.post(`/jobs/${feed.jobId}/run`);

      expect(await getJob(feed.jobId)).toEqual({
        job_id: feed.jobId,
        feed_id: feed.feedId,
        status: 'failed',
        job_type: 'validation',
        message: `ETL processing failed: The raw file is missing from object storage. ${noRows}`,
        result: noRows,
        created_at: aTimestamp,
        started_at: aTimestamp,
        finished_at: aTimestamp,
        summary: {
          processed: 0,
          inserted: 0,
          updated: 0,
          unchanged: 0,
          skipped: 0,
          withdrawn: 0,
          restored: 0,
        },
        issue_counts: [],
      });
    });

    it('keeps the submission job unchanged by runs of the validation job', async () => {
      const { submissionJobId, jobId } = await service.api.uploadFeed(csv);
      const before = await getJob(submissionJobId);

      await service.api.post(`/jobs/${jobId}/run`);

      expect(await getJob(submissionJobId)).toEqual(before);
    });

    const running = { status: 'running', finished_at: null, summary: null, started_at: aTimestamp };

    it('returns running while a first run reads the file', async () => {
      const feed = await service.api.uploadFeed(csv);

      await whileReading(service, feed, async () => {
        const job = await getJob(feed.jobId);

        expect(job).toMatchObject({ ...running, job_id: feed.jobId, feed_id: feed.feedId, issue_counts: [] });
        expect(job).not.toHaveProperty('result');
      });

      expect((await getJob(feed.jobId)).status).toBe('completed');
    });

    it('returns running until the products of a first run are loaded', async () => {
      const feed = await service.api.uploadFeed(csv, 'Loading');

      await whileLoading(service, feed, async () => {
        expect(await getJob(feed.jobId)).toMatchObject({ ...running, issue_counts: [] });
      });

      expect((await getJob(feed.jobId)).status).toBe('completed');
    });

    it('returns running with the issue counts of the last finished run during another run', async () => {
      const { job, ...feed } = await service.api.loadFeed(csv);

      await whileReading(service, feed, async () => {
        const again = await getJob(feed.jobId);

        expect(again).toMatchObject({ ...running, issue_counts: issueCounts });
        expect(again.started_at > job.started_at).toBe(true);
      });
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.get('/jobs/%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j, whether the job exists or not', async (key) => {
      const { jobId } = await service.api.uploadFeed(csv);

      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await service.api.withKey(key).get(`/jobs/${id}`);

        expect(status).toBe(401);
        expect(body).toEqual({ detail: 'Invalid or missing API key' });
      }
    });
  });

  describe('404', () => {
    it.each([
      'JV99999',
      'JS99999',
      'JV00000',
      'JV1',
      'jv00001',
      'JV000001',
      'JV0000１',
      'JV-0001',
      'JV00001x',
      'FD00001',
      'PR00001',
      'run',
      'JV999999999999999',
      'JV99999999999999999999',
      '%20',
      'JV00001%00',
      'JV00001%2Frun',
      "'",
    ])('does not find the job %s', async (id) => {
      // A job with the number 1 exists.
      await service.api.uploadFeed(csv);
      const jobId = decodeURIComponent(id);

      const { status, body } = await service.api.get(`/jobs/${id}`);

      expect(status).toBe(404);
      expect(body).toEqual({
        error_code: 'JOB_NOT_FOUND',
        message: `Job ${jobId} not found`,
        details: { job_id: jobId },
      });
    });
  });
});
