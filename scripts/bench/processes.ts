import { join } from 'node:path';
import { startBalancer } from './balancer';
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

/** What is compared: where requests go, and the processes that answer them; the first one may only hand them over. */
interface Contender {
  url: string;
  pids: number[];
}

interface Work {
  name: string;
  unit: string;
  /** @returns requests per second */
  send(service: { url: string }, milliseconds: number): Promise<number>;
}

/**
 * Compares one API process with two that share a port, and with two services behind a balancer (nginx, if it is installed) as
 * two containers would be, in turns, on one database. Throughput shows a gain only with cores to spare beside PostgreSQL and
 * clients. Processor time per request, and the share of what hands requests over, show the cost of sharing a port on any
 * machine; it is highest with a connection per request.
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
  const others: ServiceProcess[] = [];
  let balancer: (Contender & { stop(): Promise<void> }) | undefined;
  try {
    const databaseUrl = `postgresql://postgres@/partner_catalog?host=${encodeURIComponent(socketFolder(dataDir))}`;
    const start = async (name: string, connectionCount: number) => {
      const service = await startServiceProcess(join(folder, name), {
        ...settings,
        DATABASE_URL: databaseUrl,
        DATABASE_CONNECTIONS: String(connectionCount),
        DATABASE_PREPARED_STATEMENTS: 'on',
      });
      others.push(service);
      return service;
    };
    const one = await start('one', databaseConnections);
    const behind = [
      await start('left', databaseConnections / several),
      await start('right', databaseConnections / several),
    ];
    balancer = await startBalancer(
      folder,
      behind.map(({ url }) => url),
    );
    if (!balancer) log('nginx is not installed: two services behind it are left out');
    const database = await connectTo(dataDir);
    await fillCatalog(database);
    await fillOrders(database, { orders: quick ? 20_000 : 200_000, days: 365 });
    await database.end();
    const contenders = new Map<string, Contender>([
      [oneName, ofProcess(one)],
      [twoName, ofProcess(two)],
    ]);
    if (balancer) {
      const pids = [...balancer.pids, ...behind.map(({ pid }) => pid)];
      contenders.set(balancedName, { url: balancer.url, pids });
    }
    const measured = works.map((work) => ({
      work,
      samples: new Map([...contenders.keys()].map((name) => [name, [] as Sample[]])),
    }));
    for (const { work } of measured) {
      for (const contender of contenders.values()) await measure(work, contender, quick ? 1_000 : 10_000);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const { work, samples } of measured) {
        // The order alternates.
        for (const name of round % 2 ? samples.keys() : [...samples.keys()].reverse()) {
          const sample = await measure(work, contenders.get(name)!, quick ? 2_000 : 10_000);
          samples.get(name)!.push(sample);
          log(`round ${round}: ${work.name}: ${name} ${sample.perSecond.toFixed(0)} a second`);
        }
      }
    }
    return measured.flatMap(({ work, samples }) => describe(work, samples));
  } finally {
    await balancer?.stop();
    for (const service of others) await service.stop();
    // It owns the database.
    await two.stop();
  }
}

interface Sample {
  perSecond: number;
  /** Processor time of its Node processes per request, in milliseconds. */
  milliseconds: number;
  /** The share of the first process, in percent. */
  firstShare: number;
}

const oneName = '1 API process';
const twoName = `${several} API processes`;
const balancedName = `${several} services behind nginx`;

const ofProcess = ({ url, pid }: ServiceProcess): Contender => ({ url, pids: [pid] });

async function measure(work: Work, contender: Contender, milliseconds: number): Promise<Sample> {
  const watched = contender.pids.map(watchProcessors);
  const startedAt = performance.now();
  const perSecond = await work.send(contender, milliseconds);
  const taken = watched.map((each) => each());
  const all = taken.reduce((sum, each) => sum + each.all, 0);
  const { first } = taken[0]!;
  const count = (perSecond * (performance.now() - startedAt)) / 1_000;
  return { perSecond, milliseconds: all / count, firstShare: (100 * first) / all };
}

function describe({ name, unit }: Work, samples: Map<string, Sample[]>): Measurement[] {
  const values = (contender: string, figure: keyof Sample) =>
    samples.get(contender)!.map((sample) => sample[figure]);
  return [twoName, balancedName]
    .filter((contender) => samples.has(contender))
    .flatMap((contender) => {
      const what = `${name}, ${contender}, ${connections} clients`;
      const beside = (figure: keyof Sample) => ({
        values: values(contender, figure),
        limit: { name: oneName, values: values(oneName, figure) },
      });
      return [
        { part: 'processes', name: what, unit, ...beside('perSecond') },
        { part: 'processes', name: `${what}: processor time each`, unit: 'ms', ...beside('milliseconds') },
        {
          part: 'processes',
          name: `${what}: of that, by the process that hands them over`,
          unit: '%',
          values: values(contender, 'firstShare'),
        },
      ];
    });
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
