import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import {
  buildIn,
  connectTo,
  lastReleaseFolder,
  startServiceProcess,
  thisBuild,
  type ServiceProcess,
} from '../service-process';
import { runLoad } from './catalog-throughput';
import { writeFeeds, type Feeds } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { quantile, startPacedRequests, timed, withPriority } from './measure';
import { fillNeighbors, neighborsCount } from './neighbors';
import { sendOrders } from './order-load';
import { randomOrder } from './orders';
import { watchProcessors } from './processor-time';
import type { BenchContext, Measurement } from './report';
import { fillCatalog, fillOrders, products } from './sales-history';

const apiKey = 'key-of-the-benchmark';
const headers = { 'x-api-key': apiKey };
const connections = 50;
/** Loads of one round whose reads form one p99: a single load has too few requests. */
const loadsPerRound = 3;

interface Subject {
  service: ServiceProcess;
  database: Client;
}

/** What one round measured, by name. */
type Figures = Record<string, number>;

const units = {
  'default page, 50 connections': 'requests/s',
  'default page: processor time each': 'ms',
  'one product, 50 connections': 'requests/s',
  'one product: processor time each': 'ms',
  'orders of any products, 50 connections': 'orders/s',
  'order: processor time each': 'ms',
  'first load of # rows': 's',
  'first load of # rows: processor time': 's',
  'unchanged re-run of # rows': 's',
  '10% of # rows changed': 's',
  'p99 of GET /products, idle': 'ms',
  'p99 of GET /products beside first loads of # rows': 'ms',
} as const;

/**
 * The last release and this version, step by step in turns, each with a database of its own. Both meet the same state of
 * the machine, so the ratio tells a regression from a busy hour. Processor time is that of the service without PostgreSQL.
 */
export async function measureLastRelease({
  quick,
  rounds,
  folder,
  log,
}: BenchContext): Promise<Measurement[]> {
  const rows = quick ? 100_000 : 400_000;
  const feeds = await writeFeeds(folder, rows);
  const names = ['last', 'present'] as const;
  const builds = { last: buildIn(lastReleaseFolder), present: thisBuild };
  const firstLoads = await measureNewPartner({ quick, rounds, folder, log }, builds);
  const subjects = {
    last: await startSubject(join(folder, 'last'), builds.last),
    present: await startSubject(join(folder, 'present'), builds.present),
  };
  const results = { last: [] as Figures[], present: [] as Figures[] };
  try {
    for (const name of names) await measureRequests(subjects[name], quick ? 2_000 : 5_000);
    for (let round = 1; round <= rounds; round++) {
      const figures = { last: {} as Figures, present: {} as Figures };
      for (const step of [
        (subject: Subject) => measureRequests(subject, quick ? 2_000 : 5_000),
        (subject: Subject) => measureRuns(subject, feeds, round),
      ]) {
        for (const name of round % 2 ? names : names.toReversed()) {
          Object.assign(figures[name], await step(subjects[name]));
        }
      }
      for (const name of names) results[name].push(figures[name]);
      for (const name of Object.keys(units)) {
        log(
          `round ${round}: ${name}: ${figures.present[name]!.toFixed(2)}, last release ${figures.last[name]!.toFixed(2)}`,
        );
      }
    }
  } finally {
    for (const { database, service } of Object.values(subjects)) {
      await database.end();
      await service.stop();
    }
  }
  const measured = Object.entries(units).map(([name, unit]): Measurement => ({
    part: 'release',
    name: name.replace('#', rows.toLocaleString('en')),
    unit,
    values: results.present.map((figures) => figures[name]!),
    limit: { name: 'the last release', values: results.last.map((figures) => figures[name]!) },
    target: unit.endsWith('/s') ? { kind: 'at least', value: 0.9 } : { kind: 'at most', value: 1.1 },
  }));
  return [firstLoads, ...measured];
}

/**
 * Measures the first load of a new partner beside as many products of others, until its response: then the products and all
 * their indexes are written. Each load has a data folder of its own, and no other load beside it.
 */
