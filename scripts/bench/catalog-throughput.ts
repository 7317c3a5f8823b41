import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { loadConfig } from '../../src/config';
import { securityHeaders } from '../../src/http/common-headers';
import { digestOf, generateKey } from '../../src/shared/key-format';
import { rowColumns } from '../../src/products/products.repository';
import { socketFolder } from '../service-process';
import type { ComparisonOrder } from './comparison';
import { scriptArguments, startServer } from './comparison-process';
import type { LoadOrder, LoadResult } from './http-load';
import { ask } from './measure';
import type { BenchContext, Measurement } from './report';

/** A service with a filled catalog. */
interface CatalogService {
  url: string;
  dataDir: string;
  key: string;
  database: Client;
  /** Number of products, from 1. */
  products: number;
}

/** A page, with the statement that one would write by hand. */
interface PageKind {
  url: string;
  where: string;
  order: string;
}

const ofPartner = (name: string) =>
  `and partner_id = (select partner_id from partners where partner_name = '${name}')`;
const ofBrand = (number: number): PageKind => ({
  url: `/products?brand=Brand+${number}`,
  where: `and brand = 'Brand ${number}'`,
  order: 'created_at desc',
});
const ofCategory = (number: number): PageKind => ({
  url: `/products?category=Category+${number}`,
  where: `and left(category, 600) = 'Category ${number}'`,
  order: 'created_at desc',
});
const pageOf = (partner: string): PageKind => ({
  url: `/products?partner_name=${partner}`,
  where: ofPartner(partner),
  order: 'created_at desc',
});
const byPrice = (partner: string, category: number): PageKind => ({
  url: `/products?partner_name=${partner}&category=Category+${category}&sort_by=price&order=asc`,
  where: `${ofPartner(partner)} and left(category, 600) = 'Category ${category}'`,
  order: 'price asc nulls last',
});
const defaultPage: PageKind = { url: '/products', where: '', order: 'created_at desc' };

const pages = {
  'default page': defaultPage,
  'page of a partner': pageOf('Large'),
  'page of a brand': ofBrand(1),
  'category of a partner, by price': byPrice('Large', 7),
};

/** Thirty kinds of pages. */
const mixedPages: PageKind[] = [
  defaultPage,
  { url: '/products?order=asc', where: '', order: 'created_at asc' },
  ...['Large', 'Middle', 'Small', 'Oldest'].map(pageOf),
  ...[0, 1, 2, 3, 4, 5, 6, 7].map(ofBrand),
  ...[0, 1, 2, 3, 4, 5, 6, 7].map(ofCategory),
  ...[8, 9, 10, 11].flatMap((category) => [byPrice('Large', category), byPrice('Middle', category)]),
];

const pageSqls = Object.fromEntries(
  [...Object.values(pages), ...mixedPages].map(({ url, where, order }) => [
    url,
    `select ${rowColumns} from products where withdrawn_at is null ${where}
     order by ${order}, product_id ${order.includes('desc') ? 'desc' : 'asc'} limit 11`,
  ]),
);

const productUrl = '/products/PR#';

/** What clients request. `keys`: how many keys they have together. */
interface Question {
  name: string;
  paths: readonly string[];
  connections: number;
  keys: number;
  isZipf: boolean;
}

const many = { connections: 50, keys: 1, isZipf: false };
const kinds = [
  ...Object.entries(pages).map(([name, { url }]) => ({ name, paths: [url] })),
  { name: 'one product', paths: [productUrl] },
  {
    name: 'mixture, half of it single products',
    paths: Object.values(pages).flatMap(({ url }) => [url, productUrl]),
  },
];
const zipfMixture = {
  name: 'mixture of 30 kinds of pages and of products by Zipf, 200 keys',
  paths: mixedPages.flatMap(({ url }) => [url, productUrl]),
  keys: 200,
  isZipf: true,
};
const questions: readonly Question[] = [
  ...kinds.map((kind) => ({ ...kind, ...many })),
  { ...zipfMixture, connections: 50 },
  ...kinds.map((kind) => ({ ...kind, ...many, connections: 1 })),
];

/** A lone client waits at most this many times as long as with fastify. */
const loneClientMax = 1.2;

const servers = ['service', 'bare', 'fastify'] as const;

/**
 * Measures requests per second on 50 connections, beside servers that send the same bytes for the same reads: `node:http`
 * with pg and prepared statements only, and fastify with schemas. All run one after the other in each round. Load generator
 * and PostgreSQL use the same processors for each.
 */
