import { eventually } from '../../../support/harness';
import { aTimestamp } from '../../../support/expectations';
import { whileLoading, whileReading } from '../../../support/runs-in-flight';
import { storedFeed } from '../../../support/stored-uploads';
import { csv, products, run, service } from './requests';

const lastProductId = async () =>
  (await service.db.raw("select last_value from pg_sequences where sequencename = 'products_product_id_seq'"))
    .rows;

describe('POST /jobs/{job_id}/run', () => {
  describe('200', () => {
    it('returns the completed job with its counters', async () => {
      const { feedId, jobId } = await service.api.uploadFeed(csv, 'First run');

      const { status, body } = await run(jobId);

      const summary = 'Products processed: 3. Inserted: 2. Updated: 0. Unchanged: 0. Skipped: 1.';
      expect(status).toBe(200);
      expect(body).toEqual({
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
          inserted: 2,
          updated: 0,
          unchanged: 0,
          skipped: 1,
          withdrawn: 0,
          restored: 0,
        },
        issue_counts: [
          {
            code: 'invalid_price',
            severity: 'error',
            count: 1,
            first_rows: [{ line: 4, row: 3, sku: 'ROPE', value: 'NA' }],
          },
        ],
      });
      expect((await service.api.get(`/jobs/${jobId}`)).body).toEqual(body);
    });

    it('loads the products and marks the feed as processed', async () => {
      const { feedId } = await service.api.loadFeed(csv, 'Loaded');

      const feed_id = Number(feedId.slice(2));
      expect(await products('Loaded')).toMatchObject([
        { feed_id, sku: 'TENT-2', product_name: 'Two-person tent', price: '189.9000' },
        { feed_id, sku: 'LAMP-1', product_name: 'Head lamp', price: '24.5000' },
      ]);
      expect((await service.api.get(`/feeds/${feedId}`)).body).toMatchObject({
        status: 'processed',
        validation_status: 'completed',
        validation_message:
          'ETL processing completed. Products processed: 3. Inserted: 2. Updated: 0. Unchanged: 0. Skipped: 1.',
      });
    });

    it('writes no row when it is run again, and counts the products as unchanged', async () => {
      const { feedId, jobId, job } = await service.api.loadFeed(csv, 'Again');
      const before = await products('Again');
      const numbers = await lastProductId();

      for (let again = 1; again <= 2; again++) {
        const { status, body } = await run(jobId);

        const summary = 'Products processed: 3. Inserted: 0. Updated: 0. Unchanged: 2. Skipped: 1.';
        expect(status).toBe(200);
        expect(body).toEqual({
          ...job,
          message: summary,
          result: summary,
          started_at: aTimestamp,
          finished_at: aTimestamp,
          summary: {
            processed: 3,
            inserted: 0,
            updated: 0,
            unchanged: 2,
            skipped: 1,
            withdrawn: 0,
            restored: 0,
          },
        });
        expect(body.started_at > job.finished_at).toBe(true);
        expect(await products('Again')).toEqual(before);
        expect(await lastProductId()).toEqual(numbers);
        expect((await service.api.get(`/feeds/${feedId}`)).body.validation_message).toBe(
          `ETL processing completed. ${summary}`,
        );
      }
    });

    it('counts what a later feed of the partner inserts, updates and leaves unchanged', async () => {
      const first = await service.api.loadFeed(csv, 'Later');
      const before = await products('Later');

      const second = await service.api.loadFeed(
        'sku,product_name,price\nMAT,Mat,9\nLAMP-1,Head lamp,19.99\nTENT-2,Two-person tent,189.9\n,,\n',
        'Later',
      );

      const [tent, lamp, mat] = await products('Later');
      expect(second.job.summary).toEqual({
        processed: 4,
        inserted: 1,
        updated: 1,
        unchanged: 1,
        skipped: 1,
        withdrawn: 0,
        restored: 0,
      });
      expect(tent).toEqual(before[0]);
      expect(lamp).toEqual({
        ...before[1],
        feed_id: Number(second.feedId.slice(2)),
        run_id: expect.any(Number),
        price: '19.9900',
        record_offset: 'sku,product_name,price\nMAT,Mat,9\n'.length,
        version: expect.any(String),
      });
      expect(lamp!.run_id).not.toBe(tent!.run_id);
      expect(mat).toMatchObject({
        sku: 'MAT',
        run_id: lamp!.run_id,
        product_id: Number(before[1]!.product_id) + 1,
      });
      expect((await service.api.get(`/jobs/${first.jobId}`)).body).toEqual(first.job);
    });

    it('restores the old values when the older feed is run again', async () => {
      const first = await service.api.loadFeed('sku,product_name,price\nA,A,1\nB,B,1\n', 'Set back');
      await service.api.loadFeed('sku,product_name,price\nA,A,2\nB,B,1\nC,C,3\n', 'Set back');

      const { body } = await run(first.jobId);

      expect(body.summary).toEqual({
        processed: 2,
        inserted: 0,
        updated: 1,
        unchanged: 1,
        skipped: 0,
        withdrawn: 0,
        restored: 0,
      });
      expect((await products('Set back')).map(({ sku, price }) => [sku, price])).toEqual([
        ['A', '1.0000'],
        ['B', '1.0000'],
        ['C', '3.0000'],
      ]);
    });

    it('separates the products of partners', async () => {
      await service.api.loadFeed(csv, 'One');
      const before = await products('One');

      const { job } = await service.api.loadFeed(csv.replace('189.90', '1'), 'Another');

      expect(job.summary).toMatchObject({ inserted: 2, updated: 0 });
      expect(await products('One')).toEqual(before);
    });

    it.each([
      ['a header alone', 'sku,product_name', { processed: 0, inserted: 0, skipped: 0 }],
      ['bad rows alone', 'sku,product_name\n,A\nB,\n', { processed: 2, inserted: 0, skipped: 2 }],
      ['blank lines', 'sku,product_name\n\n \nA,A\n\n', { processed: 1, inserted: 1, skipped: 0 }],
      ['one sku twice', 'sku,product_name\nA,A\nA,B\n', { processed: 2, inserted: 1, skipped: 1 }],
      [
        'semicolons and a byte order mark',
        '\ufeffsku;product_name\r\nA;A\r\n',
        { processed: 1, inserted: 1, skipped: 0 },
      ],
    ])('completes a feed with %s', async (what, content, counters) => {
      const { job } = await service.api.loadFeed(content, what);

      expect(job).toMatchObject({ status: 'completed', summary: { ...counters, updated: 0, unchanged: 0 } });
    });

    it('needs no body and ignores one', async () => {
      const { jobId } = await service.api.uploadFeed(csv);

      for (const init of [
        {},
        { body: '{"force":true}', headers: { 'content-type': 'application/json' } },
        { body: '{', headers: { 'content-type': 'application/json' } },
        { body: 'x', headers: { 'content-type': 'text/csv' } },
      ]) {
        expect(await service.api.send('POST', `/jobs/${jobId}/run`, init)).toMatchObject({
          status: 200,
          body: { status: 'completed' },
        });
      }
    });

    describe('while it is in progress', () => {
      const stateOf = async ({ feedId, jobId }: { feedId: string; jobId: string }) => {
        const [feed, job] = await Promise.all([
          service.api.get(`/feeds/${feedId}`),
          service.api.get(`/jobs/${jobId}`),
        ]);
        return [feed.body.status, feed.body.validation_status, job.body.status];
      };

      it('returns the feed as validating while the file is read', async () => {
        const feed = await service.api.uploadFeed(csv, 'Reading');
        expect(await stateOf(feed)).toEqual(['processing', 'queued', 'queued']);

        const { status } = await whileReading(service, feed, async () => {
          expect(await stateOf(feed)).toEqual(['validating', 'running', 'running']);
          expect(await products('Reading')).toEqual([]);
        });

        expect(status).toBe(200);
        expect(await stateOf(feed)).toEqual(['processed', 'completed', 'completed']);
      });

      it('returns the feed as validated while products load, which are invisible until the end', async () => {
        const feed = await service.api.uploadFeed(csv, 'Locked');

        const { status } = await whileLoading(service, feed, async () => {
          expect(await stateOf(feed)).toEqual(['validated', 'running', 'running']);
          expect(await products('Locked')).toEqual([]);
        });

        expect(status).toBe(200);
        expect(await stateOf(feed)).toEqual(['processed', 'completed', 'completed']);
        expect((await products('Locked')).length).toBe(2);
      });

      it('has the same states when it is run again', async () => {
        const { job: _job, ...feed } = await service.api.loadFeed(csv, 'Same states');

        await whileReading(service, feed, async () => {
          expect(await stateOf(feed)).toEqual(['validating', 'running', 'running']);
        });
        await whileLoading(service, feed, async () => {
          expect(await stateOf(feed)).toEqual(['validated', 'running', 'running']);
        });

        expect(await stateOf(feed)).toEqual(['processed', 'completed', 'completed']);
      });

      it('does not affect other feeds of the partner', async () => {
        const held = await service.api.uploadFeed(csv, 'Held');
        const other = await service.api.uploadFeed(csv, 'Held');

        const { body } = await whileReading(service, held, async () => {
          expect((await run(other.jobId)).body.summary).toMatchObject({ inserted: 2, skipped: 1 });
          expect(await stateOf(held)).toEqual(['validating', 'running', 'running']);
        });

        expect(body.summary).toMatchObject({ inserted: 0, unchanged: 2, skipped: 1 });
      });
    });

    describe('two concurrent feeds of one partner', () => {
      const skus = Array.from({ length: 500 }, (_, n) => `S${n}`);
      const feedOf = (price: number, order: string[]) =>
        `sku,product_name,price\n${order.map((sku) => `${sku},Product ${sku},${price}\n`).join('')}`;

      it('load each product once for any order of rows; the last commit wins', async () => {
        const feeds = await Promise.all([
          service.api.uploadFeed(feedOf(1, skus), 'At once'),
          service.api.uploadFeed(feedOf(2, [...skus].reverse()), 'At once'),
        ]);

        const jobs = await Promise.all(feeds.map(({ jobId }) => run(jobId)));

        expect(jobs.map(({ status, body }) => [status, body.status])).toEqual(
          Array(2).fill([200, 'completed']),
        );
        const summaries = jobs.map(({ body }) => [body.summary.inserted, body.summary.updated]).sort();
        expect(summaries).toEqual([
          [0, 500],
          [500, 0],
        ]);
        const last = jobs.findIndex(({ body }) => body.summary.updated === 500);
        const rows = await products('At once');
        expect(rows.length).toBe(500);
        expect(new Set(rows.map(({ sku }) => sku)).size).toBe(500);
        expect(new Set(rows.map(({ price }) => price))).toEqual(new Set([`${last + 1}.0000`]));
        expect(new Set(rows.map(({ feed_id }) => feed_id))).toEqual(
          new Set([Number(feeds[last]!.feedId.slice(2))]),
        );
      });

      it('both complete when they start to load at the same time', async () => {
        const held = await service.api.uploadFeed(feedOf(1, skus), 'Both loading');
        const other = await service.api.uploadFeed(feedOf(2, skus), 'Both loading');
        const runs: ReturnType<typeof run>[] = [];

        const first = await whileLoading(service, held, async () => {
          runs.push(run(other.jobId));
          await eventually('the other is about to load', async () => {
            expect((await storedFeed(service, other.feedId)).status).toBe('validated');
          });
        });
        const [second] = await Promise.all(runs);

        const jobs = [first.body, second!.body];
        expect(jobs.map(({ status }) => status as string)).toEqual(['completed', 'completed']);
        expect(jobs.map(({ summary }) => summary.inserted as number).sort()).toEqual([0, 500]);
        expect((await products('Both loading')).length).toBe(500);
      });
    });
  });
});
