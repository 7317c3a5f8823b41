import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { loadConfig } from '../../src/config';
import { securityHeaders } from '../../src/http/common-headers';
import { socketFolder } from '../service-process';
import type { ComparisonOrder } from './comparison';
import type { LoadOrder, LoadResult } from './http-load';
import { ask } from './measure';
import type { BenchContext, Measurement } from './report';

/** A service with a filled catalog. */
export interface CatalogService {
  url: string;
  dataDir: string;
  key: string;
  database: Client;
  /** Number of products, from 1. */
  products: number;
}

const connections = 50;

const questions = [
  { name: 'default page (GET /products)', path: '/products', sqlName: 'pageSql' },
  { name: 'one product (GET /products/{product_id})', path: '/products/PR#', sqlName: 'productSql' },
] as const;

const servers = ['service', 'bare', 'prepared', 'fastify'] as const;

/**
 * Measures requests per second on 50 connections, beside servers that send the same bytes for the same SQL: `node:http`
 * with pg only, also with prepared statements, and fastify with schemas. All run one after the other in each round. Load
 * generator and PostgreSQL use the same processors for each.
 */
export async function measureThroughput(
  context: BenchContext,
  service: CatalogService,
): Promise<Measurement[]> {
  const sql = {
    pageSql: await sqlOf(service, '/products', 0),
    productSql: await sqlOf(service, '/products/PR00001', 1),
  };
  const order: ComparisonOrder = {
    database: { host: socketFolder(service.dataDir), user: 'postgres', database: 'partner_catalog' },
    connections: loadConfig({}).databaseConnections,
    ...sql,
    preparesStatements: false,
    headers: { ...securityHeaders, 'x-request-id': '00000000-0000-4000-8000-000000000000' },
    key: service.key,
  };
  const bare = startServer('bare-server.ts', order);
  const prepared = startServer('bare-server.ts', { ...order, preparesStatements: true });
  const fastify = startServer('fastify-server.ts', order);
  try {
    const ports = {
      service: Number(new URL(service.url).port),
      bare: await bare.port,
      prepared: await prepared.port,
      fastify: await fastify.port,
    };
    const measurements: Measurement[] = [];
    for (const { name, path } of questions) {
      await requireSameBytes(service, Object.values(ports), path);
      measurements.push(...(await measureQuestion(context, service, ports, { name, path })));
    }
    return measurements;
  } finally {
    bare.stop();
    prepared.stop();
    fastify.stop();
  }
}

async function measureQuestion(
  { quick, rounds, log }: BenchContext,
  { key, products }: CatalogService,
  ports: Record<(typeof servers)[number], number>,
  { name, path }: { name: string; path: string },
): Promise<Measurement[]> {
  const rates = { service: [], bare: [], prepared: [], fastify: [] } as Record<keyof typeof ports, number[]>;
  const load = (port: number, milliseconds: number) =>
    runLoad({ port, connections, milliseconds, headers: { 'x-api-key': key }, path, numbers: products });
  // Warm-up: JIT and disk cache.
  for (const each of servers) await load(ports[each], quick ? 5_000 : 15_000);
  for (let round = 1; round <= rounds; round++) {
    // The order rotates.
    for (let turn = 0; turn < servers.length; turn++) {
      const each = servers[(turn + round) % servers.length]!;
      const { requestsPerSecond, p99 } = await load(ports[each], quick ? 1_000 : 5_000);
      rates[each].push(requestsPerSecond);
      log(
        `${name}, round ${round}: ${each} ${requestsPerSecond.toFixed(0)} a second, p99 ${p99.toFixed(1)} ms`,
      );
    }
  }
  const beside = (limit: string, values: number[], value?: number): Measurement => ({
    part: 'catalog',
    name: `${name}, ${connections} connections`,
    unit: 'requests/s',
    values: rates.service,
    limit: { name: limit, values },
    ...(value !== undefined && { target: { kind: 'at least', value } }),
  });
  return [
    beside('node:http and pg alone', rates.bare, 0.75),
    beside('the same with prepared statements', rates.prepared),
    beside('fastify and pg, with schemas', rates.fastify, 1),
  ];
}

/** The statement that the service sends for a path, as seen by PostgreSQL. @throws Error for another number of bindings */
async function sqlOf({ url, key, database }: CatalogService, path: string, values: number): Promise<string> {
  await ask(url + path, { headers: { 'x-api-key': key } });
  const { rows } = await database.query<{ query: string }>(
    `select query from pg_stat_activity
     where application_name = 'api' and query like '%products%' order by query_start desc limit 1`,
  );
  const sql = rows[0]?.query ?? '';
  const bindings = new Set(sql.match(/\$\d+/g));
  if (sql === '' || bindings.size !== values)
    throw new Error(`GET ${path} sends an unexpected statement: ${sql}`);
  return sql;
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

function startServer(file: string, order: ComparisonOrder): { port: Promise<number>; stop(): void } {
  const child = spawn(process.execPath, scriptArguments(file, order), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = new Promise<number>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${file} did not start`)));
    child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())));
  });
  // The caller awaits `port`, and gets its error.
  port.catch(() => undefined);
  return { port, stop: () => void child.kill() };
}

/** Runs the load generator in a child process. */
export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, scriptArguments('http-load.ts', order));
  return JSON.parse(stdout) as LoadResult;
}

/** Starts a script of this folder in a child process. */
function scriptArguments(file: string, order: object): string[] {
  return ['--import', 'tsx', join(__dirname, file), JSON.stringify(order)];
}
