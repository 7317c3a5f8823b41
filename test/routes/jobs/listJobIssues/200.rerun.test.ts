import { rm } from 'node:fs/promises';
import { recoverRuns } from '../../../../src/runs/queue/recovery';
import { leaveRunning, whileReading } from '../../../support/runs-in-flight';
import { startTestService, type TestService } from '../../../support/service';
import { rawFilePath, replaceRawFile } from '../../../support/stored-uploads';
import { cutConnection, whileWritesDo } from '../../../support/faults';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Issue {
  line: number;
  code: string;
}

const list = (jobId: string) => service.api.get(`/jobs/${jobId}/issues`);

/** A feed with this many invalid rows, from line 2. */
const badRows = (count: number) =>
  'sku,product_name,price\n' + Array.from({ length: count }, (_, n) => `S${n},Product,NA\n`).join('');
const none = { count: 0, items: [], issue_counts: [] };

describe('GET /jobs/{job_id}/issues', () => {
  describe('200, after another run:', () => {
    async function rerun({ feedId, jobId }: { feedId: string; jobId: string }, csv: string | null) {
      if (csv === null) await rm(await rawFilePath(service, feedId));
      else await replaceRawFile(service, feedId, csv);
      return (await service.api.post(`/jobs/${jobId}/run`)).body;
    }

    it('lists the issues of that run only', async () => {
      const feed = await service.api.loadFeed(badRows(3));

      await rerun(feed, 'sku,product_name\n1,Tent\n,Lamp\n');

      const { body } = await list(feed.jobId);
      expect(body).toEqual({
        count: 1,
        items: [
          {
            line: 3,
            last_line: 3,
            row: 2,
            sku: null,
            field: 'sku',
            column_number: 1,
            code: 'missing_required',
            severity: 'error',
            message: expect.any(String),
            value: null,
          },
        ],
        issue_counts: [
          {
            code: 'missing_required',
            severity: 'error',
            count: 1,
            first_rows: [{ line: 3, row: 2, sku: null, value: null }],
          },
        ],
      });
    });

    it('is empty when that run skipped no row', async () => {
      const feed = await service.api.loadFeed(badRows(3));

      await rerun(feed, 'sku,product_name\n1,Tent\n');

      expect((await list(feed.jobId)).body).toEqual(none);
    });

    it('lists the same issues when nothing has changed', async () => {
      const { job: _job, ...feed } = await service.api.loadFeed(badRows(3));
      const before = (await list(feed.jobId)).body;

      await service.api.post(`/jobs/${feed.jobId}/run`);

      expect((await list(feed.jobId)).body).toEqual(before);
    });

    it('repeats the warnings of unchanged rows', async () => {
      const csv = 'sku,product_name\n1.23457E+12,Tent\nsku,product_name\n2,Lamp\n';
      const { job, jobId } = await service.api.loadFeed(csv, 'Warned');
      const before = (await list(jobId)).body;
      expect(job.summary).toMatchObject({ processed: 3, inserted: 2, skipped: 1 });
      expect(before.items).toMatchObject([
        { line: 2, code: 'suspicious_sku', severity: 'warning', sku: '1.23457E+12' },
        { line: 3, code: 'repeated_header', severity: 'warning', sku: null, value: 'sku | product_name' },
      ]);

      const { body: again } = await service.api.post(`/jobs/${jobId}/run`);

      expect(again.summary).toMatchObject({ processed: 3, unchanged: 2, skipped: 1 });
      expect((await list(jobId)).body).toEqual(before);
      const rejects = await service.api.get(`/jobs/${jobId}/rejects.csv`);
      expect(rejects.body).toBe('_line,_codes,_messages,sku,product_name\n');
    });

    it('lists the rows that a failed run had skipped', async () => {
      const feed = await service.api.loadFeed(badRows(3));

      const job = await rerun(feed, 'sku,product_name\n,Tent\n1,"Lamp\n');

      const { body } = await list(feed.jobId);
      expect(job).toMatchObject({ status: 'failed', summary: { processed: 1, skipped: 1 } });
      expect(body.items.map(({ line, code }: Issue) => [line, code])).toEqual([[2, 'missing_required']]);
      expect(body.issue_counts).toEqual([
        {
          code: 'missing_required',
          severity: 'error',
          count: 1,
          first_rows: [{ line: 2, row: 1, sku: null, value: null }],
        },
      ]);
    });

    it('is empty when that run failed before it read a row', async () => {
      const feed = await service.api.loadFeed(badRows(3));

      await rerun(feed, null);

      expect((await list(feed.jobId)).body).toEqual(none);
    });

    it('agrees with the counts when that run lost its connection', async () => {
      const feed = await service.api.loadFeed(badRows(3), 'Lost connection');
      await whileWritesDo(service, 'products', cutConnection, () =>
        rerun(feed, 'sku,product_name\n,Tent\n1,Lamp\n'),
      );

      const { body } = await list(feed.jobId);
      expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('failed');
      const codes = body.items.map(({ code }: Issue) => code) as string[];
      const counted = body.issue_counts.flatMap((entry: { code: string; count: number }) =>
        Array<string>(entry.count).fill(entry.code),
      ) as string[];
      expect(codes.sort()).toEqual(counted.sort());
      expect(codes).not.toContain('invalid_price');
    });

    it('is empty when that run was interrupted', async () => {
      const feed = await service.api.loadFeed(badRows(3));
      await leaveRunning(service, feed);
      await recoverRuns(service.db);

      expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('failed');
      expect((await list(feed.jobId)).body).toEqual(none);
    });

    it('keeps its issues when its end is not yet committed during a scan for orphaned runs', async () => {
      const feed = await service.api.loadFeed(badRows(3), 'Ends meanwhile');
      const before = (await list(feed.jobId)).body;
      const jobBefore = (await service.api.get(`/jobs/${feed.jobId}`)).body;
      const jobs = () => service.db('validation_jobs').where('job_id', Number(feed.jobId.slice(2)));
      const columns = ['status', 'started_at', 'finished_at', 'processed', 'inserted', 'updated'];
      const ended = await jobs().first([...columns, 'unchanged', 'skipped']);
      await leaveRunning(service, feed);

      // Before the commit, the scan sees the run as running, with a free lock.
      const run = await service.db.transaction();
      await run('validation_jobs')
        .where('job_id', Number(feed.jobId.slice(2)))
        .update(ended);
      expect((await recoverRuns(service.db)).failed).toEqual([]);
      await run.commit();
      expect((await recoverRuns(service.db)).failed).toEqual([]);

      expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(jobBefore);
      expect((await list(feed.jobId)).body).toEqual(before);
    });

    it('does not affect a finished job while another run is orphaned', async () => {
      const ended = await service.api.loadFeed(badRows(2), 'Ended');
      const interrupted = await service.api.loadFeed(badRows(3), 'Interrupted');
      const before = (await list(ended.jobId)).body;
      await leaveRunning(service, interrupted);

      expect((await recoverRuns(service.db)).failed).toEqual([Number(interrupted.jobId.slice(2))]);

      expect((await list(ended.jobId)).body).toEqual(before);
      expect((await list(interrupted.jobId)).body).toEqual(none);
    });

    it('lists the issues of the last finished run while another one is in progress', async () => {
      const { job: _job, ...feed } = await service.api.loadFeed(badRows(3));
      const before = (await list(feed.jobId)).body;

      await whileReading(service, feed, async () => {
        expect((await list(feed.jobId)).body).toEqual(before);
      });
    });
  });
});