async function measureNewPartner(
  { quick, rounds, folder, log }: BenchContext,
  builds: Record<'last' | 'present', typeof thisBuild>,
): Promise<Measurement> {
  const rows = quick ? 100_000 : 1_000_000;
  const dataDir = join(folder, 'first-load');
  const feedFolder = join(folder, 'first-load-feeds');
  mkdirSync(feedFolder);
  const { base } = await writeFeeds(feedFolder, rows);
  const seconds = { last: [] as number[], present: [] as number[] };
  for (let round = 1; round <= rounds; round++) {
    const names = ['last', 'present'] as const;
    for (const name of round % 2 ? names : names.toReversed()) {
      const service = await startServiceProcess(dataDir, { API_KEYS: apiKey }, builds[name]);
      const database = await connectTo(dataDir);
      try {
        await fillNeighbors(database, rows);
        const target = { url: service.url, apiKey };
        const jobId = await sendFeed(target, 'New partner', base);
        await database.query('checkpoint');
        seconds[name].push(await timed(() => runExpecting(target, jobId, { inserted: rows })));
        log(`round ${round}: first load beside others, ${name}: ${seconds[name].at(-1)!.toFixed(1)} s`);
      } finally {
        await database.end();
        await service.stop();
        rmSync(dataDir, { recursive: true, force: true });
      }
    }
  }
  rmSync(feedFolder, { recursive: true });
  const size = rows.toLocaleString('en');
  return {
    part: 'release',
    name: `first load of ${size} rows beside ${size} products of ${neighborsCount} partners`,
    unit: 's',
    values: seconds.present,
    limit: { name: 'the last release', values: seconds.last },
    target: { kind: 'at most', value: 0.6 },
  };
}

async function startSubject(dataDir: string, build: typeof thisBuild): Promise<Subject> {
  const service = await startServiceProcess(dataDir, { API_KEYS: apiKey }, build);
  const database = await connectTo(dataDir);
  await fillCatalog(database);
  await fillOrders(database, { orders: 20_000, days: 365 });
  return { service, database };
}

async function measureRequests({ service }: Subject, milliseconds: number): Promise<Figures> {
  const { url, pid } = service;
  const port = Number(new URL(url).port);
  const read = async (path: string) =>
    (await runLoad({ port, connections, milliseconds, headers, paths: [path], numbers: products }))
      .requestsPerSecond;
  const order = () =>
    sendOrders({ url, apiKey, connections, milliseconds, nextBody: () => randomOrder(products) });
  const figures: Figures = {};
  for (const [name, each, send] of [
    ['default page, 50 connections', 'default page', () => read('/products')],
    ['one product, 50 connections', 'one product', () => read('/products/PR#')],
    ['orders of any products, 50 connections', 'order', order],
  ] as const) {
    const taken = watchProcessors(pid);
    const perSecond = await send();
    figures[name] = perSecond;
    figures[`${each}: processor time each`] = taken() / ((perSecond * milliseconds) / 1_000);
  }
  return figures;
}

async function measureRuns(subject: Subject, feeds: Feeds, round: number): Promise<Figures> {
  const { service, database } = subject;
  const target = { url: service.url, apiKey };
  const { rows } = feeds;
  const figures: Figures = {};
  const idle = startPacedReads(service.url);
  await sleep(3_000);
  figures['p99 of GET /products, idle'] = quantile(await idle.stop(), 0.99);
  const waits: number[] = [];
  const seconds: number[] = [];
  const processorSeconds: number[] = [];
  let jobId = '';
  for (let load = 1; load <= loadsPerRound; load++) {
    jobId = await sendFeed(target, `Partner of round ${round}, load ${load}`, feeds.base);
    await database.query('checkpoint');
    await withPriority(async () => {
      const taken = watchProcessors(service.pid);
      const reads = startPacedReads(service.url);
      seconds.push(await timed(() => runExpecting(target, jobId, { inserted: rows })));
      waits.push(...(await reads.stop()));
      processorSeconds.push(taken() / 1_000);
    });
  }
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value) / values.length;
  figures['first load of # rows'] = mean(seconds);
  figures['first load of # rows: processor time'] = mean(processorSeconds);
  figures['p99 of GET /products beside first loads of # rows'] = quantile(waits, 0.99);
  const changed = await sendFeed(target, `Partner of round ${round}, load ${loadsPerRound}`, feeds.changed);
  await database.query('vacuum analyze');
  await database.query('checkpoint');
  figures['unchanged re-run of # rows'] = await timed(() => runExpecting(target, jobId, { unchanged: rows }));
  figures['10% of # rows changed'] = await timed(() => runExpecting(target, changed, { updated: rows / 10 }));
  return figures;
}

const startPacedReads = (url: string) =>
  startPacedRequests({ url: `${url}/products`, headers, connections: 4, requestsPerSecond: 50 });
