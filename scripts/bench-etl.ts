/**
 * Measures a large feed through the whole service (embedded PostgreSQL, local files): a first load, an unchanged re-run
 * and its plan; a first load of the same rows with every tenth one bad, and the download of those. Beside that, what
 * PostgreSQL needs for `\copy` of the same file into an empty table with the columns and indexes of `products`; how much
 * memory the service takes; and how long `GET /health` has to wait meanwhile.
 *
 * usage: bench-etl [rows]      default 1,000,000 rows, about 200 MB
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  openAsBlob,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { productColumns } from '../src/etl/feed-format';

const rows = Number(process.argv[2] ?? 1_000_000);
const apiKey = 'bench';

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-bench-'));
  const feed = join(folder, 'feed.csv');
  const badFeed = join(folder, 'bad-feed.csv');
  await writeFeed(feed, rows, () => false);
  await writeFeed(badFeed, rows, (at) => at % 10 === 0);
  const bad = Math.ceil(rows / 10);
  const service = await startService(join(folder, 'data'));
  try {
    const uploadSeconds = await timed(() => upload(service.url, 'Bench', feed));
    await upload(service.url, 'Bench with bad rows', badFeed);
    const health = watchHealth(service.url);
    const first = await timed(() => work(service.url, 'JV00001', 'run', { inserted: rows }));
    const unchanged = await timed(() => work(service.url, 'JV00001', 'run', { unchanged: rows }));
    const plan = await timed(() => work(service.url, 'JV00001', 'plan', { unchanged: rows }));
    const tenth = await timed(() =>
      work(service.url, 'JV00002', 'run', { inserted: rows - bad, skipped: bad }),
    );
    const rejects = await timed(() => downloadRejects(service.url, 'JV00002', bad));
    const longestHealth = await health.stop();
    const copies = [];
    for (let round = 0; round < 3; round++) copies.push(await copyIntoEmptyTable(join(folder, 'data'), feed));
    const copy = median(copies);

    const megabytes = statSync(feed).size / 1e6;
    console.log(`machine    ${cpus().length} x ${cpus()[0]!.model}, Node ${process.version}`);
    console.log(`feed       ${rows.toLocaleString('en')} rows, ${megabytes.toFixed(0)} MB`);
    console.log(
      `\\copy      ${copy.toFixed(1)} s  (${copier()}; median of ${copies.map((s) => s.toFixed(1)).join(', ')})`,
    );
    console.log(`upload     ${uploadSeconds.toFixed(1)} s`);
    console.log(`first load ${first.toFixed(1)} s  ${(first / copy).toFixed(2)} x \\copy`);
    console.log(`unchanged  ${unchanged.toFixed(1)} s  ${(unchanged / copy).toFixed(2)} x \\copy`);
    console.log(`plan       ${plan.toFixed(1)} s  ${(plan / unchanged).toFixed(2)} x the unchanged re-run`);
    console.log(`10 % bad   ${tenth.toFixed(1)} s  ${(tenth / first).toFixed(2)} x the first load`);
    console.log(`rejects    ${rejects.toFixed(1)} s  for ${bad.toLocaleString('en')} rows`);
    console.log(
      `memory     ${peakMemory(service.process)} peak resident memory of the service's node process`,
    );
    console.log(`health     ${longestHealth.toFixed(0)} ms longest answer of GET /health meanwhile`);
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A feed as partners send it: unique skus in no order, texts, quoted commas, prices, a few words of availability. */
async function writeFeed(file: string, count: number, isBad: (at: number) => boolean): Promise<void> {
  const brands = ['Acme', 'Globex', 'Initech', 'Umbrella', 'Soylent', 'Hooli', 'Stark', 'Wayne'];
  const words = ['in stock', 'out of stock', 'preorder', 'limited_stock'];
  function* lines(): Generator<string> {
    yield `${productColumns.join(',')}\n`;
    for (let at = 0; at < count; at++) {
      // A prime step visits every number once and leaves no order that an index could profit from.
      const number = (at * 7_368_787) % count;
      yield (
        `SKU-${String(number).padStart(8, '0')},Product number ${number} of the large feed,` +
        `"Made of steel and oak, ${number % 97} x ${number % 31} cm, assembled in the north of the country",` +
        `${brands[number % brands.length]},Home & Garden / Category ${number % 200},` +
        `${isBad(at) ? 'NA' : (1 + (number % 99_999) / 100).toFixed(2)},USD,${words[number % words.length]}\n`
      );
    }
  }
  await pipeline(lines(), createWriteStream(file));
}

