/**
 * Sends a mixture of all requests to the service and a worker for a while (embedded PostgreSQL, S3 server). The mixture has small
 * and wide feeds, orders, reads, and an open console. Fails on an undocumented response, lost or duplicated data, leftovers, or
 * growth of memory, file handles or connections.
 *
 * usage: load [minutes] [clients]      default 30 minutes, 12 clients
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import S3rver from 's3rver';
import { actions, Tally, type Load } from './load-actions';
import { connectTo, median, startServiceProcess, startWorkerProcess } from './service-process';

const minutes = Number(process.argv[2] ?? 30);
const clients = Number(process.argv[3] ?? 12);
const key = 'key-of-the-load-test';
const bucket = 'load';
const sampleMilliseconds = Math.min(5_000, (minutes * 60_000) / 60);
/** Allowed growth: 20 %, plus a constant for a few requests. */
const growthMax = {
  rss: [1.2, 20],
  workerRss: [1.2, 20],
  handles: [1.2, 10],
  connections: [1.2, 5],
} as const;
const rssMax = 200;

interface Sample {
  /** Megabytes of resident memory. */
  rss: number;
  workerRss: number;
  handles: number;
  connections: number;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-load-'));
  // As root, PostgreSQL runs as another user, which needs access.
  chmodSync(folder, 0o755);
  const dataDir = join(folder, 'data');
  const objectsFolder = join(folder, 'objects');
  const s3 = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory: objectsFolder,
    silent: true,
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port } = await s3.run();
  const settings = {
    S3_BUCKET: bucket,
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  };
  const service = await startServiceProcess(dataDir, { API_KEYS: key, ...settings });
  const worker = await startWorkerProcess(dataDir, settings);
  const database = await connectTo(dataDir);
  const tally = new Tally();
  const load: Load = { url: service.url, key, tally };
  try {
    const endsAt = Date.now() + minutes * 60_000;
    const samples: Sample[] = [];
    const sampling = (async () => {
      while (Date.now() < endsAt) {
        await sleep(sampleMilliseconds);
        samples.push(await sample(service.pid, worker.pid, database));
      }
    })();
    const startedAt = performance.now();
    await Promise.all([sampling, ...Array.from({ length: clients }, () => actUntil(endsAt, load))]);
    const seconds = (performance.now() - startedAt) / 1000;
    await checkResult(database, objectsFolder, tally);
    report(tally, samples, seconds);
    await database.end();
    await worker.end('SIGTERM');
    const code = await service.stop();
    if (code !== 0) tally.violate(`the service ended with ${code}`);
  } finally {
    await worker.end('SIGTERM');
    await service.stop();
    await s3.close();
    rmSync(folder, { recursive: true, force: true });
  }
  for (const violation of tally.violations.slice(0, 20)) console.log(`VIOLATION  ${violation}`);
  console.log(`violations ${tally.violations.length}`);
  if (tally.violations.length > 0) process.exitCode = 1;
}

async function actUntil(endsAt: number, load: Load): Promise<void> {
  const total = actions.reduce((sum, [weight]) => sum + weight, 0);
  while (Date.now() < endsAt) {
    let at = Math.random() * total;
    const [, action] = actions.find(([weight]) => (at -= weight) < 0) ?? actions[0]!;
    try {
      await action(load);
    } catch (error) {
      const { message, cause } = error as Error;
      load.tally.violate(`no answer: ${message} ${cause instanceof Error ? cause.message : ''}`);
    }
  }
}

const residentMegabytes = (pid: number) =>
  (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024) / 1e6;

async function sample(pid: number, workerPid: number, database: Client): Promise<Sample> {
  const { rows } = await database.query<{ count: string }>(
    `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  return {
    rss: residentMegabytes(pid),
    workerRss: residentMegabytes(workerPid),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    connections: Number(rows[0]!.count),
  };
}

/** Checks that all acknowledged data exist exactly once, and no other data. */
async function checkResult(database: Client, objectsFolder: string, tally: Tally): Promise<void> {
  // Clean-up after disconnected clients may be in progress.
  await sleep(2_000);
  const count = async (sql: string) => Number((await database.query<{ count: string }>(sql)).rows[0]!.count);
  const objects = readdirSync(objectsFolder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('._S3rver_object'),
  );
  const feeds = await count('select count(*) from feeds');
  const expectations: [what: string, found: number, expected: number][] = [
    ['feeds', feeds, tally.feedsAccepted],
    ['objects', objects.length, feeds],
    ['orders', await count('select count(*) from orders'), tally.ordersCreated],
    ['jobs that run', await count("select count(*) from validation_jobs where status = 'running'"), 0],
    [
      'orders whose total is not that of their items',
      await count(
        `select count(*) from orders
         where total_amount is distinct from
           (select sum(line_total) from order_items where order_items.order_id = orders.order_id)`,
      ),
      0,
    ],
  ];
  for (const [what, found, expected] of expectations) {
    if (found !== expected) tally.violate(`${what}: ${found}, and not ${expected}`);
  }
}

function report(tally: Tally, samples: Sample[], seconds: number): void {
  for (const [name, count] of [...tally.answers].sort()) console.log(`${name.padEnd(32)} ${count}`);
  const requests = [...tally.answers.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `requests   ${requests} in ${seconds.toFixed(0)} s, ${(requests / seconds).toFixed(0)} per second`,
  );
  // The first quarter fills caches and pools.
  const quarter = Math.floor(samples.length / 4);
  for (const name of ['rss', 'workerRss', 'handles', 'connections'] as const) {
    const values = samples.map((each) => each[name]);
    const before = median(values.slice(quarter, 2 * quarter));
    const after = median(values.slice(-quarter));
    const [factor, allowance] = growthMax[name];
    const unit = name.toLowerCase().endsWith('rss') ? ' MB' : '';
    console.log(
      `${name.padEnd(12)}second quarter ${before.toFixed(0)}${unit}, last quarter ${after.toFixed(0)}${unit}, ` +
        `highest ${Math.max(...values).toFixed(0)}${unit}`,
    );
    if (after > before * factor + allowance) tally.violate(`${name} grows: ${before} to ${after}`);
  }
  const highest = Math.max(...samples.flatMap(({ rss, workerRss }) => [rss, workerRss]));
  if (highest > rssMax) tally.violate(`${highest.toFixed(0)} MB of memory`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
