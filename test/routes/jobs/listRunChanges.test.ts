import type { ApiClient } from '../../support/api-client';
import { beginHistoryAt, removeVersionsUntil } from '../../support/write-history';
import { leaveRunning } from '../../support/runs-in-flight';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const header = 'sku,product_name,price\n';
const replace = { mode: 'replace' };
const changes = (jobId: string, query = '?run=1', api: ApiClient = service.api) =>
  api.get(`/jobs/${jobId}/changes${query}`);
const shown = (items: { sku: string; action: string }[]) =>
  items.map(({ sku, action }) => `${action} ${sku}`);

describe('GET /jobs/{job_id}/changes', () => {
  describe('200', () => {
    it('lists inserted products by number with all their values', async () => {
      const { jobId, feedId, job } = await service.api.loadFeed(
        `${header}B,Lamp,\nA,Tent,5.50\nX,Mat,NA\n`,
        'New',
      );

      const { status, body } = await changes(jobId);

      expect(status).toBe(200);
      const { body: products } = await service.api.get(
        '/products?partner_name=New&sort_by=product_id&order=asc',
      );
      const [first, second] = products.items;
      const base = { row: null, line: null, action: 'insert' };
      expect(body).toEqual({
        job_id: jobId,
        feed_id: feedId,
        run: 1,
        kind: 'load',
        status: 'completed',
        message: job.message,
        summary: job.summary,
        count: 2,
        items: [
          {
            ...base,
            product_id: first.product_id,
            sku: 'B',
            product_name: 'Lamp',
            changes: [{ field: 'product_name', before: null, after: 'Lamp' }],
          },
          {
            ...base,
            product_id: second.product_id,
            sku: 'A',
            product_name: 'Tent',
            changes: [
              { field: 'product_name', before: null, after: 'Tent' },
              { field: 'price', before: null, after: '5.5' },
            ],
          },
        ],
      });
    });

    it('lists updates, withdrawals and restorations with the values before and after the run, independent of later changes', async () => {
      const partner = 'Later';
      await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,7\nC,Mat,1\nD,Mug,2\n`, partner, replace);
      await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,7\nD,Mug,2\n`, partner, replace);
      const feed = await service.api.loadFeed(
        `${header}A,Tent,6\nC,Mat,3\nD,Mug,2\nE,Pan,9\n`,
        partner,
        replace,
      );
      const expected = [
        {
          sku: 'A',
          action: 'update',
          changes: [{ field: 'price', before: '5', after: '6' }],
          price_change_percent: 20,
        },
        { sku: 'B', product_name: 'Lamp', action: 'withdraw', changes: [] },
        { sku: 'C', action: 'restore', changes: [{ field: 'price', before: '1', after: '3' }] },
        {
          sku: 'E',
          action: 'insert',
          changes: [
            { field: 'product_name', before: null, after: 'Pan' },
            { field: 'price', before: null, after: '9' },
          ],
        },
      ];

      expect((await changes(feed.jobId)).body.items).toMatchObject(expected);

      await service.api.loadFeed(`${header}A,Tents,8\nB,Lamp,7\nE,Pan,10\n`, partner);
      expect((await changes(feed.jobId)).body.items).toMatchObject(expected);
    });

    it('names the currency of values that change, as its plan does, also where a revert withdraws', async () => {
      const partner = 'Currencies';
      const priced = 'sku,product_name,price,currency\n';
      await service.api.loadFeed(`${priced}A,Tent,5,EUR\nB,Lamp,7,EUR\nC,Mat,1,USD\n`, partner, replace);
      await service.api.loadFeed(`${priced}A,Tent,5,EUR\nB,Lamp,7,EUR\n`, partner, replace);
      const csv = `${priced}A,Tent,6,EUR\nC,Mat,3,USD\nD,Mug,2,\n`;
      const { jobId } = await service.api.uploadFeed(csv, partner, replace);
      const currencies = (items: { sku: string; action: string; currency?: string }[]) =>
        items.map(({ sku, action, currency }) => `${action} ${sku} ${currency}`).sort();
      const expected = ['insert D undefined', 'restore C USD', 'update A EUR', 'withdraw B undefined'];

      expect(currencies((await service.api.post(`/jobs/${jobId}/plan`)).body.items)).toEqual(expected);
      await service.api.post(`/jobs/${jobId}/run`);
      expect(currencies((await changes(jobId)).body.items)).toEqual(expected);

      // The withdrawn product gets its earlier price; the restored one keeps its values.
      await service.api.post(`/jobs/${jobId}/revert?run=1`);
      expect(currencies((await changes(jobId, '?run=2')).body.items)).toEqual([
        'restore B undefined',
        'update A EUR',
        'withdraw C USD',
        'withdraw D undefined',
      ]);
    });

    it('lists each run of a job by its number, and no changes for a run that changed nothing', async () => {
      const partner = 'Numbers';
      const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, partner);
      await service.api.post(`/jobs/${jobId}/run`);
      await service.api.loadFeed(`${header}A,Tent,6\n`, partner);
      await service.api.post(`/jobs/${jobId}/run`);

      expect(shown((await changes(jobId, '?run=1')).body.items)).toEqual(['insert A']);
      expect((await changes(jobId, '?run=2')).body).toMatchObject({ run: 2, count: 0, items: [] });
      expect((await changes(jobId, '?run=3')).body.items).toMatchObject([
        { action: 'update', changes: [{ field: 'price', before: '6', after: '5' }] },
      ]);
    });

    it('shows the reason of a run that failed, and no changes', async () => {
      const { jobId, job } = await service.api.loadFeed('sku,product_name\nA,"Tent\n', 'Failed');

      expect((await changes(jobId)).body).toMatchObject({
        status: 'failed',
        message: job.message,
        count: 0,
        items: [],
      });
    });

    it('shows no summary and no changes of a run in progress', async () => {
      const feed = await service.api.uploadFeed(`${header}A,Tent,5\n`, 'Running');
      await leaveRunning(service, feed);

      expect((await changes(feed.jobId)).body).toMatchObject({ status: 'running', summary: null, items: [] });
    });

    it('omits columns that only SQL has changed, and products that were deleted', async () => {
      const partner = 'By hand';
      await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,7\nC,Mat,1\n`, partner);
      await service
        .db('products')
        .where({ sku: 'A', product_name: 'Tent' })
        .update({ description: 'by hand' });
      const { jobId } = await service.api.loadFeed(`${header}B,Lamp,8\nC,Mat,2\n`, partner);
      await service.db('products').where({ sku: 'C', price: 2 }).delete();

      expect(shown((await changes(jobId)).body.items)).toEqual(['update B']);
    });

    it('pages by product number, without a gap or a repeat', async () => {
      const rows = Array.from({ length: 7 }, (_, at) => `S${at},Tent,${at}\n`).join('');
      const { jobId } = await service.api.loadFeed(header + rows, 'Pages');
      const seen: string[] = [];
      let query = '?run=1&limit=3';
      for (let pages = 1; ; pages++) {
        const { body } = await changes(jobId, query);
        seen.push(...body.items.map(({ sku }: { sku: string }) => sku));
        if (body.next_cursor === undefined) {
          expect(pages).toBe(3);
          break;
        }
        expect(body.count).toBe(3);
        query = `?run=1&limit=3&cursor=${body.next_cursor}`;
      }
      expect(seen).toEqual(['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'S6']);
      expect((await changes(jobId, '?run=1&limit=0')).body).toMatchObject({ count: 0, items: [] });
      expect((await changes(jobId, '?run=1&limit=0')).body.next_cursor).toBeUndefined();
    });

    it('ends a page early when its values reach 1 MiB', async () => {
      const rows = Array.from({ length: 20 }, (_, at) => `S${at},Tent,${'x'.repeat(65_000)}\n`).join('');
      const { jobId } = await service.api.loadFeed(`sku,product_name,description\n${rows}`, 'Long');

      const { body } = await changes(jobId, '?run=1');
      expect(body.count).toBeGreaterThan(1);
      expect(body.count).toBeLessThan(20);
      expect((await changes(jobId, `?run=1&cursor=${body.next_cursor}`)).body.count).toBe(20 - body.count);
    });

    it('shows a key that is limited to a partner its own runs', async () => {
      const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'Limited');
      const own = await withStoredKey(service, 'Limited');

      expect((await changes(jobId, '?run=1', own)).body.count).toBe(1);
    });
  });

  it('400: rejects a cursor that is not a product id', async () => {
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'Cursor');

    for (const cursor of ['x', '1', 'PR1', 'FD00001']) {
      const { status, body } = await changes(jobId, `?run=1&cursor=${cursor}`);
      expect([status, body]).toEqual([400, { detail: 'Invalid cursor value.' }]);
    }
  });

  it('400: rejects a cursor of another order', async () => {
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,6\n`, 'Orders');
    const cursors = ['', 'price_change'].map(async (sort) => {
      const { body } = await changes(jobId, `?run=1&limit=1&sort_by=${sort}`);
      return body.next_cursor as string;
    });

    const [usual, sized] = await Promise.all(cursors);
    for (const query of [`cursor=${sized}`, `sort_by=price_change&cursor=${usual}`]) {
      const { status, body } = await changes(jobId, `?run=1&${query}`);
      expect([status, body]).toEqual([400, { detail: 'Invalid cursor value.' }]);
    }
  });

  describe('404', () => {
    it('does not find a job of another partner, or a submission job with runs', async () => {
      const { jobId, submissionJobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'Mine');
      const foreign = await withStoredKey(service, 'Another');

      for (const answer of [
        await changes(jobId, '?run=1', foreign),
        await changes('JV99999'),
        await changes('x'),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { detail: 'Job not found' }]);
      }
      const { status, body } = await changes(submissionJobId);
      expect([status, body]).toEqual([404, { detail: `Job ${submissionJobId} has no run 1.` }]);
    });

    it('does not find a run that the job does not have', async () => {
      const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'One');

      const { status, body } = await changes(jobId, '?run=2');
      expect([status, body]).toEqual([404, { detail: `Job ${jobId} has no run 2.` }]);
    });
  });

  describe('410', () => {
    const gone = (jobId: string) => [410, { detail: `The history of run 1 of job ${jobId} is not kept.` }];

    it('reports that retention has removed the history of the run', async () => {
      const partner = 'Pruned';
      const first = await service.api.loadFeed(`${header}A,Tent,5\n`, partner);
      const second = await service.api.loadFeed(`${header}A,Tent,6\n`, partner);
      await service.api.loadFeed(`${header}A,Tent,7\n`, partner);
      await removeVersionsUntil(service, partner, new Date().toISOString());

      for (const { jobId } of [first, second]) {
        const { status, body } = await changes(jobId);
        expect([status, body]).toEqual(gone(jobId));
      }
    });

    it('reports the same for a run of an earlier release, which kept no history', async () => {
      const partner = 'Earlier';
      const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, partner);
      await service
        .db('catalog_versions')
        .where('job_id', Number(jobId.slice(2)))
        .delete();

      const { status, body } = await changes(jobId);
      expect([status, body]).toEqual(gone(jobId));
      await beginHistoryAt(service, new Date().toISOString());
    });
  });

  it('422: rejects an unknown order or action', async () => {
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'Unknown');

    for (const [name, value] of [
      ['sort_by', 'sku'],
      ['action', 'move'],
    ]) {
      const { status, body } = await changes(jobId, `?run=1&${name}=${value}`);
      expect([status, body]).toMatchObject([422, { detail: [{ type: 'enum', loc: ['query', name] }] }]);
    }
  });

  it('422: rejects a missing or wrong run number', async () => {
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'Wrong');

    for (const query of [
      '',
      '?run=',
      '?run=0',
      '?run=x',
      '?run=1.5',
      '?run=99999999999',
      '?run=1&limit=1001',
    ]) {
      const { status, body } = await changes(jobId, query);
      expect([query, status]).toEqual([query, 422]);
      expect(body.detail[0].loc).toEqual(['query', query.includes('limit') ? 'limit' : 'run']);
    }
  });
});
