import type { Knex } from 'knex';
import { failedCounters } from '../../src/runs/etl/run-result';
import { inTransaction } from '../../src/base/db/transaction';
import { claimRun, startRun } from '../../src/runs/queue/claims.repository';
import { failRun } from '../../src/runs/queue/run-ends.repository';
import type { RunPermissions } from '../../src/runs/queue/run-target.repository';
import { recoverRuns } from '../../src/runs/queue/recovery';
import { lastRunOf, requestRunOf } from '../support/requested-runs';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeEach(async () => {
  // No worker.
  service = await startTestService();
});
const open: Knex.Transaction[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((trx) => trx.rollback()));
});

/** Uploads a replace feed. @returns the number of its job */
async function uploadReplacement(): Promise<number> {
  const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme', { mode: 'replace' });
  return Number(jobId.slice(2));
}

const request = (jobId: number, permissions: RunPermissions = {}) =>
  requestRunOf(service.db, jobId, permissions);

/** Claims the run. @returns a function that simulates the death of its process */
async function claim(jobId: number): Promise<() => Promise<unknown>> {
  const trx = await service.db.transaction();
  open.push(trx);
  expect(await claimRun(trx, await lastRunOf(service.db, jobId))).toBeDefined();
  return () => trx.rollback();
}

/** Claims and starts the run. @returns the confirmed limits, too */
async function begin(jobId: number) {
  const die = await claim(jobId);
  return { ...(await start(jobId)), die };
}

async function start(jobId: number) {
  const { run } = await lastRunOf(service.db, jobId);
  const { revertsRun: _, skipsConflicts: __, ...permissions } = (await startRun(service.db, { jobId, run }))!;
  return { run, permissions };
}

const confirmed = { maxWithdrawn: 3, maxWithdrawnPercent: 12.5, allowOlder: true };
const nothing = { maxWithdrawn: null, maxWithdrawnPercent: null, allowOlder: false };

describe('the confirmed numbers of a requested run', () => {
  it('are kept while the run is queued, although another request confirms none', async () => {
    const jobId = await uploadReplacement();
    await request(jobId, confirmed);
    await request(jobId);

    expect((await begin(jobId)).permissions).toEqual(confirmed);
  });

  it('are replaced by the numbers of a later request while the run is queued', async () => {
    const jobId = await uploadReplacement();
    await request(jobId, confirmed);
    await request(jobId, { maxWithdrawn: 0 });

    expect((await begin(jobId)).permissions).toEqual({ ...confirmed, maxWithdrawn: 0 });
  });

  it('apply even if the run is already claimed, until it is marked as running', async () => {
    const jobId = await uploadReplacement();
    await request(jobId);
    await claim(jobId);
    await request(jobId, confirmed);

    expect((await start(jobId)).permissions).toEqual(confirmed);
  });

  it('are kept for each retry after its process has died', async () => {
    const jobId = await uploadReplacement();
    await request(jobId, confirmed);
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { permissions, die } = await begin(jobId);
      expect(permissions).toEqual(confirmed);
      await die();
      expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [jobId] });
    }

    expect((await begin(jobId)).permissions).toEqual(confirmed);
  });

  it('do not apply to a request that replaces the orphaned run', async () => {
    const jobId = await uploadReplacement();
    await request(jobId, confirmed);
    await (await begin(jobId)).die();

    await request(jobId);

    expect((await begin(jobId)).permissions).toEqual(nothing);
  });

  it('do not apply to the next run', async () => {
    const jobId = await uploadReplacement();
    await request(jobId, confirmed);
    const { run, die } = await begin(jobId);
    const failure = { reason: 'It failed.', counters: failedCounters(0), issueCounts: [] };
    await inTransaction(service.db, 'request', (trx) => failRun(trx, { jobId, run, kind: 'load' }, failure));
    await die();

    await request(jobId);

    expect((await begin(jobId)).permissions).toEqual(nothing);
  });
});
