import type { Knex } from 'knex';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../src/base/db/database';
import { sharedLockSql } from '../../../src/base/db/locks';
import { raw } from '../../../src/base/db/sql';
import { checkAttention, keepAttention, onePartner } from '../../../src/catalog/partners/keep-attention';
import { mergePartners } from '../../../src/catalog/partners/merge-partners';
import { removePartner } from '../../../src/operation/retention/remove-partner';
import { recoverRuns } from '../../../src/runs/queue/recovery';
import { noticeStalePartners } from '../../../src/intake/sources/stale-partners.repository';
import { afterFile, eventually } from '../../support/harness';
import { leaveRunning } from '../../support/runs-in-flight';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import {
  fetchNow,
  putSource,
  sourcePath,
  startFeedServer,
  type FeedServer,
} from '../../support/source-requests';
import { bodyErrors, eventErrors, sendTo, startReceiver } from '../../support/webhooks';

let service: TestService;
let feeds: FeedServer;
beforeAll(async () => {
  service = await startTestService({
    sources: { privateAddresses: true, spread: 0 },
    webhooks: 'to any address',
    queuedRuns: 1,
  });
  feeds = await startFeedServer((_request, response) => void response.writeHead(404).end());
});

/** Makes a feed of `count` rows; the first `bad` have no name. */
const feedOf = (count: number, { bad = 0, price = '9.90' }: { bad?: number; price?: string | null } = {}) =>
  [
    `sku,product_name${price === null ? '' : ',price'}`,
    ...Array.from({ length: count }, (_, at) => {
      const name = at < bad ? '' : `Product ${at}`;
      return `S-${at},${name}${price === null ? '' : `,${price}`}`;
    }),
  ].join('\n') + '\n';

const load = (partner: string, csv: string, fields = {}, query = '') =>
  service.api.loadFeed(csv, partner, fields, query);

const partnerPath = (partner: string) => `/partners/${encodeURIComponent(partner)}`;

async function reasonsOf(partner: string): Promise<Record<string, number>> {
  const { body } = await service.api.get(partnerPath(partner));
  return Object.fromEntries(
    (body.attention as { reason: string; count: number }[]).map(({ reason, count }) => [reason, count]),
  );
}

const check = async () => {
  let last = 0;
  do last = await checkAttention(service.db, last, 1);
  while (last > 0);
};

/** Shifts the feeds and runs of a partner into the past. */
async function age(partner: string, days: number): Promise<void> {
  for (const [table, column] of [
    ['feeds', 'uploaded_at'],
    ['partner_counts', 'last_completed_at'],
  ] as const)
    await service.db.raw(
      `update ${table} set ${column} = ${column} - ? * interval '1 day'
       where partner_id = (select partner_id from partners where partner_name = ?)`,
      [days, partner],
    );
}

