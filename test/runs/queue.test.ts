import { failedCounters } from '../../src/runs/etl/run-result';
import type { Knex } from 'knex';
import { takeLock } from '../../src/base/db/locks';
import { inTransaction } from '../../src/base/db/transaction';
import {
  claimRun,
  listClaimable,
  reserveJob,
  startRun,
  type Claim,
} from '../../src/runs/queue/claims.repository';
import { failRun, requeueRun } from '../../src/runs/queue/run-ends.repository';
import { queuedRunAttempts } from '../../src/runs/queue/run-target.repository';
import { failReservedRun, recoverRuns } from '../../src/runs/queue/recovery';
import { lastRunOf, requestRunOf, withdraw } from '../support/requested-runs';
import { startTestService, type TestService } from '../support/service';

const large = 16 * 1024 * 1024;

let service: TestService;
beforeAll(async () => {
  // No worker.
  service = await startTestService();
});
const open: Knex.Transaction[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((trx) => trx.rollback()));
  await service.db('runs').whereIn('status', ['queued', 'running']).delete();
});

/** Uploads a feed, sets its recorded size, and requests a run. @returns the number of its job */
async function request(
  partnerName: string,
  { sizeBytes, attempts = queuedRunAttempts }: { sizeBytes?: number; attempts?: number } = {},
): Promise<number> {
  const { feedId, jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', partnerName);
  if (sizeBytes !== undefined) {
    await service
      .db('feeds')
      .where('feed_id', Number(feedId.slice(2)))
      .update({ size_bytes: sizeBytes });
  }
  await requestRunOf(service.db, Number(jobId.slice(2)), { attempts });
  return Number(jobId.slice(2));
}

/** Claims and starts a run. @returns the number of its job, and functions that complete or orphan it */
async function begin(claim: Claim = { next: 'of any size' }) {
  const trx = await service.db.transaction();
  open.push(trx);
  const claimed = await claimRun(trx, claim);
  const isReserved = 'jobId' in claim && claim.isReserved;
  const at =
    claimed && isReserved
      ? await inTransaction(service.db, 'request', (reserving) => requeueRun(reserving, claimed))
      : claimed;
  if (!claimed || !at || !(await startRun(service.db, at))) {
    await trx.rollback();
    return undefined;
  }
  return {
    jobId: claimed.jobId,
    run: at.run,
    die: () => trx.rollback(),
    async complete() {
      const counters = {
        processed: 0,
        inserted: 0,
        updated: 0,
        unchanged: 0,
        skipped: 0,
        withdrawn: 0,
        restored: 0,
      };
      const end = { status: 'completed', finished_at: trx.fn.now(), ...counters };
      await trx('runs').where({ job_id: claimed.jobId, run: at.run }).update(end);
      await trx.commit();
    },
  };
}

const claimable = async () => (await listClaimable(service.db, 'of any size', 100)).map(({ jobId }) => jobId);

describe('queued runs', () => {
  it('are claimed in the order of their requests, one per partner at a time', async () => {
    const [a1, a2, b1] = [await request('A'), await request('A'), await request('B')];
    expect(await claimable()).toEqual([a1, b1]);

    const [first, second] = [await begin(), await begin()];

    expect([first!.jobId, second!.jobId]).toEqual([a1, b1]);
    expect(await begin()).toBeUndefined();
    await first!.complete();
    expect((await begin())!.jobId).toBe(a2);
  });

  it('are each claimed by one of several concurrent workers', async () => {
    const jobs: number[] = [];
    for (let at = 0; at < 4; at++) jobs.push(await request(`Partner ${at}`));

    const claims = await Promise.all(Array.from({ length: 8 }, () => begin()));

    expect(claims.flatMap((claim) => claim?.jobId ?? []).sort()).toEqual(jobs);
  });

  it('of large feeds wait for slots for large feeds, and do not block small feeds of other partners', async () => {
    const big = await request('Large', { sizeBytes: large });
    const small = await request('Small', { sizeBytes: large - 1 });

    expect(await listClaimable(service.db, 'of a small feed', 1)).toEqual([{ jobId: small, isLarge: false }]);
    expect((await begin({ next: 'of a small feed' }))!.jobId).toBe(small);
    expect(await begin({ next: 'of a small feed' })).toBeUndefined();
    expect((await begin({ next: 'of any size' }))!.jobId).toBe(big);
  });

  it('can be claimed by job ahead of the queue', async () => {
    await request('Ahead');
    const second = await request('Ahead');

    expect((await begin(await lastRunOf(service.db, second)))!.jobId).toBe(second);
    expect(await begin(await lastRunOf(service.db, second))).toBeUndefined();
  });

  it('are reserved for some seconds for the process whose client waits', async () => {
    const waitedFor = await request('Waited for', { attempts: 1 });
    const other = await request('Other');

    expect(await claimable()).toEqual([other]);
    expect((await begin())!.jobId).toBe(other);
    expect(await begin()).toBeUndefined();

    await service
      .db('runs')
      .where('job_id', waitedFor)
      .update('requested_at', service.db.raw("requested_at - interval '10 s'"));
    expect(await claimable()).toEqual([waitedFor]);
    expect((await begin())!.jobId).toBe(waitedFor);
  });

  it('are claimed while a request holds the idempotency key whose lock has the same number', async () => {
    const jobId = await request('Same number');
    const holder = await service.db.transaction();
    open.push(holder);
    await takeLock(holder, 'idempotencyKey', jobId);

    expect((await begin())?.jobId).toBe(jobId);
  });

  it('do not start when their request is cancelled after the claim', async () => {
    const jobId = await request('Withdrawn', { attempts: 1 });
    const trx = await service.db.transaction();
    open.push(trx);
    await claimRun(trx, { next: 'of any size' });

    await withdraw(service.db, { jobId, run: 1 });

    expect(await startRun(service.db, { jobId, run: 1 })).toBeUndefined();
  });

  it('leave the job and its feed in the state of the last run when their request is cancelled', async () => {
    const { jobId, feedId, job } = await service.api.loadFeed(
      'sku,product_name,price\nA,A,1\nB,B,x\n',
      'Again',
    );
    const feed = await service.api.get(`/feeds/${feedId}`);
    const requested = await requestRunOf(service.db, Number(jobId.slice(2)), { attempts: 1 });
    expect((await service.api.get(`/jobs/${jobId}`)).body.status).toBe('queued');

    await withdraw(service.db, requested);

    expect((await service.api.get(`/jobs/${jobId}`)).body).toEqual(job);
    expect((await service.api.get(`/feeds/${feedId}`)).body).toEqual(feed.body);
  });

  it('stay queued when a waiting client cancels its request and another one has queued them', async () => {
    const jobId = await request('Joined', { attempts: 1 });
    await requestRunOf(service.db, jobId);

    await withdraw(service.db, { jobId, run: 1 });

    expect(await claimable()).toEqual([jobId]);
  });

  it('keep their position when they are requested again', async () => {
    const [first, second] = [await request('One'), await request('Other')];

    expect(await requestRunOf(service.db, first, { attempts: 1 })).toMatchObject({ waited: true });

    expect(await claimable()).toEqual([first, second]);
    const [run] = await service.db('runs').where('job_id', first);
    expect(run.attempts_left).toBe(queuedRunAttempts);
  });
});

describe('an orphaned run', () => {
  it('is repeated before the next runs of its partner', async () => {
    const [first, second] = [await request('Dies'), await request('Dies')];
    await (await begin())!.die();
    // Until its recovery, no run of the partner is claimed.
    expect(await claimable()).toEqual([]);

    expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [first] });

    const again = await begin();
    expect(again!.jobId).toBe(first);
    await again!.complete();
    expect((await begin())!.jobId).toBe(second);
  });

  it(`has ${queuedRunAttempts} attempts`, async () => {
    const jobId = await request('Dies each time');
    for (let at = 1; at < queuedRunAttempts; at++) {
      await (await begin())!.die();
      expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [jobId] });
    }
    await (await begin(await lastRunOf(service.db, jobId)))!.die();

    expect(await recoverRuns(service.db)).toEqual({ failed: [jobId], requeued: [] });
    expect(await begin(await lastRunOf(service.db, jobId))).toBeUndefined();
  });

  it('delays no other one when it cannot be recovered, or is locked', async () => {
    const bad = await request('Cannot be recovered');
    await (await begin())!.die();
    const locked = await request('Locked');
    await (await begin())!.die();
    const good = await request('Recovered beside it');
    await (await begin())!.die();
    await service.db.raw(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before update on validation_jobs
        for each row when (old.job_id = ${bad}) execute function refuse()`);
    const lock = await service.db.transaction();
    await lock.raw('select from validation_jobs where job_id = ? for update', [locked]);
    const failures: number[] = [];
    const recover = () => recoverRuns(service.db, undefined, (_error, { jobId }) => failures.push(jobId));

    expect(await recover()).toEqual({ failed: [], requeued: [good] });

    expect(failures).toEqual([bad]);
    await lock.rollback();
    expect(await recover()).toEqual({ failed: [], requeued: [locked] });
    await service.db.raw('drop trigger refuse on validation_jobs; drop function refuse');
    expect(await recover()).toEqual({ failed: [], requeued: [bad] });
  });

  it('is recovered once by concurrent processes', async () => {
    const jobId = await request('Recovered once');
    await (await begin())!.die();

    const all = await Promise.all(Array.from({ length: 5 }, () => recoverRuns(service.db)));

    expect(all.flatMap(({ requeued }) => requeued)).toEqual([jobId]);
  });

  it('can be requested again before its recovery, and its feed is no longer validating', async () => {
    const jobId = await request('Replaced');
    await (await begin())!.die();

    expect(await requestRunOf(service.db, jobId)).toMatchObject({ run: 2, waited: false });

    const feed = await service
      .db('feeds')
      .whereIn('feed_id', service.db('validation_jobs').select('feed_id').where('job_id', jobId))
      .first('status');
    expect(feed.status).toBe('processing');
    expect(await claimable()).toEqual([jobId]);
  });

  it('is not failed by its old process once it is requeued', async () => {
    const jobId = await request('Late end');
    const begun = await begin();
    await begun!.die();
    await recoverRuns(service.db);

    const run = { jobId, run: begun!.run, kind: 'load' as const };
    const failure = { reason: 'It ended late.', counters: failedCounters(0), issueCounts: [] };
    expect(await inTransaction(service.db, 'request', (trx) => failRun(trx, run, failure))).toBe(false);

    expect(await claimable()).toEqual([jobId]);
  });

  it('is not orphaned while its process lives', async () => {
    await request('Lives');
    await begin();

    expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [] });
  });

  it('is left running without attempts if it may not fail yet', async () => {
    const jobId = await request('Left');
    await service.db('runs').where('job_id', jobId).update('attempts_left', 1);
    await (await begin(await lastRunOf(service.db, jobId)))!.die();

    expect(await recoverRuns(service.db, () => false)).toEqual({ failed: [], requeued: [] });
    expect(await recoverRuns(service.db)).toEqual({ failed: [jobId], requeued: [] });
  });
});

describe('a reserved run whose thread crashed', () => {
  /** Reserves the job of such a run. @returns its number, and the reserving transaction */
  async function reserve(partnerName: string) {
    const jobId = await request(partnerName);
    await (await begin())!.die();
    const trx = await service.db.transaction();
    open.push(trx);
    await reserveJob(trx, jobId);
    return { jobId, trx };
  }

  it('is repeated by the process that reserved it, and neither claimed nor recovered by others', async () => {
    const { jobId } = await reserve('Reserved');

    expect(await recoverRuns(service.db)).toEqual({ failed: [], requeued: [] });
    expect(await begin(await lastRunOf(service.db, jobId))).toBeUndefined();
    expect(await begin()).toBeUndefined();
    expect((await begin({ ...(await lastRunOf(service.db, jobId)), isReserved: true }))!.jobId).toBe(jobId);
    expect(await begin({ ...(await lastRunOf(service.db, jobId)), isReserved: true })).toBeUndefined();
  });

  it('is repeated as the attempt that it is now, if others have requeued it meanwhile', async () => {
    const jobId = await request('Requeued meanwhile');
    await (await begin())!.die();
    await recoverRuns(service.db);
    await (await begin())!.die();
    const trx = await service.db.transaction();
    open.push(trx);
    await reserveJob(trx, jobId);

    expect(await begin({ jobId, run: 1, isReserved: true })).toMatchObject({ run: 3 });

    const runs = await service.db('runs').where('job_id', jobId).orderBy('run').pluck('status');
    expect(runs).toEqual(['failed', 'failed', 'running']);
  });

  it('fails with the reason when the repetition crashes too', async () => {
    const { jobId, trx } = await reserve('In vain');

    expect(await failReservedRun(trx, jobId, 'The reason.')).toBe(true);

    await trx.commit();
    const [job] = await service.db('validation_jobs').where('job_id', jobId);
    expect([job.status, job.failure_reason]).toEqual(['failed', 'The reason.']);
  });

  it('is not repeated when its cancellation is requested, and fails as cancelled', async () => {
    const { jobId, trx } = await reserve('Cancelled');
    await service.db('runs').where('job_id', jobId).update('cancel_requested', true);

    expect(await begin({ ...(await lastRunOf(service.db, jobId)), isReserved: true })).toBeUndefined();
    expect(await failReservedRun(trx, jobId, 'The reason.')).toBe(true);

    await trx.commit();
    const [job] = await service.db('validation_jobs').where('job_id', jobId);
    expect(job.failure_reason).toBe('The run was cancelled.');
  });
});