export async function measureThroughput(
  context: BenchContext,
  service: CatalogService,
): Promise<Measurement[]> {
  const keys = await addKeys(service.database, zipfMixture.keys);
  const order: ComparisonOrder = {
    database: { host: socketFolder(service.dataDir), user: 'postgres', database: 'partner_catalog' },
    connections: loadConfig({}).databaseConnections,
    pageSqls,
    productSql: `select ${rowColumns} from products where product_id = $1`,
    preparesStatements: false,
    headers: { ...securityHeaders, 'x-request-id': '00000000-0000-4000-8000-000000000000' },
    keys: [service.key, ...keys],
  };
  const bare = startServer('bare-server.ts', { ...order, preparesStatements: true });
  const fastify = startServer('fastify-server.ts', order);
  try {
    const ports = {
      service: Number(new URL(service.url).port),
      bare: await bare.port,
      fastify: await fastify.port,
    };
    const measurements: Measurement[] = [];
    for (const question of questions) {
      for (const path of question.paths) await requireSameBytes(service, Object.values(ports), path);
      measurements.push(...(await measureQuestion(context, { ...service, keys }, ports, question)));
    }
    return measurements;
  } finally {
    bare.stop();
    fastify.stop();
  }
}

async function measureQuestion(
  { quick, rounds, log }: BenchContext,
  { key, keys, products }: CatalogService & { keys: readonly string[] },
  ports: Record<(typeof servers)[number], number>,
  { name, connections, paths, isZipf, keys: keysCount }: Question,
): Promise<Measurement[]> {
  const rates = { service: [], bare: [], fastify: [] } as Record<keyof typeof ports, number[]>;
  const load = (port: number, milliseconds: number) =>
    runLoad({
      port,
      connections,
      milliseconds,
      headers: {},
      keys: keysCount === 1 ? [key] : keys,
      paths,
      numbers: products,
      isZipf,
    });
  const compared = connections === 1 ? (['service', 'fastify'] as const) : servers;
  // Warm-up: JIT and disk cache.
  for (const each of compared) await load(ports[each], quick ? 2_000 : 5_000);
  for (let round = 1; round <= rounds; round++) {
    // The order rotates.
    for (let turn = 0; turn < compared.length; turn++) {
      const each = compared[(turn + round) % compared.length]!;
      const { requestsPerSecond, p99 } = await load(ports[each], quick ? 1_000 : 5_000);
      rates[each].push(requestsPerSecond);
      log(
        `${name}, round ${round}: ${each} ${requestsPerSecond.toFixed(0)} a second, p99 ${p99.toFixed(1)} ms`,
      );
    }
  }
  const beside = (limit: string, values: number[], value?: number): Measurement => ({
    part: 'catalog',
    name: `${name}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
    unit: 'requests/s',
    values: rates.service,
    limit: { name: limit, values },
    ...(value !== undefined && { target: { kind: 'at least', value } }),
  });
  if (connections === 1) return [beside('fastify and pg, with schemas', rates.fastify, 1 / loneClientMax)];
  return [
    beside('node:http and pg with prepared statements', rates.bare, 0.75),
    beside('fastify and pg, with schemas', rates.fastify, 1),
  ];
}

/** Adds keys of all partners. */
async function addKeys(database: Client, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => generateKey());
  await database.query(
    'insert into api_keys (key_name, key_digest) select * from unnest($1::text[], $2::bytea[])',
    [keys.map((_, at) => `bench ${at}`), keys.map((key) => digestOf(key))],
  );
  return keys;
}

/** @throws Error unless all send the same, non-empty page */
async function requireSameBytes({ key }: CatalogService, ports: number[], path: string): Promise<void> {
  const bodies = new Set<string>();
  for (const port of ports) {
    const url = `http://127.0.0.1:${port}${path.replace('#', '00001')}`;
    bodies.add((await ask(url, { headers: { 'x-api-key': key } })).body);
  }
  if ([...bodies].some((body) => !body.includes('"product_id"')))
    throw new Error(`GET ${path} shows no product`);
  if (bodies.size !== 1)
    throw new Error(`GET ${path}: the servers send different bodies: ${[...bodies].join('\n')}`);
}

/** Runs the load generator in a child process. */
export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, scriptArguments('http-load.ts', order));
  return JSON.parse(stdout) as LoadResult;
}
