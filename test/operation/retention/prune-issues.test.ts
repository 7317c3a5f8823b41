import { planPrune, prune, pruneIfDue } from '../../../src/operation/retention/prune';
import { PruneInProgress, withLease } from '../../../src/operation/retention/lease';
import { createLog } from '../../../src/base/log';
import { eventually } from '../../support/harness';
import { startTestService, type TestService } from '../../support/service';
import { replaceRawFile } from '../../support/stored-uploads';

const rules = { rowIssueDays: 90, historyDays: 36_500 };
const log = createLog('silent');
/** Two invalid rows. */
const badCsv = 'sku,product_name,price\nA,Tent,5\nB,Lamp,NA\n,No sku,1\n';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const context = () => ({ db: service.db, objectStore: service.objectStore, rules });
const issuesOf = async (jobId: string, query = '') =>
  (await service.api.get(`/jobs/${jobId}/issues${query}`)).body;

/** Makes the last run of a job end `days` days ago. */
async function age(jobId: string, days: number): Promise<void> {
  await service.db.raw(
    `update validation_jobs set finished_at = now() - ? * interval '1 day', started_at = now() - ? * interval '1 day'
     where job_id = ?`,
    [days, days, Number(jobId.slice(2))],
  );
}

/** Returns a signal that is aborted at the check with this number; each batch starts with a check. */
function stopAfter(checks: number): AbortSignal {
  let count = 0;
  const { signal } = new AbortController();
  Object.defineProperty(signal, 'aborted', { get: () => count++ >= checks });
  return signal;
}

