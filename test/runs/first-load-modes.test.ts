import { requestRunOf } from '../support/requested-runs';
import { runFeed } from '../../src/runs/execution/run-feed';
import { createLog } from '../../src/base/log';
import type { UploadedFeed } from '../support/api-client';
import { eventually } from '../support/harness';
import { findBrokenHistory } from '../support/history-invariants';
import { onLocalProducts } from '../support/local-products';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const csv = 'sku,product_name,price\nA,Tent,1\nB,Lamp,1\nC,Stove,NA\n';

/** Runs a job, directly into `products` if possible, for any feed size. @returns the job */
async function runDirectly({ jobId }: Pick<UploadedFeed, 'jobId'>) {
  const { api, db, objectStore } = service;
  const requested = await requestRunOf(db, Number(jobId.slice(2)), { attempts: 1 });
  const context = { db, objectStore, log: createLog('silent'), firstLoadBytes: 0 };
  await runFeed(requested, context);
  return (await api.get(`/jobs/${jobId}`)).body;
}

const loadDirectly = async (partner: string, fields: Record<string, string> = {}, content = csv) =>
  runDirectly(await service.api.uploadFeed(content, partner, fields));

/** The collection of each active product of a partner, by sku. */
async function collections(partner: string): Promise<Record<string, string>> {
  const rows = await service
    .db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where({ partner_name: partner })
    .whereNull('withdrawn_at')
    .select<{ sku: string; collection: string }[]>('sku', 'collection');
  return Object.fromEntries(rows.map(({ sku, collection }) => [sku, collection]));
}

onLocalProducts(describe, 'the transaction waits for nothing there')(
  'a first load straight into products',
  () => {
    it('shows the feed as validated, and the phase loading, after its file is read', async () => {
      const feed = await service.api.uploadFeed(csv, 'Held');
      const statusOf = async () => (await service.api.get(`/feeds/${feed.feedId}`)).body.status as string;
      const held = await service.db.transaction();
      // The run inserts the same product, and waits for this transaction.
      await held.raw(
        `insert into products (feed_id, partner_id, sku, product_name)
       select feed_id, partner_id, 'B', 'Held' from feeds where feed_id = ?`,
        [Number(feed.feedId.slice(2))],
      );

      const run = runDirectly(feed);

      await eventually('the feed is validated', async () => (await statusOf()) === 'validated');
      await eventually('the phase is shown', async () => {
        const { body } = await service.api.get(`/jobs/${feed.jobId}`);
        return body.progress?.phase === 'loading';
      });
      await held.rollback();
      expect((await run).summary).toMatchObject({ inserted: 2, skipped: 1 });
      expect(await statusOf()).toBe('processed');
    });
  },
);

describe('a first load straight into products', () => {
  it.each(['upsert', 'replace'])(
    'puts the products of a feed with mode %s into its collection',
    async (mode) => {
      const partner = `Collection ${mode}`;

      const job = await loadDirectly(partner, { mode, collection: 'winter' });

      expect(job.summary).toEqual({
        processed: 3,
        inserted: 2,
        updated: 0,
        unchanged: 0,
        skipped: 1,
        withdrawn: 0,
        restored: 0,
      });
      expect(await collections(partner)).toEqual({ A: 'winter', B: 'winter' });
      const replace = { mode: 'replace' };
      const other = await service.api.loadFeed('sku,product_name\nD,Cup\n', partner, replace);
      expect(other.job.summary).toMatchObject({ inserted: 1, withdrawn: 0 });
      const same = await service.api.loadFeed('sku,product_name,price\nA,Tent,1\n', partner, {
        ...replace,
        collection: 'winter',
      });
      expect(same.job.summary).toMatchObject({ unchanged: 1, withdrawn: 1 });
      expect(await collections(partner)).toEqual({ A: 'winter', D: 'main' });
    },
  );

  it('is not done for a feed with mode update, whose rows match no product', async () => {
    const job = await loadDirectly('Update', { mode: 'update' });

    expect(job.summary).toMatchObject({ processed: 3, inserted: 0, skipped: 3 });
    expect(job.issue_counts).toMatchObject([{ code: 'unknown_sku', count: 2 }, { code: 'invalid_price' }]);
    expect(await collections('Update')).toEqual({});
  });

  it('withholds no product, but reports it, when a row of a replace feed cannot be split into cells', async () => {
    const misquoted = `${csv}"D"x,Cup,1\n`;

    const job = await loadDirectly('Misquoted', { mode: 'replace' }, misquoted);

    expect(job.summary).toMatchObject({ inserted: 2, skipped: 2, is_withdrawal_withheld: true });
    const other = await loadDirectly('Misquoted too', { mode: 'upsert' }, misquoted);
    expect(other.summary).toMatchObject({ inserted: 2, skipped: 2 });
    expect(other.summary).not.toHaveProperty('is_withdrawal_withheld');
  });

  it('adds the manual deletion of all earlier products to the history, even if it loads none', async () => {
    const { jobId } = await service.api.loadFeed(csv, 'Deleted');
    const of = { feed_id: service.db('validation_jobs').where('job_id', jobId.slice(2)).select('feed_id') };
    await service.db('products').where(of).delete();

    const job = await loadDirectly('Deleted', {}, 'sku,product_name\n,No sku\n');

    expect(job.summary).toMatchObject({ processed: 1, inserted: 0, skipped: 1 });
    expect(await findBrokenHistory(service.db)).toEqual([]);
  });

  it('is rolled back when more rows are skipped than max_skipped_percent allows', async () => {
    const job = await loadDirectly('Skips', { max_skipped_percent: '33.3' });

    expect(job).toMatchObject({ status: 'failed', summary: { inserted: 0 } });
    expect(job.message).toContain('1 of 3 rows were skipped');
    expect(await collections('Skips')).toEqual({});
    expect((await service.api.get('/partners/Skips')).body.products).toBe(0);
  });

  it('of a replace feed is rolled back when a newer feed has left no product', async () => {
    const older = await service.api.uploadFeed(csv, 'Older', { mode: 'replace' });
    const { feedId } = await service.api.loadFeed('sku,product_name\n', 'Older', { mode: 'replace' });

    const job = await runDirectly(older);

    expect(job.status).toBe('failed');
    expect(job.message).toContain(`A newer feed (${feedId}) has been loaded since.`);
    expect(await collections('Older')).toEqual({});
  });
});
