import { join } from 'node:path';
import { loadConfig } from '../../src/config';
import { securityHeaders } from '../../src/http/common-headers';
import { formatId } from '../../src/shared/ids';
import { connectTo, socketFolder, startServiceProcess } from '../service-process';
import { startServer } from './comparison-process';
import { sendOrders } from './order-load';
import { watchPostgres, watchProcessors } from './processor-time';
import type { BenchContext, Measurement } from './report';
import { fillCatalog, fillOrders, partners, products } from './sales-history';

const apiKey = 'key-of-the-benchmark';

/** Kinds of orders. `products`: how many are ordered at all, the first of the catalog. */
interface Kind {
  name: string;
  products: number;
  connections: number;
  isKeyed: boolean;
  /** What the ratio to fastify must be. */
  target: NonNullable<Measurement['target']>;
}

const many = { connections: 16, target: { kind: 'at least', value: 1.5 } } as const;
/** A response after at most 1.2 times the time of fastify. */
const lone = { connections: 1, target: { kind: 'at least', value: 1 / 1.2 } } as const;

const kinds: readonly Kind[] = [
  { name: 'orders of any products', products, isKeyed: false, ...many },
  { name: 'orders of the same three products', products: 3, isKeyed: false, ...many },
  { name: 'orders with keys', products, isKeyed: true, ...many },
  { name: 'a lone client orders', products, isKeyed: false, ...lone },
  { name: 'a lone client orders with keys', products, isKeyed: true, ...lone },
];

/** A server that creates orders. */
interface Target {
  url: string;
  pid: number;
}

/** What a server did in one round. */
interface Sample {
  perSecond: number;
  /** Processor time per order, in milliseconds, of Node and of PostgreSQL. */
  node: number;
  postgres: number;
}

/**
 * Measures orders of three items through the service, beside fastify, which makes the same transaction for each order, on the
 * same tables, in turns.
 */
export async function measureOrders({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const seconds = quick ? 3 : 15;
  const dataDir = join(folder, 'data');
  const service = await startServiceProcess(dataDir, { API_KEYS: apiKey });
  const fastify = startServer('fastify-orders.ts', {
    database: { host: socketFolder(dataDir), user: 'postgres', database: 'partner_catalog' },
    connections: loadConfig({}).databaseConnections,
    pageSqls: {},
    productSql: '',
    preparesStatements: false,
    headers: { ...securityHeaders, 'x-request-id': '00000000-0000-4000-8000-000000000000' },
    keys: [apiKey],
  });
  const database = await connectTo(dataDir);
  try {
    await fillCatalog(database);
    await fillOrders(database, { orders: quick ? 20_000 : 200_000, days: 365 });
    const { rows } = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
    const servers = {
      service,
      fastify: { url: `http://127.0.0.1:${await fastify.port}`, pid: fastify.pid },
    };
    const measure = async ({ url, pid }: Target, kind: Kind, milliseconds: number): Promise<Sample> => {
      const postgres = watchPostgres(rows[0]!.pid);
      const node = watchProcessors(pid);
      const startedAt = performance.now();
      const nextBody = () => randomOrder(kind.products);
      const perSecond = await sendOrders({ ...kind, url, apiKey, milliseconds, nextBody });
      const orders = (perSecond * (performance.now() - startedAt)) / 1_000;
      return { perSecond, node: node() / orders, postgres: postgres() / orders };
    };
    const measured = kinds.map((kind) => ({ kind, service: [] as Sample[], fastify: [] as Sample[] }));
    // Warm-up.
    for (const server of Object.values(servers)) await measure(server, kinds[0]!, quick ? 1_000 : 5_000);
    for (let round = 1; round <= rounds; round++) {
      for (const { kind, ...samples } of measured) {
        // The order alternates.
        for (const each of round % 2
          ? (['service', 'fastify'] as const)
          : (['fastify', 'service'] as const)) {
          const sample = await measure(servers[each], kind, seconds * 1_000);
          samples[each].push(sample);
          log(
            `round ${round}: ${kind.name}: ${each} ${sample.perSecond.toFixed(0)} a second, node ${sample.node.toFixed(3)} ms, PostgreSQL ${sample.postgres.toFixed(3)} ms`,
          );
        }
      }
    }
    return measured.flatMap(({ kind, ...samples }) => describe(kind, samples));
  } finally {
    await database.end();
    fastify.stop();
    await service.stop();
  }
}

function describe(
  { name, connections, target }: Kind,
  { service, fastify }: { service: Sample[]; fastify: Sample[] },
): Measurement[] {
  const what = `${name}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`;
  const of = (samples: Sample[], figure: keyof Sample) => samples.map((sample) => sample[figure]);
  const beside = (figure: keyof Sample) => ({
    values: of(service, figure),
    limit: { name: 'fastify and pg, one transaction each', values: of(fastify, figure) },
  });
  return [
    { part: 'orders', name: what, unit: 'orders/s', ...beside('perSecond'), target },
    { part: 'orders', name: `${what}: processor time of Node each`, unit: 'ms', ...beside('node') },
    { part: 'orders', name: `${what}: processor time of PostgreSQL each`, unit: 'ms', ...beside('postgres') },
  ];
}

/** An order of three items. @param count - number of products to choose from */
export function randomOrder(count: number): string {
  return JSON.stringify({
    partner_name: `Partner ${random(partners)}`,
    customer_reference: 'measured',
    items: [1, 2, 3].map((quantity) => ({ product_id: formatId('PR', random(count)), quantity })),
  });
}

const random = (count: number) => 1 + Math.floor(Math.random() * count);
