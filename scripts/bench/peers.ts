import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { loadConfig } from '../../src/config';
import { formatId } from '../../src/base/ids';
import { connectTo, embeddedAddress, startServiceProcess } from '../service-process';
import { writeFeeds, type Feeds } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { ask, timed, watchMemory } from './measure';
import { untilIndexed } from './neighbors';
import { startListener, withLoad } from './processes';
import type { PeerSettings } from './peers/peer';
import type { BenchContext, Measurement } from './report';
import { apiKey, keyHeader, watchBoth, type Watch } from './servers';

const partnerName = 'Bench';
const connections = 50;

const peers = {
  drizzle: { file: 'drizzle-server.js', name: 'fastify and Drizzle' },
  typeorm: { file: 'typeorm-server.js', name: 'NestJS and TypeORM' },
} as const;
type PeerName = keyof typeof peers;
type SubjectName = 'service' | PeerName;

const steps = {
  first: 'first load',
  unchanged: 'unchanged re-run',
  changed: '10% of the prices changed',
} as const;
type Step = keyof typeof steps;

const requests = {
  'default page': () => [{ path: '/products' }],
  'one product': (rows: number) =>
    Array.from({ length: 20_000 }, (_, at) => ({
      path: `/products/${formatId('PR', 1 + ((at * 7_368_787) % rows))}`,
    })),
} as const;
const whileServing = 'serving';

/** The service or a peer, with a database of its own on the same server. */
interface Subject {
  pid: number;
  port: number;
  database: Client;
  watch: Watch;
  load(step: Step): Promise<void>;
  stop(): Promise<void>;
}

/** Figures of a round by subject and name: seconds (also `processor: …`), requests per second, MB (`memory: …`). */
type Figures = Record<SubjectName, Record<string, number>>;

/** Measures the service beside two usual stacks with batched upserts; all take every step, in an order that rotates by round. */
export async function measurePeers(context: BenchContext): Promise<Measurement[]> {
  const rows = context.products ?? (context.quick ? 100_000 : 1_000_000);
  if (rows % 10 !== 0) throw new Error('the part peers needs a multiple of ten rows');
  const feeds = await writeFeeds(context.folder, rows);
  const size = `${rows.toLocaleString('en')} rows, ${(statSync(feeds.base).size / 1e6).toFixed(0)} MB`;
  const rounds: Figures[] = [];
  for (let round = 1; round <= context.rounds; round++) {
    context.log(`round ${round} of ${context.rounds}, ${size}`);
    rounds.push(await measureRound(context, feeds, round));
  }
  return describe(size, rounds);
}

