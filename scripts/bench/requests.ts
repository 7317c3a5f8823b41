import { loadConfig } from '../../src/config';
import { securityHeaders } from '../../src/http/reply/common-headers';
import { rowColumns } from '../../src/catalog/products/products.repository';
import { thisBuild } from '../service-process';
import { ask } from './measure';
import { fillNeighbors, neighborsCount } from './neighbors';
import { startServer, withLoad, type ComparisonServer } from './processes';
import type { BenchContext, Measurement } from './report';
import {
  chooseKinds,
  drawRequests,
  isOrder,
  readCatalog,
  type DrawnCatalog,
  type RequestKind,
} from './request-kinds';
import { measureRounds, type Sample, type Samples, type Subject } from './request-rounds';
import { apiKey, databaseKinds, watchBoth, withServices, type DatabaseKind, type Service } from './servers';

/** The servers beside the service, on the same database. `least`: minimum ratio of its rate to theirs, or that of the kind. */
const peers = {
  fastify: { file: 'fastify-server.ts', isPrepared: false, name: 'fastify and pg', least: 'of kind' },
  'fastify, prepared': {
    file: 'fastify-server.ts',
    isPrepared: true,
    name: 'fastify and pg, prepared',
    least: undefined,
  },
  'node:http': {
    file: 'bare-server.ts',
    isPrepared: true,
    name: 'node:http and pg, prepared',
    least: 0.75,
  },
} as const;
type Peer = keyof typeof peers;

/** Minimum ratio of the rate to fastify's, for the first part that the name of a kind contains. */
const leastOf: [part: string, ratio: number][] = [
  ['default page', 2],
  ['page of a partner', 1.3],
  ['page of a brand', 1.2],
  ['category by price', 3],
  ['one product', 1.5],
  ['mixture', 1.5],
  ['order', 2],
];
/** Maximum ratio of latency to fastify, for a single client. */
const loneClientMax = 1.1;
/** Distinct requests of each kind whose responses are compared. */
const comparedRequests = 100;

/**
 * Measures requests of the service with its default settings beside servers that send the same bytes. Results on an external and
 * the embedded PostgreSQL: rate, latency, processor time of Node.js and PostgreSQL per request.
 */
export async function measureRequests(context: BenchContext): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const database of context.database ? [context.database] : databaseKinds)
    measurements.push(...(await measureOn(database, context)));
  return measurements;
}

async function measureOn(kind: DatabaseKind, context: BenchContext): Promise<Measurement[]> {
  const { quick, rounds, folder, log, settings, products = quick ? 50_000 : 200_000 } = context;
  const kinds = chooseKinds(context.kinds);
  const builds = { service: { build: thisBuild, settings } };
  return withServices(kind, folder, builds, async ({ service }) => {
    const setting = `${service.description}, ${products.toLocaleString('en')} products`;
    log(`${setting} of ${neighborsCount} partners`);
    await fillNeighbors(service.database, products);
    const catalog = await readCatalog(service.database);
    return withPeers(service, (besides) =>
      withLoad(async (send) => {
        const subjects: Record<'service' | Peer, Subject> = { service, ...besides };
        for (const each of kinds) await requireSameAnswers(each, catalog, subjects);
        const sliceMilliseconds = quick ? 500 : 1_500;
        const samples = await measureRounds(kinds, subjects, {
          catalog,
          rounds,
          sliceMilliseconds,
          send,
          log,
        });
        return [...samples].flatMap(([each, of]) => describe(each, of, setting));
      }),
    );
  });
}

async function withPeers<T>(
  { address, database }: Service,
  work: (subjects: Record<Peer, Subject>) => Promise<T>,
): Promise<T> {
  const order = {
    database: address,
    connections: loadConfig({}).databaseConnections,
    columns: rowColumns,
    headers: { ...securityHeaders, 'x-request-id': '00000000-0000-4000-8000-000000000000' },
    apiKey,
  };
  const servers: ComparisonServer[] = [];
  try {
    const subjects: Partial<Record<Peer, Subject>> = {};
    for (const [name, { file, isPrepared }] of Object.entries(peers) as [Peer, (typeof peers)[Peer]][]) {
      const server = startServer(file, { ...order, preparesStatements: isPrepared });
      servers.push(server);
      subjects[name] = {
        port: await server.port,
        watch: await watchBoth(server.pid, database),
        lacks: (kind) => name === 'node:http' && (isOrder(kind) || kind.connections === 1),
      };
    }
    return await work(subjects as Record<Peer, Subject>);
  } finally {
    for (const server of servers) server.stop();
  }
}

/** @throws Error unless all servers send the same bytes, except for numbers and time of a new order */
async function requireSameAnswers(
  kind: RequestKind,
  catalog: DrawnCatalog,
  subjects: Record<string, Subject>,
): Promise<void> {
  const distinct = new Map(
    drawRequests(kind, catalog, 10 * comparedRequests).map((request) => [JSON.stringify(request), request]),
  );
  for (const { path, body } of [...distinct.values()].slice(0, comparedRequests)) {
    const bodies = new Map<string, string>();
    for (const [name, { port, lacks }] of Object.entries(subjects)) {
      if (lacks?.(kind)) continue;
      const { status, body: answer } = await ask(`http://127.0.0.1:${port}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-api-key': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }) },
        body,
      });
      if (status >= 300) throw new Error(`${name}: ${path}: ${status} ${answer}`);
      bodies.set(isOrder(kind) ? answer.replaceAll(/"O[RI]\d+"|"created_at":"[^"]+"/g, '') : answer, name);
    }
    if (bodies.size > 1 || ![...bodies.keys()][0]!.includes('"product_id"'))
      throw new Error(`${path}: different or empty responses: ${[...bodies].join('\n')}`);
  }
}

function describe(kind: RequestKind, samples: Samples<'service' | Peer>, setting: string): Measurement[] {
  const isLone = kind.connections === 1;
  const figure = isLone ? 'latency' : 'perSecond';
  const targetOf = (peer: Peer): Measurement['target'] => {
    const { least } = peers[peer];
    if (least === undefined) return undefined;
    if (least !== 'of kind') return { kind: 'at least', value: least };
    if (isLone) return { kind: 'at most', value: loneClientMax };
    return { kind: 'at least', value: leastOf.find(([part]) => kind.name.includes(part))![1] };
  };
  const figures = (of: Sample[]) => ({
    values: of.map((sample) => sample[figure]),
    processor: { node: of.map(({ node }) => node), postgres: of.map(({ postgres }) => postgres) },
  });
  return (Object.keys(peers) as Peer[])
    .filter((peer) => samples[peer])
    .map((peer) => ({
      part: 'requests',
      name: isLone ? kind.name : `${kind.name}, ${kind.connections} connections`,
      unit: isLone ? 'ms' : 'requests/s',
      ...figures(samples.service!),
      limit: { name: peers[peer].name, ...figures(samples[peer]!) },
      target: targetOf(peer),
      setting,
    }));
}