describe('attention', () => {
  it('lists each reason, worst first, and does not list a healthy partner', async () => {
    await load('Healthy', feedOf(100, { bad: 1 }));
    await load('Healthy', feedOf(100, { bad: 1 }));
    await load('Run failed', 'sku,product_name\nA,"A\n');
    await load('Blocked', feedOf(40), { mode: 'replace' });
    await load('Blocked', feedOf(3), { mode: 'replace' });
    await load('Old', feedOf(20));
    await age('Old', 6);
    await service.api.uploadFeed(feedOf(3), 'Never run');
    await age('Never run', 1);
    for (const [partner, respond] of [
      ['Source gone', feeds.respond],
      [
        'Source answers HTML',
        ((_request, response) =>
          void response
            .writeHead(200, { 'content-type': 'text/html' })
            .end('<!doctype html><html><body>Sign in</body></html>')) satisfies FeedServer['respond'],
      ],
    ] as const) {
      feeds.respond = respond;
      await putSource(service.api, partner, 'daily', { url: `${feeds.url}/feed.csv` });
      expect(await fetchNow(service.api, partner, 'daily')).toMatchObject({ status: 'failed' });
    }
    await load('No prices', feedOf(20, { price: '' }));
    await load('Skipped', feedOf(20, { bad: 6 }));
    for (const bad of [2, 5, 8]) await load('Rising', feedOf(100, { bad }));
    await load('Small', feedOf(40));
    await load('Small', feedOf(15));
    await load('Prices jumped', feedOf(20, { price: '2.00' }));
    await load('Prices jumped', feedOf(20, { price: '200.00' }));
    await load('Jump stopped', feedOf(20, { price: '2.00' }));
    await load('Jump stopped', feedOf(20, { price: '200.00' }), { max_price_jump_percent: '10' });
    await noticeStalePartners(service.db, 6);
    await check();

    const { body } = await service.api.get('/partners?sort_by=attention&limit=100');

    const shown = body.items.map(
      (item: { partner_name: string; attention: { reason: string; count: number }[] }) => [
        item.partner_name,
        ...item.attention.map(({ reason, count }) => `${reason} ${count}`),
      ],
    );
    expect(shown).toEqual([
      ['Run failed', 'last_run_failed 1'],
      ['Jump stopped', 'last_run_failed 1', 'price_jump 20'],
      ['Blocked', 'withdrawals_blocked 37'],
      ['Prices jumped', 'price_jump 20'],
      ['No prices', 'no_prices 20'],
      ['Source gone', 'source_failing 1'],
      ['Source answers HTML', 'source_failing 1'],
      ['Small', 'much_smaller 25'],
      ['Skipped', 'many_skipped 6'],
      ['Rising', 'more_skipped 8'],
      ['Old', 'stale 6'],
      ['Never run', 'never_run 1'],
      ['Healthy'],
    ]);
  });

  it('starts with the first of consecutive failed runs, and ends with a completed one', async () => {
    const { job } = await load('Failing', 'sku,product_name\nA,"A\n');
    const first = (await service.api.get(partnerPath('Failing'))).body.attention;
    expect(first).toEqual([{ reason: 'last_run_failed', since: job.finished_at, count: 1 }]);

    await load('Failing', 'sku,product_name\nB,"B\n');
    expect((await service.api.get(partnerPath('Failing'))).body.attention).toEqual([
      { ...first[0], count: 2 },
    ]);

    await load('Failing', feedOf(3));
    expect(await reasonsOf('Failing')).toEqual({});
  });

  it('counts skipped rows that no corrected row has replaced', async () => {
    const { jobId } = await load('Mended', feedOf(40, { bad: 10 }));
    const rejects = (await service.api.get(`/jobs/${jobId}/rejects.csv`)).body as string;
    const corrected = (rows: number) =>
      rejects
        .split('\n')
        .slice(0, 1 + rows)
        .join('\n')
        .replaceAll(/(S-\d+),,/g, '$1,Mended,');

    await load('Mended', corrected(4));
    expect(await reasonsOf('Mended')).toEqual({ many_skipped: 6 });
    await load('Mended', corrected(10));
    expect(await reasonsOf('Mended')).toEqual({});
  });

  it('is computed from the previous load after the last one is reverted', async () => {
    await load('Undone', feedOf(40, { price: '' }));
    const { jobId } = await load('Undone', feedOf(40));
    expect(await reasonsOf('Undone')).toEqual({});

    expect((await service.api.post(`/jobs/${jobId}/revert?run=1`)).status).toBe(200);

    expect(await reasonsOf('Undone')).toEqual({ no_prices: 40 });
  });

  it.each<[string, (partner: string) => Promise<unknown>, Record<string, number>]>([
    ['is none for a feed that never had prices', (name) => load(name, feedOf(5, { price: null })), {}],
    [
      'is no_prices when their column has gone',
      async (name) => (await load(name, feedOf(5)), load(name, feedOf(5, { price: null }))),
      { no_prices: 5 },
    ],
    [
      'stays no_prices for a file that is loaded again, whose rows are not read',
      async (name) => (await load(name, feedOf(5, { price: '' })), load(name, feedOf(5, { price: '' }))),
      { no_prices: 5 },
    ],
    [
      'stays no_prices after an update of other values',
      async (name) => {
        await load(name, feedOf(5, { price: '' }));
        return load(name, 'sku,availability\nS-1,in_stock\n', { mode: 'update' });
      },
      { no_prices: 5 },
    ],
    [
      'is none for few unpriced rows among many that are unchanged',
      async (name) => (
        await load(name, feedOf(30)),
        load(name, feedOf(30).replace('S-1,Product 1,9.90', 'S-1,P,'))
      ),
      {},
    ],
    [
      'is no_prices when all have gone, although one row never had one and is unchanged',
      async (name) => {
        const feed = (price: string) => feedOf(30, { price }).replace(/(?<=S-3,Product 3),.*/, ',');
        return (await load(name, feed('9.90')), load(name, feed('')));
      },
      { no_prices: 30 },
    ],
    [
      'is none for a small feed of another mode',
      async (name) => (await load(name, feedOf(40), { mode: 'replace' }), load(name, feedOf(3))),
      {},
    ],
    [
      'is none for a small feed of another collection',
      async (name) => (
        await load(name, feedOf(40), { collection: 'a' }),
        load(name, feedOf(3), { collection: 'b' })
      ),
      {},
    ],
  ])('%s', async (name, act, reasons) => {
    await act(name);

    expect(await reasonsOf(name)).toEqual(reasons);
  });

  it('compares the feeds of a source with one another', async () => {
    const rows = { first: 40, second: 3 };
    feeds.respond = ({ url }, response) =>
      void response.end(feedOf(rows[url!.slice(1) as keyof typeof rows]));
    const fetchRun = async (name: string) => {
      await putSource(service.api, 'Sources', name, { url: `${feeds.url}/${name}` });
      const { feed_id: feedId } = await fetchNow(service.api, 'Sources', name);
      await eventually('it is loaded', async () => {
        const { body } = await service.api.get(`/feeds/${feedId}`);
        return body.validation_status === 'completed';
      });
    };

    await fetchRun('first');
    await fetchRun('second');
    expect(await reasonsOf('Sources')).toEqual({});
    rows.first = 10;
    await fetchRun('first');
    expect(await reasonsOf('Sources')).toEqual({ much_smaller: 30 });
  });

  it.each<[string, (path: string, url: string) => Promise<unknown>]>([
    [
      'responds again',
      (_path, url) => (
        (feeds.respond = (_request, response) => void response.end(feedOf(3))),
        Promise.resolve(url)
      ),
    ],
    ['is disabled', (path, url) => service.api.put(path, { url, is_enabled: false })],
    ['is deleted', (path) => service.api.send('DELETE', path)],
  ])('ends when the source %s', async (what, act) => {
    const partner = `Source that ${what}`;
    const url = `${feeds.url}/feed.csv`;
    feeds.respond = (_request, response) => void response.writeHead(404).end();
    await putSource(service.api, partner, 'daily', { url, run_after_fetch: false });
    await fetchNow(service.api, partner, 'daily');
    expect(await reasonsOf(partner)).toEqual({ source_failing: 1 });

    await act(sourcePath(partner, 'daily'), url);
    if (what === 'responds again') await fetchNow(service.api, partner, 'daily');

    expect(await reasonsOf(partner)).toEqual({});
  });

  it('is last_run_failed for a run whose process died', async () => {
    await leaveRunning(service, await service.api.uploadFeed(feedOf(3), 'Died'));
    await recoverRuns(service.db);

    expect(await reasonsOf('Died')).toEqual({ last_run_failed: 1 });
  });

  it('is not last_run_failed for a run that was cancelled', async () => {
    const feed = await service.api.uploadFeed(feedOf(3), 'Cancelled');
    await leaveRunning(service, feed);
    expect((await service.api.post(`/jobs/${feed.jobId}/cancel`)).body.status).toBe('failed');

    expect(await reasonsOf('Cancelled')).toEqual({});
  });

  it('has the reasons of both partners after a merge, and is removed with its partner', async () => {
    await load('Merged', feedOf(40, { bad: 10 }));
    await load('Into', feedOf(40));
    await age('Into', 1);
    await service.db.raw(`update runs set finished_at = finished_at - interval '1 day' where job_id in (
      select job_id from feeds join validation_jobs using (feed_id) join partners using (partner_id) where partner_name = 'Into'
    )`);
    await service.db.transaction((trx) => mergePartners(trx, 'Merged', 'Into'));
    expect(await reasonsOf('Into')).toEqual({ many_skipped: 10 });

    await removePartner(service.db, 'Into');
    const { rows } = await service.db.raw<{ rows: unknown[] }>(
      'select from partner_attention where partner_id not in (select partner_id from partners)',
    );
    expect(rows).toHaveLength(0);
  });
});

