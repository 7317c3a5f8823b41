import type { ApiClient, UploadedFeed } from '../../support/api-client';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import { eventually } from '../../support/harness';
import { leaveRunning } from '../../support/runs-in-flight';
import { removeVersionsUntil } from '../../support/write-history';
import { findBrokenHistory } from '../../support/history-invariants';
import { aTimestamp } from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
const header = 'sku,product_name,price\n';
const replace = { mode: 'replace' };
const load = (rows: string, partner: string, fields: Record<string, string> = {}, query = '') =>
  service.api.loadFeed(header + rows, partner, fields, query);
const revert = (
  { jobId }: Pick<UploadedFeed, 'jobId'>,
  query = '?run=1',
  headers: Record<string, string> = {},
  api: ApiClient = service.api,
) => api.post(`/jobs/${jobId}/revert${query}`, undefined, headers);

/** All columns of a partner's products that a run writes. */
async function catalogOf(partner: string): Promise<{ collection: string }[]> {
  return service
    .db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where('partner_name', partner)
    .orderBy('product_id')
    .select(
      ...[
        'product_id',
        'sku',
        'product_name',
        'description',
        'price',
        'feed_id',
        'record_offset',
        'collection',
      ],
      'withdrawn_at',
    );
}

const skusOf = async (partner: string): Promise<string[]> => {
  const { body } = await service.api.get(
    `/products?partner_name=${encodeURIComponent(partner)}&sort_by=product_id&order=asc`,
  );
  return body.items.map(({ sku, price }: { sku: string; price: number }) => `${sku} ${price}`);
};
const runsOf = async ({ jobId }: UploadedFeed) => (await service.api.get(`/jobs/${jobId}/runs`)).body.items;
const counters = {
  processed: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  skipped: 0,
  withdrawn: 0,
  restored: 0,
};
const summaryText = ({ processed, updated, unchanged, skipped } = counters) =>
  `Products processed: ${processed}. Inserted: 0. Updated: ${updated}. Unchanged: ${unchanged}. Skipped: ${skipped}.`;

/** Loads three days: the last one changes, withdraws, restores and inserts. */
async function loadThreeDays(partner: string) {
  await load('A,Tent,5\nB,Lamp,7\nC,Mat,1\nD,Mug,2\n', partner, replace);
  await load('A,Tent,5\nB,Lamp,7\nD,Mug,2\n', partner, replace);
  const before = await catalogOf(partner);
  const feed = await load('A,Tent,6\nC,Mat,3\nD,Mug,2\nE,Pan,9\n', partner, replace);
  return { before, feed };
}

