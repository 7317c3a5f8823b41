import { join } from 'node:path';
import { connectTo, socketFolder, startServiceProcess, type ServiceProcess } from '../service-process';
import { runLoad } from './catalog-throughput';
import type { LoadOrder } from './http-load';
import { sendOrders } from './order-load';
import { randomOrder } from './orders';
import { watchProcessors } from './processor-time';
import type { BenchContext, Measurement } from './report';
import { fillCatalog, fillOrders, products } from './sales-history';

const apiKey = 'key-of-the-benchmark';
const connections = 32;
/** Connections to PostgreSQL of both services, so that their number does not matter. */
const databaseConnections = 20;
const several = 2;

interface Work {
  name: string;
  unit: string;
  /** @returns requests per second */
  send(service: ServiceProcess, milliseconds: number): Promise<number>;
}

/**
 * Compares one API process with two that share a port, in turns, on one database. Throughput shows a gain only with cores
 * to spare beside PostgreSQL and clients. Processor time per request, and the primary's share of it, show the cost of
 * sharing a port on any machine; it is highest with a connection per request.
 */
export async function measureProcesses({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const dataDir = join(folder, 'data');
  const settings = { API_KEYS: apiKey, QUEUE_WORKER: 'off' };
  // Its server has room for both.
  const two = await startServiceProcess(dataDir, {
    ...settings,
    API_PROCESSES: String(several),
    DATABASE_CONNECTIONS: String(databaseConnections / several),
  });
  let one: ServiceProcess | undefined;
  try {
    const databaseUrl = `postgresql://postgres@/partner_catalog?host=${encodeURIComponent(socketFolder(dataDir))}`;
    one = await startServiceProcess(join(folder, 'one'), {
      ...settings,
      DATABASE_URL: databaseUrl,
      DATABASE_CONNECTIONS: String(databaseConnections),
      DATABASE_PREPARED_STATEMENTS: 'on',
    });
    const database = await connectTo(dataDir);
    await fillCatalog(database);
    await fillOrders(database, { orders: quick ? 20_000 : 200_000, days: 365 });
    await database.end();
    const services = { one, two };
    const measured = works.map((work) => ({ work, one: [] as Sample[], two: [] as Sample[] }));
    for (const { work } of measured) {
      for (const service of [one, two]) await measure(work, service, quick ? 1_000 : 10_000);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const { work, ...samples } of measured) {
        // The order alternates.
        for (const each of round % 2 ? (['one', 'two'] as const) : (['two', 'one'] as const)) {
          const sample = await measure(work, services[each], quick ? 2_000 : 10_000);
          samples[each].push(sample);
          log(`round ${round}: ${work.name}: ${each} ${sample.perSecond.toFixed(0)} a second`);
        }
      }
    }
    return measured.flatMap(({ work, ...samples }) => describe(work, samples));
  } finally {
    // The other one owns the database.
    await one?.stop();
    await two.stop();
  }
}

interface Sample {
  perSecond: number;
  /** Processor time of its Node processes per request, in milliseconds. */
  milliseconds: number;
  /** The primary process's share, in percent. */
  firstShare: number;
}

async function measure(work: Work, service: ServiceProcess, milliseconds: number): Promise<Sample> {
  const taken = watchProcessors(service.pid);
  const startedAt = performance.now();
  const perSecond = await work.send(service, milliseconds);
  const { all, first } = taken();
  const count = (perSecond * (performance.now() - startedAt)) / 1_000;
  return { perSecond, milliseconds: all / count, firstShare: (100 * first) / all };
}

function describe({ name, unit }: Work, { one, two }: Record<'one' | 'two', Sample[]>): Measurement[] {
  const values = (samples: Sample[], figure: keyof Sample) => samples.map((sample) => sample[figure]);
  const what = `${name}, ${several} API processes, ${connections} clients`;
  const beside = (figure: keyof Sample) => ({
    values: values(two, figure),
    limit: { name: '1 API process', values: values(one, figure) },
  });
  return [
    { part: 'processes', name: what, unit, ...beside('perSecond') },
    { part: 'processes', name: `${what}: processor time each`, unit: 'ms', ...beside('milliseconds') },
    {
      part: 'processes',
      name: `${what}: of that, by the process that hands connections over`,
      unit: '%',
      values: values(two, 'firstShare'),
    },
  ];
}

const read = (name: string, load: Partial<LoadOrder>): Work => ({
  name,
  unit: 'requests/s',
  async send({ url }, milliseconds) {
    const headers = { 'x-api-key': apiKey };
    const order = { port: Number(new URL(url).port), connections, milliseconds, headers, numbers: products };
    return (await runLoad({ ...order, paths: ['/products/PR#'], ...load })).requestsPerSecond;
  },
});

const works: readonly Work[] = [
  read('default page', { paths: ['/products'] }),
  read('one product', {}),
  read('one product, each on a connection of its own', { connectsAnew: true }),
  {
    name: 'orders of any products',
    unit: 'orders/s',
    send: ({ url }, milliseconds) =>
      sendOrders({ url, apiKey, connections, milliseconds, nextBody: () => randomOrder(products) }),
  },
];