describe('the periodic check', () => {
  it('finds reasons that arise by time or by direct writes, for all partners', async () => {
    const own = await startTestService();
    await own.db.raw(
      `insert into partners (partner_name) select 'Partner ' || number from generate_series(1, 250) as number`,
    );
    for (const partner of ['Partner 1', 'Partner 250']) await own.api.uploadFeed(feedOf(3), partner);
    await own.db.raw(`update feeds set uploaded_at = now() - interval '25 hours'`);
    // As if a removal had run at the same time as a check.
    await own.db.raw(`insert into partner_attention values (9999, 'stale', 9, now(), 1)`);

    expect(await checkAttention(own.db, 0, 100)).toBe(100);
    expect(await own.db('partner_attention').orderBy('partner_id').pluck('partner_id')).toEqual([1, 9999]);
    expect(await checkAttention(own.db, 100, 1_000)).toBe(0);

    const { body } = await own.api.get('/partners?attention=never_run');
    expect(body.items.map((item: { partner_name: string }) => item.partner_name)).toEqual([
      'Partner 1',
      'Partner 250',
    ]);
    expect(await own.db('partner_attention').pluck('partner_id')).not.toContain(9999);
    const uploadedAt = Date.now() - 25 * 3600 * 1000;
    const since = Date.parse(body.items[0].attention[0].since as string);
    expect(Math.abs(since - uploadedAt - 24 * 3600 * 1000)).toBeLessThan(600_000);
  });

  it('waits for the end of a run that keeps the same reasons, and then sees its result', async () => {
    const { job } = await load('Both', feedOf(20, { bad: 6 }));
    expect(job.status).toBe('completed');
    const [partnerId] = await service
      .db('partners')
      .where('partner_name', 'Both')
      .pluck<number[]>('partner_id');
    const other = openDatabase(service.address, { applicationName: 'test', connectionsMax: 2 });
    afterFile(() => other.destroy());
    const trx = await service.db.transaction();
    await trx.raw('update runs set skipped = 0, processed = 14 where job_id = ?', [
      Number(String(job.job_id).slice(2)),
    ]);
    await keepAttention(trx, onePartner(partnerId!));

    const checked = checkAttention(other, partnerId! - 1, 1);
    await sleep(50);
    await trx.commit();
    await checked;

    expect(await reasonsOf('Both')).toEqual({});
  });
});

