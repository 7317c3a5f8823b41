import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { openDatabase } from '../../src/base/db/database';
import { prune } from '../../src/operation/retention/prune';
import { openObjectStore } from '../../src/base/storage/open-store';
import { embeddedAddress } from '../service-process';
import { fillCatalog } from './catalog-data';
import { quantile, timed, watchReads } from './measure';
import type { BenchContext, Measurement } from './report';
import { withService } from './servers';

const megabyte = 1e6;

/** Runs of each day of the year, and their row issues. */
const fillSql = (jobs: number, issues: number) => `
  begin;
  create temporary table loads on commit drop as
  select nextval(pg_get_serial_sequence('feeds', 'feed_id')) as feed_id, now() - interval '364 days' + day * interval '1 day' as ended_at
  from generate_series(0, 364) as day, generate_series(1, ${jobs}) order by day;

  insert into feeds (feed_id, partner_id, filename, content_type, status, uploaded_at, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
  select feed_id, (select min(partner_id) from partners), 'feed.csv', 'text/csv', 'processed', ended_at, 'local', 'issues-' || feed_id, sha256('x'), 1
  from loads;

  insert into validation_jobs (feed_id, status, run_count, started_at, finished_at, processed, inserted, updated, unchanged, skipped, issue_counts)
  select feed_id, 'completed', 1, ended_at, ended_at, ${issues}, 0, 0, 0, ${issues},
    '[{"code": "invalid_price", "severity": "error", "count": ${issues}, "first_rows": []}]'
  from loads;

  insert into row_issues (job_id, issue_number, line, last_line, row_number, sku, field, column_number, code, severity, message, value)
  select job_id, n, n + 1, n + 1, n, 'SKU-' || n, 'price', 6, 'invalid_price', 'error',
    'price has a decimal comma. Write it with a decimal point, for example 1299.00, or use a format that has a decimal comma.', 'ask us'
  from loads join validation_jobs using (feed_id), generate_series(1, ${issues}) as n
  order by job_id, n;
  commit;
`;

/** Measures reads of the catalog beside a prune of nine months of row issues, and the table's size after it is filled again. */
export async function measureRetention({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const [products, jobs, issues] = quick ? [50_000, 1, 250] : [1_000_000, 4, 500];
  const idle: number[] = [];
  const beside: number[] = [];
  const sizes = { full: [] as number[], again: [] as number[] };
  let removed = 0;
  for (let round = 0; round < rounds; round++) {
    await withService(folder, async ({ url, dataDir, database }) => {
      await fillCatalog(products, (sql) => database.query(sql));
      await database.query(fillSql(jobs, issues));
      await database.query('vacuum analyze');
      await database.query('checkpoint');
      sizes.full.push(await sizeOf(database));
      const before = await countOf(database);
      let seconds = 0;
      const pruneAll = async () => (seconds = await timed(() => pruneIn(dataDir)));
      const latencies = await watchReads(url, pruneAll);
      const length = Math.max(seconds, 5);
      const quiet = await watchReads(url, () => sleep(length * 1000));
      removed = before - (await countOf(database));
      beside.push(quantile(latencies, 0.99));
      idle.push(quantile(quiet, 0.99));
      log(
        `p99 ${beside.at(-1)!.toFixed(2)} ms beside the removal of ${removed.toLocaleString('en')} row issues ` +
          `in ${seconds.toFixed(1)} s, ${idle.at(-1)!.toFixed(2)} ms idle`,
      );
      await untilVacuumed(database);
      // The rest is deleted too, so that the table gets as many rows as before.
      await database.query("update validation_jobs set finished_at = finished_at - interval '1 year'");
      await pruneIn(dataDir);
      await untilVacuumed(database);
      await database.query(fillSql(jobs, issues));
      sizes.again.push(await sizeOf(database));
      log(`row_issues: ${sizes.full.at(-1)!.toFixed(1)} MB, then ${sizes.again.at(-1)!.toFixed(1)} MB`);
    });
  }
  const year = (365 * jobs * issues).toLocaleString('en');
  return [
    {
      part: 'retention',
      name: `GET /products, p99 beside the removal of ${removed.toLocaleString('en')} row issues`,
      unit: 'ms',
      values: beside,
      limit: { name: 'idle', values: idle },
      target: { kind: 'at most', value: 1.2 },
    },
    {
      part: 'retention',
      name: `table of ${year} row issues, removed and written again`,
      unit: 'MB',
      values: sizes.again,
      limit: { name: 'written once', values: sizes.full },
      target: { kind: 'at most', value: 1.05 },
    },
  ];
}

/** Prunes as the service does once a day, on a connection of its own. */
async function pruneIn(dataDir: string): Promise<void> {
  const db = openDatabase(embeddedAddress(dataDir), { applicationName: 'measurement', connectionsMax: 2 });
  const objectStore = await openObjectStore({ s3: undefined, dataDir });
  try {
    await prune({ db, objectStore, rules: { rowIssueDays: 90, historyDays: 400 } });
  } finally {
    await db.destroy();
    objectStore.close();
  }
}

/** Waits for autovacuum, which checks tables once a minute. */
async function untilVacuumed(database: Client): Promise<void> {
  for (;;) {
    const { rows } = await database.query<{ dead: string }>(
      "select n_dead_tup as dead from pg_stat_user_tables where relname = 'row_issues'",
    );
    if (Number(rows[0]!.dead) < 10_000) return;
    await sleep(1_000);
  }
}

async function sizeOf(database: Client): Promise<number> {
  const { rows } = await database.query<{ bytes: string }>(
    "select pg_total_relation_size('row_issues') as bytes",
  );
  return Number(rows[0]!.bytes) / megabyte;
}

async function countOf(database: Client): Promise<number> {
  const { rows } = await database.query<{ count: string }>('select count(*) from row_issues');
  return Number(rows[0]!.count);
}
