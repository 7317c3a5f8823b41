import type { Knex } from 'knex';
import { claimRun, listClaimable, startRun, type Claim } from '../../src/runs/queue/claims.repository';
import { requestRun } from '../../src/runs/queue/run-requests.repository';
import { findRunTarget, queuedRunAttempts } from '../../src/runs/queue/run-target.repository';
import { measureQueue } from '../../src/runs/queue/queue-state.repository';
import { failReservedRun, recoverRuns } from '../../src/runs/queue/recovery';
import type { UploadedFeed } from '../support/api-client';
import { eventually } from '../support/harness';
import { findBrokenHistory } from '../support/history-invariants';
import { requestRunOf, withdraw } from '../support/requested-runs';
import { onLocalProducts } from '../support/local-products';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  // No worker.
  service = await startTestService();
});
const open: Knex.Transaction[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((trx) => trx.rollback()));
  expect(await findBrokenHistory(service.db)).toEqual([]);
  await service.db('runs').whereIn('status', ['queued', 'running']).delete();
});

interface RevertState {
  status: string;
  failure_reason: string | null;
  started_at: Date | null;
}

const header = 'sku,product_name,price\n';
const load = (rows: string, partner: string) => service.api.loadFeed(header + rows, partner);
const numberOf = ({ jobId }: UploadedFeed) => Number(jobId.slice(2));
const revertOf = (feed: UploadedFeed, attempts = queuedRunAttempts) =>
  requestRunOf(service.db, numberOf(feed), { reverts: { run: 1, skipsConflicts: false }, attempts });
const claimable = async () => (await listClaimable(service.db, 'of any size', 100)).map(({ jobId }) => jobId);
const statusOf = (feed: UploadedFeed): Promise<RevertState | undefined> =>
  service
    .db('runs')
    .where({ job_id: numberOf(feed), kind: 'revert' })
    .first<RevertState | undefined>('status', 'failure_reason', 'started_at');

async function claim(which: Claim) {
  const trx = await service.db.transaction();
  open.push(trx);
  return { run: await claimRun(trx, which), die: () => trx.rollback() };
}

async function begin(feed: UploadedFeed) {
  const { run, die } = await claim({ next: 'of any size' });
  expect(run).toMatchObject({ jobId: numberOf(feed), run: 2, kind: 'revert' });
  expect(await startRun(service.db, { jobId: numberOf(feed), run: 2 })).toMatchObject({
    revertsRun: 1,
    skipsConflicts: false,
  });
  return { die };
}

