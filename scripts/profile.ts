/**
 * Prints where the main thread of the service spends the time of a request, as the twenty functions with the most time of
 * their own, for this version and for the last release (`make dist/last-release/.built`).
 *
 * usage: profile [seconds]      of each kind of request, default 10
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runLoad } from './bench/catalog-throughput';
import { sendOrders } from './bench/order-load';
import { randomOrder } from './bench/orders';
import { fillCatalog, products } from './bench/sales-history';
import {
  buildIn,
  connectTo,
  lastReleaseFolder,
  startServiceProcess,
  thisBuild,
  type Build,
} from './service-process';

const apiKey = 'key-of-the-profile';
const connections = 50;
const shown = 20;
const milliseconds = Number(process.argv[2] ?? 10) * 1_000;

/** Sends requests to a service. @returns how many a second */
type Send = (url: string, milliseconds: number) => Promise<number>;

const get =
  (path: string): Send =>
  async (url, duration) => {
    const headers = { 'x-api-key': apiKey };
    const port = Number(new URL(url).port);
    const order = { port, connections, milliseconds: duration, headers, paths: [path], numbers: products };
    return (await runLoad(order)).requestsPerSecond;
  };

const kinds: Record<string, Send> = {
  'default page': get('/products'),
  'one product': get('/products/PR#'),
  'order of three products': (url, duration) =>
    sendOrders({ url, apiKey, connections, milliseconds: duration, nextBody: () => randomOrder(products) }),
};

/** The part of the format of V8 that is read: times in microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

async function main(): Promise<void> {
  for (const [kind, send] of Object.entries(kinds)) {
    for (const [version, build] of [
      ['last release', buildIn(lastReleaseFolder)],
      ['this version', thisBuild],
    ] as const) {
      const { perSecond, times } = await profile(build, send);
      console.log(`\n${kind}, ${version}: ${perSecond.toFixed(0)} a second; microseconds of a request`);
      const ranked = [...times].sort(([, one], [, other]) => other - one).slice(0, shown);
      for (const [name, time] of ranked) console.log(`${time.toFixed(1).padStart(8)}  ${name}`);
    }
  }
}

/** Profiles a service from its start, and leaves out the time until it is warm. @returns microseconds by function */
async function profile(build: Build, send: Send): Promise<{ perSecond: number; times: Map<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-profile-'));
  // As root, PostgreSQL runs under another account, which needs access.
  chmodSync(folder, 0o755);
  const profiles = join(folder, 'profiles');
  mkdirSync(profiles);
  const dataDir = join(folder, 'data');
  const flags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
  const startedAt = performance.now();
  const service = await startServiceProcess(
    dataDir,
    { API_KEYS: apiKey },
    { ...build, nodeFlags: [...build.nodeFlags, ...flags] },
  );
  try {
    const database = await connectTo(dataDir);
    await fillCatalog(database);
    await database.end();
    await send(service.url, milliseconds / 2);
    const from = performance.now() - startedAt;
    const perSecond = await send(service.url, milliseconds);
    const to = performance.now() - startedAt;
    await service.stop();
    const main = readdirSync(profiles).find((name) => name.split('.').at(-3) === '0')!;
    const cpu = JSON.parse(readFileSync(join(profiles, main), 'utf8')) as CpuProfile;
    const requests = (perSecond * (to - from)) / 1_000;
    const times = new Map<string, number>();
    for (const [name, time] of ownTimes(cpu, from * 1_000, to * 1_000)) times.set(name, time / requests);
    return { perSecond, times };
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Adds up the samples between two times since the start by function, idle time apart. */
function ownTimes({ nodes, samples, timeDeltas }: CpuProfile, from: number, to: number): Map<string, number> {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  let now = 0;
  for (const [at, node] of samples.entries()) {
    const delta = timeDeltas[at]!;
    now += delta;
    const name = names.get(node)!;
    if (now < from || now > to || name === '(idle)') continue;
    times.set(name, (times.get(name) ?? 0) + delta);
  }
  return times;
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  if (!url) return name;
  const file = url.replace(/^file:\/\//, '').replace(/^.*\/(?=node_modules\/|dist\/src\/)/, '');
  return `${name}  ${file}:${lineNumber + 1}`;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
