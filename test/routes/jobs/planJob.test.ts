import { rename } from 'node:fs/promises';
import { whileLoading, whileReading } from '../../support/runs-in-flight';
import { startTestService, type TestService } from '../../support/service';
import { rawFilePath, replaceRawFile } from '../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const plan = (jobId: string, query = '') => service.api.post(`/jobs/${jobId}/plan${query}`);
const run = (jobId: string) => service.api.post(`/jobs/${jobId}/run`);
const none = { processed: 0, inserted: 0, updated: 0, unchanged: 0, skipped: 0, withdrawn: 0, restored: 0 };

/** All data that a run could change: rows with versions, and the last product number. */
async function state() {
  const versions = (table: string, order: string) =>
    service.db(table).orderBy(order).select('*', service.db.raw('xmin::text as version'));
  const { rows } = await service.db.raw<{ rows: unknown[] }>(
    "select last_value from pg_sequences where sequencename = 'products_product_id_seq'",
  );
  return [
    await versions('products', 'product_id'),
    await versions('validation_jobs', 'job_id'),
    await versions('feeds', 'feed_id'),
    await versions('row_issues', 'issue_number'),
    rows,
  ];
}

describe('POST /jobs/{job_id}/plan', () => {
  describe('200', () => {
    it('lists what a run would insert and update, field by field, and counts unchanged products', async () => {
      await service.api.loadFeed(
        'sku,product_name,brand,price,currency\nTENT-2,Tent,Acme,189.90,EUR\nLAMP-1,Lamp,Acme,24.5,EUR\nROPE,Rope,,1,EUR\n',
        'Changes',
      );
      const { feedId, jobId } = await service.api.uploadFeed(
        'sku,product_name,brand,price\n\nMAT-1,"Sleeping\nmat",,"1,280.50"\nLAMP-1,Lamp,Acme,$24.5000\n,Bad,,\nTENT-2,Tent 2,,179.9\nROPE,Rope,,USD 1\n',
        'Changes',
      );

      const { status, body } = await plan(jobId);

      expect(status).toBe(200);
      const message = 'Products processed: 5. Inserted: 1. Updated: 2. Unchanged: 1. Skipped: 1.';
      expect(body).toEqual({
        job_id: jobId,
        feed_id: feedId,
        status: 'completed',
        message,
        summary: {
          processed: 5,
          inserted: 1,
          updated: 2,
          unchanged: 1,
          skipped: 1,
          withdrawn: 0,
          restored: 0,
        },
        issue_counts: [
          {
            code: 'missing_required',
            severity: 'error',
            count: 1,
            first_rows: [{ line: 6, row: 3, sku: null, value: null }],
          },
        ],
        count: 3,
        items: [
          {
            row: 1,
            line: 3,
            sku: 'MAT-1',
            product_name: 'Sleeping\nmat',
            action: 'insert',
            changes: [
              { field: 'product_name', before: null, after: 'Sleeping\nmat' },
              { field: 'price', before: null, after: '1280.5' },
            ],
          },
          {
            row: 4,
            line: 7,
            sku: 'TENT-2',
            product_name: 'Tent 2',
            currency: 'EUR',
            action: 'update',
            price_change_percent: -5.27,
            changes: [
              { field: 'product_name', before: 'Tent', after: 'Tent 2' },
              { field: 'brand', before: 'Acme', after: null },
              { field: 'price', before: '189.9', after: '179.9' },
            ],
          },
          {
            row: 5,
            line: 8,
            sku: 'ROPE',
            product_name: 'Rope',
            currency: 'USD',
            action: 'update',
            // Without the price: the feed has no such column.
            changes: [{ field: 'currency', before: 'EUR', after: 'USD' }],
          },
        ],
      });
      const { body: job } = await run(jobId);
      const { status: ended, summary, issue_counts } = job;
      expect({ status: ended, message: job.message, summary, issue_counts }).toEqual({
        status: body.status,
        message: body.message,
        summary: body.summary,
        issue_counts: body.issue_counts,
      });
    });

    it('omits columns that are not in the feed', async () => {
      await service.api.loadFeed('sku,product_name,brand,price\nA,A,Acme,1\n', 'Few columns');
      const { jobId } = await service.api.uploadFeed('product_name,sku\nA2,A\n', 'Few columns');

      const [item] = (await plan(jobId)).body.items;

      expect(item.changes).toEqual([{ field: 'product_name', before: 'A', after: 'A2' }]);
    });

    it('counts superseded rows and plans only the last one', async () => {
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,1\nB,1\nA,2\nA,3\n', 'Repeated');

      const { body } = await plan(jobId);

      expect(body.summary).toEqual({
        processed: 4,
        inserted: 2,
        updated: 0,
        unchanged: 0,
        skipped: 2,
        withdrawn: 0,
        restored: 0,
      });
      expect(body.issue_counts).toMatchObject([{ code: 'duplicate_sku', count: 2 }]);
      expect(body.items.map(({ row, sku }: { row: number; sku: string }) => [row, sku])).toEqual([
        [2, 'B'],
        [4, 'A'],
      ]);
    });

    it('warns about a newer feed as the run does', async () => {
      const csv = 'sku,product_name\nA,A\n';
      const { jobId } = await service.api.uploadFeed(csv, 'Older');
      expect((await plan(jobId)).body.issue_counts).toEqual([]);

      const { feedId } = await service.api.loadFeed(csv, 'Older');

      expect((await plan(jobId)).body).toMatchObject({
        summary: { unchanged: 1 },
        issue_counts: [{ code: 'older_feed', severity: 'warning', first_rows: [{ row: 0, value: feedId }] }],
      });
    });

    it('has no changes after the run, and includes later changes by others', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name\nA,A\n', 'Ran before');
      expect((await plan(jobId)).body).toMatchObject({
        summary: { ...none, processed: 1, unchanged: 1 },
        items: [],
      });

      await service.api.loadFeed('sku,product_name\nA,Other\n', 'Ran before');

      expect((await plan(jobId)).body.items).toMatchObject([
        { action: 'update', changes: [{ field: 'product_name', before: 'Other', after: 'A' }] },
      ]);
    });

    it('compares with products of its own partner only', async () => {
      await service.api.loadFeed('sku,product_name\nA,A\n', 'One');
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Another');

      expect((await plan(jobId)).body.summary).toEqual({ ...none, processed: 1, inserted: 1 });
    });

    it('writes no row and consumes no product number', async () => {
      const { jobId: ran } = await service.api.loadFeed('sku,product_name\nA,A\n,B\n', 'Unchanged');
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A2\nB,B\nB,C\n,D\n', 'Unchanged');
      const { jobId: broken } = await service.api.uploadFeed('sku,product_name\nA,A3\n"', 'Unchanged');
      const before = await state();

      for (const id of [ran, jobId, broken, jobId]) expect((await plan(id)).status).toBe(200);

      expect(await state()).toEqual(before);
      expect((await service.api.get(`/jobs/${jobId}`)).body.status).toBe('queued');
    });

    describe('page by page', () => {
      let jobId: string;
      beforeAll(async () => {
        await service.api.loadFeed('sku,product_name\nS3,Same\n', 'Pages');
        const rows = Array.from({ length: 120 }, (_, n) => `S${n},Same\n${n % 10 === 0 ? ',bad\n' : ''}`);
        ({ jobId } = await service.api.uploadFeed(`sku,product_name\n${rows.join('')}`, 'Pages'));
      });

      const walk = async (limit: number) => {
        const pages: { count: number; items: { sku: string }[]; summary: unknown }[] = [];
        for (let query = `?limit=${limit}`; ;) {
          const { body } = await plan(jobId, query);
          pages.push(body);
          if (body.next_cursor === undefined) return pages;
          query = `?limit=${limit}&cursor=${body.next_cursor}`;
        }
      };
      const skus = Array.from({ length: 120 }, (_, n) => `S${n}`).filter((sku) => sku !== 'S3');

      it.each([17, 40, 118, 119, 120, 1000])(
        'pages of %i have no gap and no repeat, and the totals',
        async (limit) => {
          const pages = await walk(limit);

          expect(pages.flatMap(({ items }) => items.map(({ sku }) => sku))).toEqual(skus);
          for (const page of pages) {
            expect(page.count).toBe(page.items.length);
            expect(page.summary).toEqual({
              processed: 132,
              inserted: 119,
              updated: 0,
              unchanged: 1,
              skipped: 12,
              withdrawn: 0,
              restored: 0,
            });
          }
        },
      );

      it('a page has 100 changes by default, and an empty cursor counts as absent', async () => {
        expect((await plan(jobId)).body.count).toBe(100);
        expect((await plan(jobId, '?cursor=&limit=2')).body.items).toMatchObject([
          { sku: 'S0' },
          { sku: 'S1' },
        ]);
      });

      it('a limit of 0 returns only the counters', async () => {
        const { body } = await plan(jobId, '?limit=0');

        expect(body).toMatchObject({ summary: { inserted: 119 }, count: 0, items: [] });
        expect(body).not.toHaveProperty('next_cursor');
      });

      it('a cursor beyond the last row returns no changes', async () => {
        expect((await plan(jobId, '?cursor=999999999')).body).toMatchObject({ count: 0, items: [] });
      });
    });

    describe('of a failing run reports', () => {
      const failed = (reason: string, skipped: number) => {
        const counters = `Products processed: ${skipped}. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: ${skipped}.`;
        return {
          status: 'failed',
          message: `ETL processing failed: ${reason} ${counters}`,
          summary: { ...none, processed: skipped, skipped },
          count: 0,
          items: [],
        };
      };

      it('an unclosed quote with the rows skipped before it, like the run', async () => {
        const { jobId } = await service.api.uploadFeed(
          'sku,product_name,price\nA,A,1\nB,B,NA\nC,"C\n',
          'Would fail',
        );

        const { status, body } = await plan(jobId);
        const { body: job } = await run(jobId);

        expect(status).toBe(200);
        expect(body).toMatchObject(
          failed('The quote that opens in the record at line 4 is never closed.', 1),
        );
        const { message, summary, issue_counts } = job;
        expect(body).toMatchObject({ message, summary, issue_counts });
        expect(issue_counts).toMatchObject([{ code: 'invalid_price', count: 1 }]);
      });

      it('a missing raw file, and one without header', async () => {
        const { feedId, jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'No file');
        const file = await rawFilePath(service, feedId);
        await rename(file, `${file}.away`);

        expect((await plan(jobId)).body).toMatchObject(
          failed('The raw file is missing from object storage.', 0),
        );
        await replaceRawFile(service, feedId, 'a,b\n');
        expect((await plan(jobId)).body).toMatchObject(
          failed('Invalid CSV file: Missing required CSV headers: product_name, sku.', 0),
        );
      });
    });

    it.each([
      ['reads', whileReading],
      ['loads', whileLoading],
    ])(
      'does not wait for locks: another run of the partner %s meanwhile, or a run of the same job',
      async (what, hold) => {
        const partner = `Meanwhile ${what}`;
        const held = await service.api.uploadFeed('sku,product_name\nA,A\n', partner);
        const { jobId } = await service.api.uploadFeed('sku,product_name\nA,B\n', partner);

        const { body } = await hold(service, held, async () => {
          expect((await plan(jobId)).body.summary).toEqual({ ...none, processed: 1, inserted: 1 });
          if (what === 'loads') {
            expect((await plan(held.jobId)).body.summary).toEqual({ ...none, processed: 1, inserted: 1 });
          }
          expect((await service.api.get(`/jobs/${held.jobId}`)).body.status).toBe('running');
        });

        expect(body.summary).toMatchObject({ inserted: 1 });
        expect((await plan(jobId)).body.summary).toEqual({ ...none, processed: 1, updated: 1 });
      },
    );
  });

  describe('400', () => {
    it('rejects a submission job', async () => {
      const { submissionJobId } = await service.api.uploadFeed('sku,product_name\n');

      const { status, body } = await plan(submissionJobId);

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Only validation jobs can be run' });
    });

    it.each(['x', '0', '-1', '1.5', '01', '%201', '1%00', '9999999999'])(
      'rejects the cursor %s, before limit and job',
      async (cursor) => {
        const { jobId } = await service.api.uploadFeed('sku,product_name\n');

        for (const [id, query] of [
          [jobId, `?cursor=${cursor}`],
          [jobId, `?limit=x&cursor=${cursor}`],
          ['JV99999', `?cursor=${cursor}`],
        ] as const) {
          const { status, body } = await plan(id, query);

          expect(status).toBe(400);
          expect(body).toEqual({ detail: 'Invalid cursor value.' });
        }
      },
    );

    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await plan('%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n');

      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await service.api.withKey(key).post(`/jobs/${id}/plan?limit=x`);

        expect(status).toBe(401);
        expect(body).toEqual({ detail: 'Invalid or missing API key' });
      }
    });
  });

  describe('404', () => {
    it.each(['JV99999', 'JS99999', 'JV00000', 'jv00001', 'JV1', 'FD00001', 'JV00001%00'])(
      'does not find the job %s',
      async (id) => {
        await service.api.uploadFeed('sku,product_name\n');

        const { status, body } = await plan(id);

        expect(status).toBe(404);
        expect(body).toEqual({ detail: 'Job not found' });
      },
    );
  });

  describe('422', () => {
    it('rejects a limit of withdrawals for a feed that withdraws nothing', async () => {
      const { jobId } = await service.api.uploadFeed('sku,product_name\nA,Tent\n', 'Limits');

      const { status, body } = await plan(jobId, '?max_withdrawn=1');

      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ type: 'not_replace', loc: ['query', 'max_withdrawn'] }]);
    });

    it.each([
      ['-1', 'greater_than_equal', 'Input should be greater than or equal to 0', { ge: 0 }],
      ['1001', 'less_than_equal', 'Input should be less than or equal to 1000', { le: 1000 }],
      [
        'ten',
        'int_parsing',
        'Input should be a valid integer, unable to parse string as an integer',
        undefined,
      ],
      ['', 'int_parsing', 'Input should be a valid integer, unable to parse string as an integer', undefined],
      [
        '1.5',
        'int_parsing',
        'Input should be a valid integer, unable to parse string as an integer',
        undefined,
      ],
    ])('rejects the limit %j, whether the job exists or not', async (limit, type, msg, ctx) => {
      const { jobId } = await service.api.uploadFeed('sku,product_name\n');

      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await plan(id, `?limit=${limit}`);

        expect(status).toBe(422);
        expect(body).toEqual({
          detail: [{ type, loc: ['query', 'limit'], msg, input: limit, ...(ctx && { ctx }) }],
        });
      }
    });
  });
});