describe('prune', () => {
  it('removes the issues of runs that ended longer ago than the setting, and keeps counters and rejects', async () => {
    const old = await service.api.loadFeed(badCsv);
    const young = await service.api.loadFeed(badCsv);
    const before = await issuesOf(old.jobId);
    const rejects = (await service.api.get(`/jobs/${old.jobId}/rejects.csv`)).body as string;
    await age(old.jobId, 90.01);
    await age(young.jobId, 89.99);

    const planned = await planPrune(context());
    expect(await prune(context())).toEqual(planned);

    expect(planned.issues).toEqual({ jobs: 1, rows: 2, bytes: expect.any(Number) });
    expect(await issuesOf(old.jobId)).toEqual({
      ...{ count: 0, items: [], issue_counts: before.issue_counts },
      issues_removed_at: expect.stringMatching(/Z$/),
    });
    expect(await issuesOf(young.jobId)).toEqual(before);
    expect((await service.api.get(`/jobs/${old.jobId}/rejects.csv`)).body).toBe(rejects);
    expect((await service.api.get(`/jobs/${old.jobId}`)).body.issue_counts).toEqual(before.issue_counts);
    expect((await planPrune(context())).issues).toEqual({ jobs: 0, rows: 0, bytes: 0 });
  });

  it('lists the issues of a run after the removal again, until they expire', async () => {
    const { jobId } = await service.api.loadFeed(badCsv);
    await age(jobId, 100);
    await prune(context());

    await service.api.post(`/jobs/${jobId}/run`);

    expect(await issuesOf(jobId)).toMatchObject({ count: 2 });
    expect(await issuesOf(jobId)).not.toHaveProperty('issues_removed_at');
    expect((await prune(context())).issues.rows).toBe(0);
  });

  it('reports that issues were removed also while the next run is queued', async () => {
    const { jobId } = await service.api.loadFeed(badCsv);
    await age(jobId, 100);
    await prune(context());

    const { body } = await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });

    expect(body.status).toBe('queued');
    expect(await issuesOf(jobId)).toMatchObject({ count: 0, issues_removed_at: expect.any(String) });
  });

  it('lists the issues of a later run also while the next run is queued, and after that run has failed', async () => {
    const { jobId, feedId } = await service.api.loadFeed(badCsv);
    await age(jobId, 100);
    await prune(context());
    await service.api.post(`/jobs/${jobId}/run`);

    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    expect(await issuesOf(jobId)).toMatchObject({ count: 2 });
    expect(await issuesOf(jobId)).not.toHaveProperty('issues_removed_at');

    await service.api.post(`/jobs/${jobId}/cancel`);
    await service.api.post(`/jobs/${jobId}/run`);
    await age(jobId, 100);
    await prune(context());
    await replaceRawFile(service, feedId, 'a,b\n');
    expect((await service.api.post(`/jobs/${jobId}/run`)).body.status).toBe('failed');
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    expect(await issuesOf(jobId)).not.toHaveProperty('issues_removed_at');
  });

  it('ignores queued jobs and jobs without issues', async () => {
    const { jobId } = await service.api.loadFeed(badCsv);
    const fine = await service.api.loadFeed('sku,product_name\nA,Tent\n');
    await age(jobId, 100);
    await age(fine.jobId, 100);
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });

    expect((await prune(context())).issues.jobs).toBe(0);
    expect(await issuesOf(jobId)).toMatchObject({ count: 2 });
    expect(await issuesOf(fine.jobId)).not.toHaveProperty('issues_removed_at');
  });

  it('removes more issues than one batch, from the oldest runs first, and continues after an interruption', async () => {
    const rows = Array.from({ length: 400 }, (_, at) => `S${at},Product,NA\n`).join('');
    const jobs: string[] = [];
    for (const days of [200, 300, 100]) {
      const { jobId } = await service.api.loadFeed(`sku,product_name,price\n${rows}`);
      await age(jobId, days);
      jobs.push(jobId);
    }
    // The first batch is completed nevertheless.
    const interrupted = prune(context(), stopAfter(1));

    expect((await interrupted).issues).toMatchObject({ jobs: 2, rows: 800 });
    expect((await issuesOf(jobs[2]!)).count).toBe(100);
    expect((await prune(context())).issues).toMatchObject({ jobs: 1, rows: 400 });
    expect((await issuesOf(jobs[2]!)).count).toBe(0);
  });

  it('is executed by one process at a time', async () => {
    const { jobId } = await service.api.loadFeed(badCsv);
    await age(jobId, 100);
    await withLease(service.db, '0f8fad5b-d9cb-469f-a165-70867728950e', () => Promise.resolve());

    await expect(prune(context())).rejects.toThrow(PruneInProgress);
    await pruneIfDue(context(), log);
    expect((await issuesOf(jobId)).count).toBe(2);

    await service.db('retention').update({ leased_until: service.db.raw('now()') });
    expect((await prune(context())).issues.rows).toBe(2);
  });

  it('is executed automatically once a day, and again the next day', async () => {
    const { jobId } = await service.api.loadFeed(badCsv);
    await age(jobId, 100);
    await pruneIfDue(context(), log);
    expect((await issuesOf(jobId)).count).toBe(0);

    await service.api.post(`/jobs/${jobId}/run`);
    await age(jobId, 100);
    await service.db('validation_jobs').update({ issues_removed_at: null });
    await pruneIfDue(context(), log);
    expect((await issuesOf(jobId)).count).toBe(2);

    await service.db('retention').update({ pruned_at: service.db.raw("now() - interval '25 hours'") });
    await pruneIfDue(context(), log);
    expect((await issuesOf(jobId)).count).toBe(0);
  });

  it('does not let the table grow if each day adds as many issues as it removes', async () => {
    const { db } = service;
    const rows = Array.from({ length: 5_000 }, (_, at) => `S${at},Product,NA\n`).join('');
    const { jobId } = await service.api.loadFeed(`sku,product_name,price\n${rows}`);
    const sizes: number[] = [];
    for (let day = 0; day < 6; day++) {
      await age(jobId, 100);
      await prune(context());
      // Like autovacuum, which the table's settings start after 5,000 removed rows, and again for rows that another
      // transaction may still have seen.
      await eventually('all removed rows are vacuumed', async () => {
        await db.raw('vacuum (truncate off) row_issues');
        const dead = await db('pg_stat_user_tables').where('relname', 'row_issues').pluck('n_dead_tup');
        expect(dead.map(Number)).toEqual([0]);
      });
      await service.api.post(`/jobs/${jobId}/run`);
      const { rows } = await db.raw<{ rows: [{ bytes: number }] }>(
        "select pg_total_relation_size('row_issues') as bytes",
      );
      sizes.push(rows[0].bytes);
    }

    // A concurrent autovacuum truncates empty pages at the end. Without vacuum, the table would be twice as large.
    expect(Math.max(...sizes.slice(3))).toBeLessThan(1.5 * Math.max(...sizes.slice(0, 3)));
    const { rows: tables } = await db.raw<{ rows: { reloptions: string[] }[] }>(
      "select reloptions from pg_class where oid = 'row_issues'::regclass",
    );
    expect(tables[0]!.reloptions).toContain('autovacuum_vacuum_threshold=5000');
  });
});