describe('POST /jobs/{job_id}/revert', () => {
  describe('200', () => {
    afterEach(async () => {
      expect(await findBrokenHistory(service.db)).toEqual([]);
    });

    it('restores the values and feed of changed products, withdraws inserted ones, and restores withdrawn ones', async () => {
      const partner = 'Undone';
      const { before, feed } = await loadThreeDays(partner);

      const { status, body } = await revert(feed);

      const summary = { ...counters, processed: 2, updated: 2, withdrawn: 2, restored: 1 };
      expect([status, body]).toEqual([
        200,
        {
          job_id: feed.jobId,
          feed_id: feed.feedId,
          reverts_run: 1,
          run: 2,
          status: 'completed',
          message: summaryText(summary),
          summary,
        },
      ]);
      const after = await catalogOf(partner);
      expect(after.slice(0, 4)).toEqual(before);
      expect(after[4]).toMatchObject({ sku: 'E', price: '9.0000', withdrawn_at: expect.any(Date) });
      expect(await skusOf(partner)).toEqual(['A 5', 'B 7', 'D 2']);
      expect((await service.api.get(`/partners/${partner}`)).body.products).toBe(3);
    });

    it('lists the revert and its changes among the runs, while the job shows its last load', async () => {
      const { feed } = await loadThreeDays('Shown');
      const paths = [`/jobs/${feed.jobId}`, `/jobs/${feed.jobId}/issues`, `/feeds/${feed.feedId}`];
      const read = () => Promise.all(paths.map(async (path) => (await service.api.get(path)).body));
      const before = await read();

      await revert(feed);

      const [job, issues, shown] = before;
      expect(await read()).toEqual([{ ...job, reverted_by: 2 }, issues, { ...shown, reverted_by: 2 }]);
      const [run, loaded] = await runsOf(feed);
      expect(run).toEqual({
        run: 2,
        kind: 'revert',
        reverts_run: 1,
        status: 'completed',
        requested_by: 'api-keys',
        requested_at: aTimestamp,
        started_at: aTimestamp,
        finished_at: aTimestamp,
        failure_reason: null,
        summary: { ...counters, processed: 2, updated: 2, withdrawn: 2, restored: 1 },
      });
      expect(loaded).toMatchObject({ run: 1, kind: 'load' });
      const { body } = await service.api.get(`/jobs/${feed.jobId}/changes?run=2`);
      expect(body.items).toMatchObject([
        { sku: 'A', action: 'update', changes: [{ field: 'price', before: '6', after: '5' }] },
        { sku: 'B', action: 'restore', changes: [] },
        { sku: 'C', action: 'withdraw', changes: [{ field: 'price', before: '3', after: '1' }] },
        { sku: 'E', action: 'withdraw', changes: [] },
      ]);
    });

    it('creates one version of each product, at one instant, with the earlier record as its source', async () => {
      const partner = 'Version';
      const first = await load('A,Tent,5\nB,Lamp,7\n', partner);
      const second = await load('A,Tent,6\nB,Lamp,8\n', partner);
      const { body: listed } = await service.api.get(
        `/products?partner_name=${partner}&sort_by=product_id&order=asc`,
      );
      const ids = listed.items.map((product: { product_id: string }) => product.product_id) as string[];

      await revert(second);

      const instants = new Set<string>();
      for (const id of ids) {
        const { body } = await service.api.get(`/products/${id}/history`);
        expect(body.items).toHaveLength(3);
        expect(body.items[0]).toMatchObject({ job_id: second.jobId, run: 2, feed_id: first.feedId });
        instants.add(body.items[0].valid_from as string);
      }
      expect(instants.size).toBe(1);
      const { body: source } = await service.api.get(`/products/${ids[1]}/source`);
      expect(source).toMatchObject({ feed_id: first.feedId, record_text: 'B,Lamp,7' });
      const { body: byFeed } = await service.api.get(`/products/by-feed/${first.feedId}`);
      expect(byFeed.count).toBe(2);
    });

    it('drops the digests: the same feed loads the reverted rows again', async () => {
      const { feed } = await loadThreeDays('Again');
      const loaded = await skusOf('Again');
      await revert(feed);

      const { body } = await service.api.post(`/jobs/${feed.jobId}/run`);

      expect(body.summary).toEqual({
        ...counters,
        processed: 4,
        updated: 3,
        unchanged: 1,
        withdrawn: 1,
        restored: 2,
      });
      expect(await skusOf('Again')).toEqual(loaded);
      expect((await runsOf(feed)).map(({ run, kind }: { run: number; kind: string }) => [run, kind])).toEqual(
        [
          [3, 'load'],
          [2, 'revert'],
          [1, 'load'],
        ],
      );
    });

    it('can be reverted itself, which restores the catalog, and then repeated', async () => {
      const partner = 'Redone';
      const { before, feed } = await loadThreeDays(partner);
      const loaded = await catalogOf(partner);
      await revert(feed);

      expect((await revert(feed, '?run=2')).body).toMatchObject({
        reverts_run: 2,
        run: 3,
        status: 'completed',
      });
      expect(await catalogOf(partner)).toEqual(loaded);

      expect((await revert(feed)).body).toMatchObject({ reverts_run: 1, run: 4, status: 'completed' });
      expect((await catalogOf(partner)).slice(0, 4)).toEqual(before);
    });

    it('reverts several runs, the last one first', async () => {
      const partner = 'Several';
      const first = await load('A,Tent,5\nB,Lamp,7\n', partner);
      const before = await catalogOf(partner);
      const second = await load('A,Tent,6\nB,Lamp,8\n', partner);
      const third = await load('A,Tent,7\n', partner);

      for (const feed of [third, second]) expect((await revert(feed)).body.status).toBe('completed');

      expect(await catalogOf(partner)).toEqual(before);
      expect((await revert(first)).body.summary).toMatchObject({ withdrawn: 2, skipped: 0 });
      expect(await skusOf(partner)).toEqual([]);
    });

    it('skips conflicts with on_conflict=skip, and counts them as skipped', async () => {
      const partner = 'Skipped';
      await load('A,Tent,5\nB,Lamp,7\n', partner);
      const second = await load('A,Tent,6\nB,Lamp,8\nC,Mat,1\n', partner);
      await load('B,Lamp,9\n', partner);

      const { body } = await revert(second, '?run=1&on_conflict=skip');

      expect(body.summary).toEqual({ ...counters, processed: 2, updated: 1, skipped: 1, withdrawn: 1 });
      expect(await skusOf(partner)).toEqual(['A 5', 'B 9']);
    });

    it('counts products that have their earlier values already as unchanged, and writes no change without effect', async () => {
      const partner = 'Unchanged';
      const first = await load('A,Tent,5\n', partner);
      await service.api.post(`/jobs/${first.jobId}/run`);
      const { body: products } = await service.api.get(`/products?partner_name=${partner}`);
      await service.api.post(`/products/${products.items[0].product_id}/withdraw`);

      expect((await revert(first, '?run=2')).body).toMatchObject({ status: 'completed', summary: counters });
      expect((await revert(first)).body.summary).toEqual({ ...counters, processed: 1, unchanged: 1 });
    });

    it('ignores changes by SQL that were made before the run', async () => {
      const partner = 'By hand';
      await load('A,Tent,5\nB,Lamp,7\n', partner);
      await service
        .db('products')
        .where({ sku: 'A', product_name: 'Tent', price: 5 })
        .update({ description: 'by hand' });
      const second = await load('B,Lamp,8\n', partner);

      expect((await revert(second)).body.summary).toEqual({ ...counters, processed: 1, updated: 1 });
      expect(await catalogOf(partner)).toMatchObject([{ description: 'by hand' }, { price: '7.0000' }]);
    });

    it('moves products back to the collection of their earlier feed, whether or not they have changed', async () => {
      const partner = 'Collections';
      const first = await load('A,Tent,5\nB,Lamp,7\n', partner);
      const before = await catalogOf(partner);
      const second = await load('A,Tent,6\nB,Lamp,7\n', partner, { collection: 'sale' });

      const { body: changes } = await service.api.get(`/jobs/${second.jobId}/changes?run=1`);
      expect(changes.items).toMatchObject([{ sku: 'A', action: 'update' }]);
      const { body: lamps } = await service.api.get(`/products?partner_name=${partner}&sku=B`);
      const { body: history } = await service.api.get(`/products/${lamps.items[0].product_id}/history`);
      expect(history.items).toMatchObject([{ job_id: second.jobId, changes: [] }, { job_id: first.jobId }]);
      expect((await revert(first)).body.conflicts).toHaveLength(2);
      expect((await revert(second)).body.summary).toEqual({ ...counters, processed: 2, updated: 2 });

      expect(await catalogOf(partner)).toEqual(before);
      const again = await load('A,Tent,5\nB,Lamp,7\n', partner, { mode: 'replace' });
      expect(again.job.summary).toMatchObject({ unchanged: 2, withdrawn: 0 });
    });

    it('reverts to the values before changes by SQL that were made before the run', async () => {
      const partner = 'Moved by hand';
      await load('A,Tent,5\n', partner);
      const before = await catalogOf(partner);
      await service
        .db('products')
        .where({ product_name: 'Tent', price: 5 })
        .update({ description: 'by hand' });
      const second = await load('A,Tent,5\n', partner, { collection: 'sale' });

      expect((await revert(second)).body.summary).toEqual({ ...counters, processed: 1, updated: 1 });
      expect(await catalogOf(partner)).toEqual(before);
    });

    it('keeps products in the collection in which a feed without a collection has changed them', async () => {
      const partner = 'Seasons';
      const rows = (from: number, to: number, price = 1) =>
        Array.from({ length: to - from + 1 }, (_, at) => `S${from + at},Name,${price}\n`).join('');
      await load(rows(1, 100), partner);
      const moved = await load(rows(81, 100), partner, { collection: 'winter' });
      const prices = await load(rows(81, 81, 2) + rows(82, 100), partner, { mode: 'update' });
      const { body: exported } = await service.api.get(`/partners/${partner}/products.csv`);
      await service.api.loadFeed(String(exported), partner);
      const winter = async () =>
        (await catalogOf(partner)).filter(({ collection }) => collection === 'winter').length;

      expect(prices.job.summary).toMatchObject({ updated: 1, unchanged: 19 });
      expect(await winter()).toBe(20);
      expect((await revert(prices)).body.summary).toEqual({ ...counters, processed: 1, updated: 1 });
      expect(await winter()).toBe(20);
      expect((await revert(moved)).body.summary).toEqual({ ...counters, processed: 20, updated: 20 });
      expect(await winter()).toBe(0);
      const main = await load(rows(1, 100), partner, { mode: 'replace' });
      expect(main.job.summary).toMatchObject({ unchanged: 100, withdrawn: 0 });
    });

    it('does not change orders', async () => {
      const partner = 'Orders';
      const feed = await load('A,Tent,5\n', partner);
      const { body: products } = await service.api.get(`/products?partner_name=${partner}`);
      const items = [{ product_id: products.items[0].product_id, quantity: 2 }];
      const { body: order } = await service.api.post('/orders', { partner_name: partner, items });
      const path = `/orders/${order.order_id}`;
      const read = async () => [
        (await service.api.get(path)).body,
        (await service.api.get(`${path}/items/${order.items[0].order_item_id}/source`)).body,
      ];
      const before = await read();

      await revert(feed);

      expect(await read()).toEqual(before);
      const refused = await service.api.post('/orders', { partner_name: partner, items });
      expect(refused.status).toBe(409);
    });

    it('is found by the earlier name', async () => {
      const partner = 'Search';
      await load('A,Windbreaker,5\n', partner);
      const second = await load('A,Raincoat,5\n', partner);
      const found = async (word: string) => {
        await indexBacklog(service.db);
        return (await service.api.get(`/products?partner_name=${partner}&q=${word}`)).body.count as number;
      };
      expect([await found('windbreaker'), await found('raincoat')]).toEqual([0, 1]);

      await revert(second);

      expect([await found('windbreaker'), await found('raincoat')]).toEqual([1, 0]);
    });

    it('joins a queued revert of the same run: it is reverted once', async () => {
      const { feed } = await loadThreeDays('Joined');
      const queued = await revert(feed, '?run=1', { prefer: 'respond-async' });
      expect(queued.status).toBe(202);

      const { status, body } = await revert(feed);

      expect([status, body]).toMatchObject([200, { run: 2, status: 'completed' }]);
      expect((await revert(feed)).status).toBe(409);
      expect(await runsOf(feed)).toHaveLength(2);
    });

    it('shows the changes with dry_run, in pages, and changes nothing', async () => {
      const partner = 'Dry';
      const { feed } = await loadThreeDays(partner);
      const before = await catalogOf(partner);
      const summary = { ...counters, processed: 2, updated: 2, withdrawn: 2, restored: 1 };

      const { status, body } = await revert(feed, '?run=1&dry_run=true&limit=3');

      expect(status).toBe(200);
      expect(body).toMatchObject({
        reverts_run: 1,
        run: null,
        status: 'completed',
        message: summaryText(summary),
      });
      expect(body).toMatchObject({ summary, count: 3, conflicts: [] });
      expect(body.items).toMatchObject([
        { sku: 'A', action: 'update', row: null, changes: [{ field: 'price', before: '6', after: '5' }] },
        { sku: 'B', action: 'restore', changes: [] },
        { sku: 'C', action: 'withdraw', changes: [{ field: 'price', before: '3', after: '1' }] },
      ]);
      const { body: next } = await revert(feed, `?run=1&dry_run=true&limit=3&cursor=${body.next_cursor}`);
      expect(next).toMatchObject({ summary, count: 1, items: [{ sku: 'E', action: 'withdraw' }] });
      expect(next.next_cursor).toBeUndefined();
      expect((await revert(feed, '?run=1&dry_run=true&limit=0')).body).toMatchObject({ summary, items: [] });
      expect(await catalogOf(partner)).toEqual(before);
      expect(await runsOf(feed)).toHaveLength(1);
    });

    it('shows the conflicts with both values with dry_run, and the effect of on_conflict=skip', async () => {
      const partner = 'Dry conflicts';
      const first = await load('A,Tent,5\nB,Lamp,7\n', partner);
      const second = await load('A,Tent,6\nB,Lamp,8\n', partner);
      const third = await load('B,Lamps,9\n', partner);

      const { status, body } = await revert(second, '?run=1&dry_run=true');

      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'failed',
        message: expect.stringContaining('Revert failed: 1 product was changed since run 1.'),
        summary: { ...counters, processed: 1, skipped: 1 },
        items: [{ sku: 'A' }],
      });
      expect(body.conflicts).toEqual([
        {
          product_id: expect.stringMatching(/^PR/),
          sku: 'B',
          current: { feed_id: third.feedId, product_name: 'Lamps', price: '9' },
          reverted: { feed_id: first.feedId, product_name: 'Lamp', price: '7' },
        },
      ]);
      const { body: skipping } = await revert(second, '?run=1&dry_run=true&on_conflict=skip');
      expect(skipping).toMatchObject({ status: 'completed', summary: { updated: 1, skipped: 1 } });
    });

    it('reverts a run whose raw file was removed', async () => {
      const { feed } = await loadThreeDays('No file');
      await service
        .db('feeds')
        .where('feed_id', Number(feed.feedId.slice(2)))
        .update({ raw_file_removed_at: new Date() });

      expect((await revert(feed)).body.status).toBe('completed');
    });

    it('works for a key that is limited to the partner, and names the key', async () => {
      const { feed } = await loadThreeDays('Limited');
      const own = await withStoredKey(service, 'Limited', 'limited key');

      expect((await revert(feed, '?run=1', {}, own)).status).toBe(200);
      expect((await runsOf(feed))[0].requested_by).toBe('limited key');
    });
  });

  describe('202', () => {
    it('queues the revert, shows it among the runs, and executes it once', async () => {
      const working = await startTestService({ queuedRuns: 1 });
      const feed = await working.api.loadFeed(`${header}A,Tent,5\n`);

      const { status, headers, body } = await revert(
        feed,
        '?run=1',
        { prefer: 'respond-async' },
        working.api,
      );

      expect([status, body]).toMatchObject([202, { run: 2, reverts_run: 1 }]);
      expect(headers.get('location')).toBe(`/jobs/${feed.jobId}/runs`);
      expect(headers.get('preference-applied')).toBe('respond-async');
      expect(headers.get('retry-after')).toBe('1');
      await eventually('it has ended', async () => {
        const { body: list } = await working.api.get(`/jobs/${feed.jobId}/runs`);
        return list.items[0].status === 'completed';
      });
      expect((await working.api.get('/products')).body.count).toBe(0);
    });

    it('shows a queued revert without a start', async () => {
      const { feed } = await loadThreeDays('Queued');

      const { status, body } = await revert(feed, '?run=1', { prefer: 'respond-async' });

      expect([status, body]).toEqual([
        202,
        {
          job_id: feed.jobId,
          feed_id: feed.feedId,
          reverts_run: 1,
          run: 2,
          status: 'queued',
          message: 'The revert is queued. It starts automatically.',
          summary: null,
        },
      ]);
      expect((await runsOf(feed))[0]).toMatchObject({
        kind: 'revert',
        status: 'queued',
        started_at: null,
        finished_at: null,
        summary: null,
      });
      // A repeated request gets the same.
      expect((await revert(feed, '?run=1', { prefer: 'respond-async' })).body.run).toBe(2);
    });

    it('waits as long as the client prefers', async () => {
      const working = await startTestService({ queuedRuns: 1 });
      const feed = await working.api.loadFeed(`${header}A,Tent,5\n`);

      const prefer = 'respond-async, wait=30';
      const { status, body } = await revert(feed, '?run=1', { prefer }, working.api);

      expect([status, body.status]).toEqual([200, 'completed']);
    });
  });

  it('400: rejects a cursor that is not a product id', async () => {
    const { feed } = await loadThreeDays('Cursor');

    const { status, body } = await revert(feed, '?run=1&dry_run=true&cursor=12');
    expect([status, body]).toEqual([400, { detail: 'Invalid cursor value.' }]);
  });

  it('403: rejects a read-only key, also for a preview', async () => {
    const { feed } = await loadThreeDays('Reader');
    const reader = await withStoredKey(service, null, 'reader', { is_read_only: true });

    for (const query of ['?run=1', '?run=1&dry_run=true']) {
      expect((await revert(feed, query, {}, reader)).status).toBe(403);
    }
  });

  it('404: finds neither jobs of others nor runs that the job does not have', async () => {
    const { feed } = await loadThreeDays('Unknown');
    const foreign = await withStoredKey(service, 'Foreign');

    for (const answer of [await revert(feed, '?run=1', {}, foreign), await revert({ jobId: 'JV99999' })]) {
      expect([answer.status, answer.body]).toEqual([404, { detail: 'Job not found' }]);
    }
    for (const jobId of [feed.jobId, feed.submissionJobId]) {
      const { status, body } = await revert({ jobId }, '?run=7');
      expect([status, body]).toEqual([404, { detail: `Job ${jobId} has no run 7.` }]);
    }
  });

  it('200: job, feed and lists name the revert as long as it is in force', async () => {
    const feed = await load('A,Tent,5\n', 'Named');
    const shown = async () => {
      const [job, one, feeds, runs] = await Promise.all(
        [
          `/jobs/${feed.jobId}`,
          `/feeds/${feed.feedId}`,
          '/feeds?partner_name=Named',
          `/jobs/${feed.jobId}/runs`,
        ].map(async (path) => (await service.api.get(path)).body),
      );
      const listed = (runs.items as { reverted_by?: number }[]).map(({ reverted_by }) => reverted_by);
      return [job.reverted_by, one.reverted_by, feeds.items[0].reverted_by, listed];
    };
    const none = undefined;
    expect(await shown()).toEqual([none, none, none, [none]]);

    await revert(feed);
    expect(await shown()).toEqual([2, 2, 2, [none, 2]]);

    await revert(feed, '?run=2');
    expect(await shown()).toEqual([none, none, none, [none, 3, none]]);

    await revert(feed);
    expect(await shown()).toEqual([4, 4, 4, [none, none, 3, 4]]);

    await revert(feed, '?run=4');
    await revert(feed, '?run=5');
    expect(await shown()).toEqual([4, 4, 4, [none, 6, none, none, 3, 4]]);

    await service.api.post(`/jobs/${feed.jobId}/run`);
    expect(await shown()).toEqual([none, none, none, [none, none, 6, none, none, 3, 4]]);
  });

  describe('409', () => {
    const refused = async (feed: Pick<UploadedFeed, 'jobId'>, detail: string, query = '?run=1') => {
      const { status, body } = await revert(feed, query);
      expect([status, body]).toEqual([409, { detail }]);
    };

    it('names the conflicts with both values, and changes nothing', async () => {
      const partner = 'Conflicts';
      const first = await load('A,Tent,5\nB,Lamp,7\nC,Mat,1\n', partner);
      const second = await load('A,Tent,6\nB,Lamp,8\nC,Mat,2\nD,Mug,3\n', partner);
      const third = await load('B,Lamp,9\nD,Mug,4\n', partner);
      await service.db('products').where({ sku: 'C', price: 2 }).update({ description: 'by hand' });
      const before = await catalogOf(partner);

      for (const prefer of ['respond-async', 'wait=1']) {
        const { status, body } = await revert(second, '?run=1', { prefer });

        expect(status).toBe(409);
        expect(body).toEqual({
          detail:
            '3 products were changed since run 1. Revert the later runs first, or skip them with on_conflict=skip.',
          conflicts: [
            {
              product_id: expect.stringMatching(/^PR/),
              sku: 'B',
              current: { feed_id: third.feedId, price: '9' },
              reverted: { feed_id: first.feedId, price: '7' },
            },
            {
              product_id: expect.stringMatching(/^PR/),
              sku: 'C',
              current: { feed_id: second.feedId, description: 'by hand', price: '2' },
              reverted: { feed_id: first.feedId, description: null, price: '1' },
            },
            {
              product_id: expect.stringMatching(/^PR/),
              sku: 'D',
              current: { feed_id: third.feedId, withdrawn_at: null },
              reverted: { feed_id: third.feedId, withdrawn_at: aTimestamp },
            },
          ],
        });
      }
      expect(await catalogOf(partner)).toEqual(before);
      expect(await runsOf(second)).toHaveLength(1);
    });

    it('shows the first 100 conflicts', async () => {
      const rows = (price: number) =>
        Array.from({ length: 103 }, (_, at) => `S${at},Tent,${price}\n`).join('');
      await load(rows(1), 'Many');
      const second = await load(rows(2), 'Many');
      await load(rows(3), 'Many');

      const { body } = await revert(second);

      expect(body.detail).toMatch(/^103 products were changed since run 1\./);
      expect(body.conflicts).toHaveLength(100);
    });

    it('reports that a run has failed', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name\nA,"Tent\n', 'Failed');

      await refused(
        { jobId },
        `Run 1 of job ${jobId} failed and changed nothing: there is nothing to revert.`,
      );
    });

    it('reports that a run has not ended', async () => {
      const feed = await service.api.uploadFeed(`${header}A,Tent,5\n`, 'Not ended');
      await leaveRunning(service, feed);

      await refused(feed, `Run 1 of job ${feed.jobId} has not ended: wait for its end.`);
    });

    it('names the revert of a run that was reverted already', async () => {
      const { feed } = await loadThreeDays('Already');
      await revert(feed);

      const detail = `Run 1 of job ${feed.jobId} was already reverted by run 2. Revert run 2 to undo that.`;
      await refused(feed, detail);
      await refused(feed, detail, '?run=1&dry_run=true');
    });

    it('reports that the history of the run is not kept', async () => {
      const partner = 'Pruned';
      await load('A,Tent,5\n', partner);
      const second = await load('A,Tent,6\n', partner);
      await load('A,Tent,7\n', partner);
      await removeVersionsUntil(service, partner, new Date().toISOString());

      await refused(
        second,
        `The history of run 1 of job ${second.jobId} is not kept: the run cannot be reverted.`,
      );
    });

    it('reports that the job is queued or running', async () => {
      const { feed } = await loadThreeDays('Busy');
      await service.api.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async' });
      await refused(feed, `A run of job ${feed.jobId} is already queued.`);

      await leaveRunning(service, feed);
      await refused(feed, `Job ${feed.jobId} is already running.`);
      await service.api.post(`/jobs/${feed.jobId}/run`);
    });

    it('rejects a revert of another run of the job, and a run, while a revert is queued', async () => {
      const { feed } = await loadThreeDays('Pending');
      await service.api.post(`/jobs/${feed.jobId}/run`);
      await revert(feed, '?run=1', { prefer: 'respond-async' });

      await refused(feed, `A run of job ${feed.jobId} is already queued.`, '?run=2');
      const run = await service.api.post(`/jobs/${feed.jobId}/run`);
      expect([run.status, run.body]).toEqual([409, { detail: `Job ${feed.jobId} is already running.` }]);
    });
  });

  it('422: rejects invalid parameters', async () => {
    const { feed } = await loadThreeDays('Wrong');

    for (const query of [
      '',
      '?run=0',
      '?run=x',
      '?run=1&on_conflict=maybe',
      '?run=1&dry_run=maybe',
      '?run=1&limit=-1',
    ]) {
      expect([query, (await revert(feed, query)).status]).toEqual([query, 422]);
    }
  });
});