async function measureRound(
  { folder, quick, log }: BenchContext,
  feeds: Feeds,
  round: number,
): Promise<Figures> {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const started: Subject[] = [];
  const start = async (starting: Promise<Subject>) => {
    const subject = await starting;
    started.push(subject);
    return subject;
  };
  const figures: Figures = { service: {}, drizzle: {}, typeorm: {} };
  const note = (name: SubjectName, what: string, value: number, unit: string) => {
    figures[name][what] = value;
    log(`${what}: ${name} ${value.toFixed(1)} ${unit}`);
  };
  try {
    const subjects = {
      service: await start(startService(dataDir, feeds)),
      drizzle: await start(startPeer(dataDir, feeds, 'drizzle')),
      typeorm: await start(startPeer(dataDir, feeds, 'typeorm')),
    };
    const inTurns = rotated(Object.entries(subjects) as [SubjectName, Subject][], round);

    for (const step of Object.keys(steps) as Step[]) {
      for (const [name, subject] of inTurns) {
        await subject.database.query('checkpoint');
        const memory = watchMemory(subject.pid);
        const taken = subject.watch();
        note(name, step, await timed(() => subject.load(step)), 's');
        const { node, postgres } = taken();
        note(name, `processor: ${step}`, (node + postgres) / 1_000, 's');
        note(name, `memory: ${step}`, memory.peakMegabytes(), 'MB');
        await settle(subject);
      }
      await requireSameProducts(subjects, feeds.rows);
    }
    for (const { port } of Object.values(subjects)) await requireFullPage(port);
    await withLoad(async (send) => {
      for (const [what, listed] of Object.entries(requests)) {
        const order = { connections, apiKey, requests: listed(feeds.rows) };
        for (const { port } of Object.values(subjects))
          await send({ ...order, port, milliseconds: quick ? 2_000 : 5_000 });
        for (const [name, { port, pid }] of inTurns) {
          const memory = watchMemory(pid);
          const sent = await send({ ...order, port, milliseconds: quick ? 1_000 : 5_000 });
          note(name, what, sent.requests / sent.seconds, 'requests/s');
          const peak = Math.max(memory.peakMegabytes(), figures[name][`memory: ${whileServing}`] ?? 0);
          figures[name][`memory: ${whileServing}`] = peak;
        }
      }
    });
    return figures;
  } finally {
    // The service last: stopping it stops the shared server.
    for (const subject of started.toReversed()) await subject.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function startService(dataDir: string, feeds: Feeds): Promise<Subject> {
  const service = await startServiceProcess(dataDir, { API_KEYS: apiKey });
  const { url } = service;
  const base = await sendFeed(url, partnerName, feeds.base);
  const changed = await sendFeed(url, partnerName, feeds.changed);
  const tenth = feeds.rows / 10;
  const runs = {
    first: () => runExpecting(url, base, { inserted: feeds.rows }),
    unchanged: () => runExpecting(url, base, { unchanged: feeds.rows }),
    changed: () => runExpecting(url, changed, { updated: tenth, unchanged: feeds.rows - tenth }),
  };
  const database = await connectTo(dataDir);
  return {
    pid: service.pid,
    port: Number(new URL(service.url).port),
    database,
    watch: await watchBoth(service.pid, database),
    load: (step) => runs[step](),
    async stop() {
      await database.end();
      await service.stop();
    },
  };
}

async function startPeer(dataDir: string, feeds: Feeds, name: PeerName): Promise<Subject> {
  const owner = await connectTo(dataDir);
  await owner.query(`create database ${name}`);
  await owner.end();
  const settings: PeerSettings = {
    database: { ...embeddedAddress(dataDir), database: name },
    connections: loadConfig({}).databaseConnections,
    apiKey,
  };
  const database = new Client(settings.database);
  await database.connect();
  await database.query(readFileSync(join(__dirname, 'peers', 'products.sql'), 'utf8'));
  const script = join(__dirname, 'peers', 'dist', peers[name].file);
  const server = startListener(peers[name].name, [script, JSON.stringify(settings)], {
    NODE_ENV: 'production',
  });
  const port = await server.port;
  return {
    pid: server.pid,
    port,
    database,
    watch: await watchBoth(server.pid, database),
    async load(step) {
      const body = JSON.stringify({
        partner_name: partnerName,
        file: step === 'changed' ? feeds.changed : feeds.base,
      });
      const answer = await ask(`http://127.0.0.1:${port}/loads`, {
        method: 'POST',
        headers: { ...keyHeader, 'content-type': 'application/json' },
        body,
      });
      if (answer.body !== JSON.stringify({ rows: feeds.rows })) {
        throw new Error(`${peers[name].name}, ${steps[step]}: ${answer.status} ${answer.body}`);
      }
    },
    async stop() {
      server.stop();
      await database.end();
    },
  };
}

/** Waits for the search index and runs VACUUM ANALYZE, as autovacuum would. */
async function settle({ database }: Subject): Promise<void> {
  await untilIndexed(database);
  await database.query('vacuum analyze');
}

function rotated<T>(values: T[], turns: number): T[] {
  const first = turns % values.length;
  return [...values.slice(first), ...values.slice(0, first)];
}

/** @throws Error unless all have the rows and prices of the feed: otherwise they did different work */
async function requireSameProducts(subjects: Record<SubjectName, Subject>, rows: number): Promise<void> {
  const found = new Set<string>();
  for (const { database } of Object.values(subjects)) {
    const { rows: sums } = await database.query<{ sums: string }>(
      `select concat_ws(' ', count(*), sum(price), sum(hashtext(sku || product_name || description || brand || category)::bigint)) as sums from products`,
    );
    found.add(sums[0]!.sums);
  }
  if (found.size !== 1 || ![...found][0]!.startsWith(`${rows} `))
    throw new Error(`expected the same ${rows} products, got ${[...found].join('; ')}`);
}

/** @throws Error unless the default page and the first product are complete */
async function requireFullPage(port: number): Promise<void> {
  const get = async (path: string) =>
    JSON.parse((await ask(`http://127.0.0.1:${port}${path}`, { headers: keyHeader })).body) as Record<
      string,
      unknown
    >;
  const { items } = await get('/products');
  const { sku } = await get('/products/PR00001');
  if (!Array.isArray(items) || items.length !== 10 || typeof sku !== 'string')
    throw new Error(`port ${port}: expected ten products and a first one`);
}

function describe(size: string, rounds: readonly Figures[]): Measurement[] {
  const besideBoth = (name: string, unit: string, figure: string): Measurement[] =>
    (Object.keys(peers) as PeerName[]).map((peer) => ({
      part: 'peers',
      name,
      unit,
      values: rounds.map(({ service }) => service[figure]!),
      limit: { name: peers[peer].name, values: rounds.map((figures) => figures[peer][figure]!) },
    }));
  return [
    ...Object.entries(steps).flatMap(([step, name]) => besideBoth(`${name}, ${size}`, 's', step)),
    ...Object.entries(steps).flatMap(([step, name]) =>
      besideBoth(`processor time: ${name}`, 's', `processor: ${step}`),
    ),
    ...Object.keys(requests).flatMap((what) =>
      besideBoth(`${what}, ${connections} connections`, 'requests/s', what),
    ),
    ...Object.entries({ ...steps, [whileServing]: 'both kinds of requests' }).flatMap(([step, name]) =>
      besideBoth(`memory: ${name}`, 'MB', `memory: ${step}`),
    ),
  ];
}
