import { execFileSync } from 'node:child_process';
import { createReadStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { productColumns } from '../../src/feed-format/columns';
import { socketFolder } from '../service-process';
import { writeFeeds, type Feeds } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { psqlVersion, quantile, startPacedRequests, timed, watchMemory, withPriority } from './measure';
import { fillNeighbors, neighborsCount, untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';
import { keyHeader, withService, type Service } from './servers';

interface Round extends Service {
  feeds: Feeds;
  /** Minimum seconds of a measurement beside a run: enough for a p99. */
  watchSeconds: number;
  log: BenchContext['log'];
}

/** Figures of a round by name: seconds, megabytes (`memory: …`), milliseconds (`products: …`, `health: …`). */
type Figures = Record<string, number>;

/**
 * Measures a large feed of a new partner through the whole service, beside as many products of other partners. It uses embedded
 * PostgreSQL and local files. Each round has a new data folder. Every step starts after a checkpoint, with statistics and a
 * visibility map as after autovacuum.
 */
export async function measureEtl(context: BenchContext): Promise<Measurement[]> {
  const rows = context.quick ? 100_000 : 1_000_000;
  const feeds = await writeFeeds(context.folder, rows);
  const megabytes = statSync(feeds.base).size / 1e6;
  context.log(`feed of ${rows.toLocaleString('en')} rows, ${megabytes.toFixed(0)} MB`);
  const rounds: Figures[] = [];
  for (let round = 1; round <= context.rounds; round++) {
    context.log(`round ${round} of ${context.rounds}`);
    rounds.push(await measureRound(context, feeds));
  }
  return describe(rows, megabytes, rounds);
}

async function measureRound({ folder, quick, log }: BenchContext, feeds: Feeds): Promise<Figures> {
  return withService(folder, async (service) => {
    await fillNeighbors(service.database, feeds.rows);
    const round = { ...service, feeds, watchSeconds: quick ? 3 : 15, log };
    return { ...(await measureSteps(round)), ...(await measureWhileBusy(round)) };
  });
}

/** Runs the steps one after the other, without other load. */
async function measureSteps(round: Round): Promise<Figures> {
  const { database, feeds } = round;
  const { rows } = feeds;
  const tenth = rows / 10;
  const figures: Figures = {};
  const step = async (name: string, work: () => Promise<unknown>) => {
    await untilIndexed(database);
    await database.query('checkpoint');
    const memory = watchMemory(round.pid);
    const seconds = await timed(work);
    figures[name] = seconds;
    figures[`memory: ${name}`] = memory.peakMegabytes();
    round.log(`${name}: ${seconds.toFixed(1)} s, ${figures[`memory: ${name}`]!.toFixed(0)} MB`);
  };

  await step('upload', () => sendFeed(round.url, 'Bench', feeds.base));
  await sendFeed(round.url, 'Bench', feeds.changed);
  await step('first', () => runExpecting(round.url, 'JV00001', { inserted: rows }));
  figures.indexed = await timed(() => untilIndexed(database));
  await database.query('vacuum analyze');
  figures.insert = await measureInsert(round);
  await database.query('checkpoint');
  figures.copy = await copyIntoTextTable(round);
  round.log(`\\copy: ${figures.copy.toFixed(1)} s`);
  await step('unchanged', () => runExpecting(round.url, 'JV00001', { unchanged: rows }));
  await step('changed', () =>
    runExpecting(round.url, 'JV00002', { updated: tenth, unchanged: rows - tenth }),
  );
  await step('plan', () => runExpecting(round.url, 'JV00001', { updated: tenth }, 'plan'));
  await sendFeed(round.url, 'Bench with bad rows', feeds.bad);
  await step('bad', () => runExpecting(round.url, 'JV00003', { inserted: rows - tenth, skipped: tenth }));
  await step('rejects', () => downloadRejects(round, 'JV00003'));
  return figures;
}

/** Measures catalog and health latency, idle and beside each kind of run. */
async function measureWhileBusy(round: Round): Promise<Figures> {
  const { rows } = round.feeds;
  const figures: Figures = {};
  const watch = async (name: string, work: () => Promise<unknown>) => {
    const { products, health } = await watchAnswers(round, work);
    figures[`products: ${name}`] = quantile(products, 0.99);
    figures[`health: ${name}`] = Math.max(...health);
    round.log(
      `${name}: ${products.length} x GET /products, p50 ${quantile(products, 0.5).toFixed(1)}, ` +
        `p99 ${figures[`products: ${name}`]!.toFixed(1)}, max ${Math.max(...products).toFixed(1)} ms; ` +
        `${health.length} x GET /health, p99 ${quantile(health, 0.99).toFixed(1)}, max ${figures[`health: ${name}`]!.toFixed(1)} ms`,
    );
  };
  await sendFeed(round.url, 'Another', round.feeds.base);
  await round.database.query('checkpoint');
  await watchAnswers({ ...round, watchSeconds: 2 }, () => sleep(2_000));
  await watch('idle', () => sleep(round.watchSeconds * 1000));
  await watch('first', () => runExpecting(round.url, 'JV00004', { inserted: rows }));
  // Their last run loaded the changed feed.
  await watch('unchanged', () => runExpecting(round.url, 'JV00002', { unchanged: rows }));
  let turn = 0;
  await watch('changed', () => runExpecting(round.url, `JV0000${(turn++ % 2) + 1}`, { updated: rows / 10 }));
  return figures;
}

/** Sends requests at a constant rate during `work`; repeats `work` until there are enough values. */
async function watchAnswers(
  { url, watchSeconds }: Round,
  work: () => Promise<unknown>,
): Promise<{ products: number[]; health: number[] }> {
  return withPriority(async () => {
    const products = startPacedRequests({
      url: `${url}/products`,
      connections: 4,
      requestsPerSecond: 50,
    });
    const health = startPacedRequests({
      url: `${url}/health`,
      connections: 1,
      requestsPerSecond: 20,
    });
    const until = performance.now() + watchSeconds * 1000;
    do await work();
    while (performance.now() < until);
    return { products: await products.stop(), health: await health.stop() };
  });
}

async function downloadRejects({ url, feeds }: Round, jobId: string): Promise<void> {
  const response = await fetch(`${url}/jobs/${jobId}/rejects.csv`, { headers: keyHeader });
  const [quote, lineFeed] = Buffer.from('"\n');
  let records = 0;
  let isQuoted = false;
  for await (const chunk of response.body!) {
    for (const byte of chunk as Uint8Array) {
      if (byte === quote) isQuoted = !isQuoted;
      else if (byte === lineFeed && !isQuoted) records++;
    }
  }
  if (records !== feeds.rows / 10 + 1) throw new Error(`unexpected rejects: ${records} records`);
}

const productsCopied = ['feed_id', 'partner_id', ...productColumns].join(', ');

/**
 * Inserts the loaded rows into a table like `products`. It has the same columns, checks, indexes and products of the other
 * partners, but no foreign keys and triggers.
 * @returns seconds
 */
async function measureInsert({ database, log }: Round): Promise<number> {
  const ofBench = "partner_id = (select partner_id from partners where partner_name = 'Bench')";
  await database.query(`
    create table bench_rows with (autovacuum_enabled = off) as
      select ${productsCopied} from products where ${ofBench} order by product_id;
    create table bench_products (like products including all) with (autovacuum_enabled = off);
    insert into bench_products (${productsCopied}, created_at)
      select ${productsCopied}, created_at from products where not ${ofBench} order by product_id
  `);
  await database.query('vacuum analyze bench_rows, bench_products');
  await database.query('checkpoint');
  const seconds = await timed(() =>
    database.query(`insert into bench_products (${productsCopied}) select ${productsCopied} from bench_rows`),
  );
  await database.query('drop table bench_products, bench_rows');
  log(`plain insert: ${seconds.toFixed(1)} s`);
  return seconds;
}

/** Copies the file into a temporary table of texts, by psql if available. @returns seconds of the copy alone */
async function copyIntoTextTable({ dataDir, database, feeds }: Round): Promise<number> {
  const create = `create temporary table bench_texts (${productColumns.map((name) => `${name} text`).join(', ')})`;
  if (psqlVersion() === undefined) {
    await database.query(create);
    const seconds = await timed(() =>
      pipeline(
        createReadStream(feeds.base),
        database.query(copyFrom('copy bench_texts from stdin csv header')),
      ),
    );
    await database.query('drop table bench_texts');
    return seconds;
  }
  const commands = [create, '\\timing on', `\\copy bench_texts from '${feeds.base}' csv header`];
  const output = execFileSync(
    'psql',
    ['-X', '-h', socketFolder(dataDir), '-U', 'postgres', '-d', 'partner_catalog'].concat(
      commands.flatMap((command) => ['-c', command]),
    ),
    { encoding: 'utf8' },
  );
  return Number(/Time: ([\d.]+) ms/.exec(output)![1]) / 1000;
}

function describe(rows: number, megabytes: number, rounds: readonly Figures[]): Measurement[] {
  const of = (name: string) => rounds.map((figures) => figures[name]!);
  const version = psqlVersion();
  const by = version === undefined ? 'by the driver: there is no psql' : `psql ${version}`;
  const copy = { name: `\\copy into a temporary table of texts (${by})`, values: of('copy') };
  const insert = { name: 'insert … select into a table like products', values: of('insert') };
  const idle = { name: 'idle', values: of('products: idle') };
  const seconds = (
    name: string,
    figure: string,
    limit?: Measurement['limit'],
    target?: number,
  ): Measurement => ({
    part: 'etl',
    name,
    unit: 's',
    values: of(figure),
    ...(limit && { limit }),
    ...(target !== undefined && { target: { kind: 'at most', value: target } }),
  });
  const atMost = (name: string, unit: string, figure: string, value: number): Measurement => ({
    part: 'etl',
    name,
    unit,
    values: of(figure),
    target: { kind: 'at most', value },
  });
  const size = `${rows.toLocaleString('en')} rows, ${megabytes.toFixed(0)} MB`;
  const runs = { first: 'a first load', unchanged: 'an unchanged re-run', changed: 'a run with 10% changed' };
  return [
    seconds(`first load of ${size}, beside as many of ${neighborsCount} partners`, 'first', insert, 1),
    seconds('after the first load: until all are found by their words', 'indexed', insert),
    seconds('unchanged re-run', 'unchanged', copy, 1.2),
    seconds('10% of the prices changed', 'changed', copy, 4),
    seconds('plan of 10% changed', 'plan', copy),
    seconds('first load with every tenth row bad', 'bad', insert),
    seconds('rejects.csv of those', 'rejects', copy),
    seconds('upload', 'upload', copy),
    ...Object.entries(runs).map(([run, name]) => atMost(`memory at ${name}`, 'MB', `memory: ${run}`, 200)),
    ...Object.entries(runs).map(([run, name]): Measurement => ({
      ...atMost(`p99 of GET /products beside ${name}`, 'ms', `products: ${run}`, 2),
      limit: idle,
    })),
    ...Object.entries(runs).map(([run, name]) =>
      atMost(`slowest GET /health beside ${name}`, 'ms', `health: ${run}`, 50),
    ),
    { part: 'etl', name: 'slowest GET /health, idle', unit: 'ms', values: of('health: idle') },
  ];
}