describe('a queued revert', () => {
  it('waits for earlier loads of its partner, and later loads wait for it', async () => {
    const feed = await load('A,Tent,5\n', 'Order');
    const [first, last] = [
      await service.api.uploadFeed(`${header}A,Tent,6\n`, 'Order'),
      await service.api.uploadFeed(`${header}A,Tent,7\n`, 'Order'),
    ];
    const queue = (each: UploadedFeed) => requestRunOf(service.db, numberOf(each));
    await queue(first);
    await revertOf(feed);
    await queue(last);
    expect((await measureQueue(service.db)).runs).toBe(3);

    expect(await claimable()).toEqual([numberOf(first)]);

    await service.db('runs').where('job_id', numberOf(first)).delete();
    expect(await claimable()).toEqual([numberOf(feed)]);
    const { die } = await begin(feed);
    expect(await claimable()).toEqual([]);

    await die();
    await service.db('runs').where({ kind: 'revert' }).delete();
    expect(await claimable()).toEqual([numberOf(last)]);
  });

  it('is claimed by one process, and excludes other runs of its job', async () => {
    const feed = await load('A,Tent,5\n', 'One');
    await revertOf(feed);
    await begin(feed);

    for (const run of [1, 2]) {
      const which = { jobId: numberOf(feed), run };
      expect((await claim(which)).run).toBeUndefined();
    }
    expect((await claim({ next: 'of any size' })).run).toBeUndefined();
  });

  it('excludes a concurrently requested load of its job', async () => {
    const feed = await load('A,Tent,5\n', 'At once');
    const target = (await findRunTarget(service.db, numberOf(feed), null))!;
    const first = await service.db.transaction();
    open.push(first);
    await requestRun(first, { ...target, reverts: { run: 1, skipsConflicts: false } }, queuedRunAttempts);

    const answer = requestRunOf(service.db, numberOf(feed)).catch((error: unknown) => error);
    await eventually('it waits for the first request', async () => {
      const { rowCount } = await service.db.raw<{ rowCount: number }>(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and query like 'select from validation_jobs%'`,
      );
      return rowCount > 0;
    });
    await first.commit();

    expect(await answer).toMatchObject({ code: 'job_already_running' });
    expect((await service.api.get(`/jobs/${feed.jobId}`)).body.status).toBe('completed');
  });

  it('leaves the queue when its only client disconnects, and stays for another client', async () => {
    const feed = await load('A,Tent,5\n', 'Leaves');
    expect(await revertOf(feed, 1)).toMatchObject({ run: 2, waited: false });
    expect(await revertOf(feed)).toMatchObject({ run: 2, waited: true });
    await withdraw(service.db, { jobId: numberOf(feed), run: 2 });
    expect(await claimable()).toEqual([numberOf(feed)]);

    await service.db('runs').where({ kind: 'revert' }).delete();
    expect(await revertOf(feed, 1)).toMatchObject({ run: 2, waited: false });
    await withdraw(service.db, { jobId: numberOf(feed), run: 2 });
    expect(await claimable()).toEqual([]);
  });
});

describe('a revert whose process died', () => {
  it('is requeued at its position with its number, as long as attempts are left', async () => {
    const feed = await load('A,Tent,5\n', 'Requeued');
    await revertOf(feed, 2);
    const { die } = await begin(feed);
    expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [] });
    await die();

    expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [numberOf(feed)] });

    expect(await statusOf(feed)).toEqual({ status: 'queued', failure_reason: null, started_at: null });
    await service.db('runs').where({ kind: 'revert' }).update({ attempts_left: 2 });
    await begin(feed);
  });

  it('fails without attempts, and leaves the job as it was', async () => {
    const feed = await load('A,Tent,5\n', 'Failed');
    await revertOf(feed, 1);
    const { die } = await claim({ jobId: numberOf(feed), run: 2 });
    await startRun(service.db, { jobId: numberOf(feed), run: 2 });
    await die();

    expect(await recoverRuns(service.db)).toEqual({ failed: [numberOf(feed)], requeued: [] });

    const reason = 'The revert was interrupted. Request it again.';
    expect(await statusOf(feed)).toMatchObject({ status: 'failed', failure_reason: reason });
    expect((await service.api.get(`/jobs/${feed.jobId}`)).body).toEqual(feed.job);
    expect((await service.api.post(`/jobs/${feed.jobId}/revert?run=1`)).body.status).toBe('completed');
  });

  it('fails when the thread that repeats it crashes too', async () => {
    const feed = await load('A,Tent,5\n', 'Crashed');
    await revertOf(feed);
    const { die } = await begin(feed);
    await die();
    const trx = await service.db.transaction();

    expect(await failReservedRun(trx, numberOf(feed), 'The reason.')).toBe(true);
    await trx.commit();

    expect(await statusOf(feed)).toMatchObject({ status: 'failed' });
  });
});

describe('a revert', () => {
  const revert = (feed: UploadedFeed, query = '') =>
    service.api.post(`/jobs/${feed.jobId}/revert?run=1${query}`);

  it('fails with the number of conflicts when products are changed after its request', async () => {
    const feed = await load('A,Tent,5\n', 'Late');
    await revertOf(feed);
    await load('A,Tent,6\n', 'Late');

    const { status, body } = await revert(feed);

    expect([status, body]).toMatchObject([
      200,
      {
        run: 2,
        status: 'failed',
        message:
          'Revert failed: 1 product was changed since run 1. Revert the later runs first, or skip it with' +
          ' on_conflict=skip. Products processed: 1. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 1.',
        summary: { processed: 1, skipped: 1, withdrawn: 0 },
      },
    ]);
    expect((await service.api.get('/products?partner_name=Late')).body.items).toMatchObject([{ price: 6 }]);
  });

  onLocalProducts(it, 'manual transactions lock no products of a working copy')(
    'waits for a manual transaction that has locked a product, and sees what that has changed',
    async () => {
      await load('A,Tent,5\nB,Lamp,1\n', 'Manual');
      const feed = await load('A,Tent,6\nB,Lamp,2\n', 'Manual');
      const manual = await service.db.transaction();
      open.push(manual);
      await manual('products').where({ sku: 'B', price: 2 }).update({ description: 'by hand' });

      const answer = revert(feed, '&on_conflict=skip');
      await eventually('it is running', async () => (await statusOf(feed))?.status === 'running');
      await manual.commit();

      const { body } = await answer;
      expect(body.summary).toMatchObject({ updated: 1, skipped: 1 });
      const { body: listed } = await service.api.get(
        '/products?partner_name=Manual&sort_by=product_id&order=asc',
      );
      expect(listed.items).toMatchObject([{ price: 5 }, { price: 2, description: 'by hand' }]);
    },
  );

  onLocalProducts(it, 'manual transactions lock no products of a working copy')(
    'sees what a manual transaction changes while the revert waits for its lock',
    async () => {
      await load('A,Tent,5\nB,Lamp,1\n', 'Quick');
      const feed = await load('A,Tent,6\nB,Lamp,2\n', 'Quick');
      const manual = await service.db.transaction();
      open.push(manual);
      await manual('products').where({ sku: 'B', price: 2 }).update({ description: 'by hand' });

      const answer = revert(feed, '&on_conflict=skip');
      await eventually('it waits for the lock', async () => {
        const { rowCount } = await service.db.raw<{ rowCount: number }>(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and query like 'select from products%for no key update'`,
        );
        return rowCount > 0;
      });
      await manual.commit();

      expect((await answer).body.summary).toMatchObject({ updated: 1, skipped: 1 });
    },
  );

  it('is executed once, for any number of concurrent requests', async () => {
    const feed = await load('A,Tent,5\n', 'Twice');

    const answers = await Promise.all(Array.from({ length: 6 }, () => revert(feed)));

    const outcomes = answers.map(({ status, body }) => (status === 200 ? body.run : body.detail) as unknown);
    const detail = `Run 1 of job ${feed.jobId} was already reverted by run 2. Revert run 2 to undo that.`;
    expect(outcomes.filter((outcome) => outcome !== 2 && outcome !== detail)).toEqual([]);
    expect(outcomes).toContain(2);
    const { body } = await service.api.get(`/jobs/${feed.jobId}/runs`);
    expect(body.items).toHaveLength(2);
  });

  it('excludes the products that it withdraws from an order that is created meanwhile', async () => {
    const feed = await load('A,Tent,5\n', 'Ordered');
    const { body } = await service.api.get('/products?partner_name=Ordered');
    const items = [{ product_id: body.items[0].product_id, quantity: 1 }];

    const [order, undone] = await Promise.all([
      service.api.post('/orders', { partner_name: 'Ordered', items }),
      revert(feed),
    ]);

    expect(undone.body.status).toBe('completed');
    expect([201, 409]).toContain(order.status);
    expect((await service.api.post('/orders', { partner_name: 'Ordered', items })).status).toBe(409);
  });
});