interface Service {
  process: ChildProcess;
  url: string;
  stop(): Promise<void>;
}

async function startService(dataDir: string): Promise<Service> {
  const entry = join(__dirname, '..', 'dist', 'src', 'main.js');
  const child = spawn(process.execPath, ['--max-semi-space-size=4', entry], {
    env: { ...process.env, DATA_DIR: dataDir, PORT: '0', API_KEYS: apiKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the service did not start')));
    child.stdout.on('data', (chunk: Buffer) => {
      const listening = /"url":"([^"]+)"/.exec(chunk.toString());
      if (listening) resolve(listening[1]!);
    });
  });
  return {
    process: child,
    url,
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function upload(url: string, partnerName: string, file: string): Promise<void> {
  const form = new FormData();
  form.set('partner_name', partnerName);
  form.set('file', await openAsBlob(file, { type: 'text/csv' }), 'feed.csv');
  const response = await fetch(`${url}/feeds/upload`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
    body: form,
  });
  if (response.status !== 201) throw new Error(await response.text());
}

/** Runs or plans a job with curl: fetch gives up an answer that takes more than five minutes. */
async function work(
  url: string,
  jobId: string,
  what: 'run' | 'plan',
  expected: Record<string, number>,
): Promise<void> {
  const path = `${url}/jobs/${jobId}/${what}`;
  const child = spawn('curl', ['-s', '-X', 'POST', '-H', `x-api-key: ${apiKey}`, path]);
  let answer = '';
  for await (const chunk of child.stdout) answer += String(chunk);
  const { summary } = JSON.parse(answer) as { summary: Record<string, number> };
  for (const [counter, count] of Object.entries(expected)) {
    if (summary[counter] !== count) throw new Error(`unexpected result: ${answer}`);
  }
}

async function downloadRejects(url: string, jobId: string, expected: number): Promise<void> {
  const response = await fetch(`${url}/jobs/${jobId}/rejects.csv`, { headers: { 'x-api-key': apiKey } });
  let lines = 0;
  for await (const chunk of response.body!)
    lines += Buffer.from(chunk).toString('latin1').split('\n').length - 1;
  if (lines !== expected + 1) throw new Error(`unexpected rejects: ${lines} lines`);
}

function watchHealth(url: string): { stop(): Promise<number> } {
  const stopping = new AbortController();
  let longest = 0;
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      await (await fetch(`${url}/health`)).text();
      longest = Math.max(longest, performance.now() - startedAt);
      await sleep(20);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await watching;
      return longest;
    },
  };
}

function copier(): string {
  return spawnSync('psql', ['--version']).status === 0 ? 'psql' : 'COPY by the driver, there is no psql';
}

/** @returns seconds for the COPY alone */
async function copyIntoEmptyTable(dataDir: string, file: string): Promise<number> {
  const host = join(dataDir, 'postgres');
  const client = new Client({ host, user: 'postgres', database: 'partner_catalog' });
  await client.connect();
  await client.query(`
    drop table if exists bench_products;
    create table bench_products (like products including all);
    alter table bench_products alter feed_id set default 1, alter partner_id set default 1;
  `);
  const target = `bench_products (${productColumns.join(', ')}) from`;
  const seconds = await timed(async () => {
    if (copier() === 'psql') {
      const command = `\\copy ${target} '${file}' csv header`;
      execFileSync('psql', ['-q', '-h', host, '-U', 'postgres', '-d', 'partner_catalog', '-c', command]);
    } else {
      await pipeline(createReadStream(file), client.query(copyFrom(`copy ${target} stdin csv header`)));
    }
  });
  await client.query('drop table bench_products');
  await client.end();
  return seconds;
}

function peakMemory(child: ChildProcess): string {
  try {
    const kibibytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1];
    return `${((Number(kibibytes) * 1024) / 1e6).toFixed(0)} MB`;
  } catch {
    return 'not known on this system:';
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