describe('a check concurrent with another change', () => {
  let other: Knex;
  beforeAll(() => {
    other = openDatabase(service.address, { applicationName: 'test', connectionsMax: 4 });
    afterFile(() => other.destroy());
  });

  /** Waits until a number of statements wait for locks, or until `ended` excludes it. */
  const waiting = (count: number, ended: () => boolean = () => false) =>
    eventually('they wait', async () => {
      const { rows } = await service.db.raw<{ rows: unknown[] }>(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length >= count || ended();
    });

  /** Starts a change and then a check while `hold` delays the end of the change. @returns whether the check waited */
  async function meet(
    hold: string,
    binding: string | number,
    change: () => Promise<unknown>,
  ): Promise<boolean> {
    const held = await other.transaction();
    await held.raw(hold, [binding]);
    const changing = change();
    changing.catch(() => undefined);
    await waiting(1);
    let isChecked = false;
    const checking = checkAttention(other, 0, 1).finally(() => (isChecked = true));
    checking.catch(() => undefined);
    await waiting(2, () => isChecked);
    const isDelayed = !isChecked;
    await held.rollback();
    await Promise.all([changing, checking]);
    return isDelayed;
  }

  it('does not deadlock with a merge', async () => {
    await load('From', feedOf(40, { bad: 10 }));
    await load('Into itself', feedOf(40));
    await withStoredKey(service, 'From');

    await meet(`select from api_keys where partner_name = ? for update`, 'From', () =>
      service.db.transaction((trx) => mergePartners(trx, 'From', 'Into itself')),
    );
  });

  it('does not wait for the removal of a partner that waits itself', async () => {
    await load('Removed', feedOf(40, { bad: 10 }));
    const { rows } = await service.db.raw<{ rows: [{ partner_id: number }] }>(
      `insert into stale_partners (partner_id, completed_at, is_stale)
       select partner_id, '-infinity', false from partners where partner_name = 'Removed' returning partner_id`,
    );

    const isDelayed = await meet(
      'select from stale_partners where partner_id = ? for update',
      rows[0].partner_id,
      () => removePartner(service.db, 'Removed'),
    );
    expect(isDelayed).toBe(false);
    expect(await service.db('partner_attention').where(rows[0]).pluck('reason')).toEqual([]);
  });

  it('does not deadlock with a recovery', async () => {
    await load('First', feedOf(3));
    await leaveRunning(service, await service.api.uploadFeed(feedOf(3), 'Second'));
    const last = await service.api.uploadFeed(feedOf(30), 'First');
    await leaveRunning(service, last);
    const jobId = Number(last.jobId.slice(2));
    const issue = {
      line: 2,
      last_line: 2,
      row_number: 1,
      code: 'zero_price',
      severity: 'warning',
      message: '',
    };
    await service.db('row_issues').insert({ job_id: jobId, issue_number: 1, ...issue });

    await meet('select from row_issues where job_id = ? for update', jobId, () => recoverRuns(service.db));
    expect(await reasonsOf('First')).toEqual({ last_run_failed: 1 });
    expect(await reasonsOf('Second')).toEqual({ last_run_failed: 1 });
  });

  it.each<[string, (name: string) => Promise<() => Promise<unknown>>]>([
    [
      'load',
      async (name) => {
        const feed = await service.api.uploadFeed(feedOf(39), name, { mode: 'replace' });
        return () => service.api.post(`/jobs/${feed.jobId}/run`);
      },
    ],
    [
      'revert',
      async (name) => {
        const { jobId } = await load(name, feedOf(41), { mode: 'replace' });
        return () => service.api.post(`/jobs/${jobId}/revert?run=1`);
      },
    ],
  ])('does not wait for the end of a %s that waits for orders', async (what, prepare) => {
    const name = `Ordered: ${what}`;
    await load(name, feedOf(40), { mode: 'replace' });
    const act = await prepare(name);
    const [partnerId] = await service
      .db('partners')
      .where('partner_name', name)
      .pluck<number[]>('partner_id');

    const lock = `select ${sharedLockSql('withdrawals', raw('cast(? as bigint)')).sql}`;
    expect(await meet(lock, partnerId!, act)).toBe(false);
  });
});

describe('the statement that finds the reasons', () => {
  it.each(['without statistics', 'with statistics of an empty table', 'with statistics'])(
    'reads feeds, jobs and runs by index, %s',
    async (what) => {
      const own = await startTestService();
      if (what.endsWith('empty table')) await own.db.raw('analyze');
      await own.api.loadFeed(feedOf(3), 'Acme');
      await own.db.raw(`
        insert into partners (partner_name) select 'P' || n from generate_series(1, 2000) as n;
        insert into feeds (partner_id, filename, content_type, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
        select partner_id, 'f', 'text/csv', 'b', partner_id || '-' || n, sha256(cast('x' as bytea)), 1
        from partners, generate_series(1, 10) as n where partner_name <> 'Acme';
        insert into validation_jobs (feed_id) select feed_id from feeds where filename = 'f';
        insert into runs (job_id, run, status, finished_at, processed, inserted, updated, unchanged, skipped)
        select job_id, 1, 'completed', now(), 1, 1, 0, 0, 0 from validation_jobs where status = 'queued'`);
      if (what === 'with statistics') await own.db.raw('analyze');
      const statements: { sql: string; bindings: Knex.Value[] }[] = [];
      own.pool.on('query', (statement: (typeof statements)[0]) => {
        if (statement.sql.includes('insert into partner_attention')) statements.push(statement);
      });
      await keepAttention(own.db, onePartner(1));

      const [{ sql, bindings }] = statements as [(typeof statements)[0]];
      const text = `explain (costs off) ${sql.replaceAll(/\$\d+/g, '?')}`;
      const { rows } = await own.db.raw<{ rows: Record<string, string>[] }>(text, bindings);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');

      expect(plan).toContain('runs_pkey');
      expect(plan).not.toMatch(/Seq Scan on (feeds|validation_jobs|runs)/);
    },
  );
});

describe('partner.attention', () => {
  it('is sent to endpoints of the partner when a reason is added and when it is removed', async () => {
    const receiver = await startReceiver();
    await sendTo(service.db, receiver.url, { partner_name: 'Told', event_types: ['partner.attention'] });
    await load('Not told', feedOf(20, { bad: 6 }));
    await load('Told', feedOf(20, { bad: 6 }));
    const bound = await withStoredKey(service, 'Told');
    const [reason] = (await bound.get(partnerPath('Told'))).body.attention;
    expect(reason).toMatchObject({ reason: 'many_skipped', count: 6 });
    // Only the number changes.
    await load('Told', feedOf(20, { bad: 7 }));
    await load('Told', feedOf(20));

    await eventually('both are sent', () => receiver.received.length >= 2);
    expect(receiver.received.flatMap(eventErrors)).toEqual([]);
    expect(receiver.received.flatMap(({ event }) => bodyErrors('partner.attention', event))).toEqual([]);
    const byEnd = receiver.received
      .map(({ event }) => event.data as { is_over: boolean })
      .sort((a, b) => Number(a.is_over) - Number(b.is_over));
    expect(byEnd).toEqual([
      { partner_name: 'Told', ...reason, is_over: false },
      { partner_name: 'Told', ...reason, count: 7, is_over: true },
    ]);
  });
});
