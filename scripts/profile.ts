/**
 * Prints how the main thread of the service spends the time of a request, for this version and the last release. It lists the
 * twenty functions with the most self time. Needs `make dist/last-release/.built`.
 *
 * usage: profile [seconds [kinds]]      of each kind of request, default 10; parts of the names of kinds, with commas
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillNeighbors } from './bench/neighbors';
import { withLoad } from './bench/processes';
import { chooseKinds, drawRequests, readCatalog, type RequestKind } from './bench/request-kinds';
import { apiKey, withServices } from './bench/servers';
import { buildIn, lastReleaseFolder, thisBuild, type Build } from './service-process';

const products = 100_000;
const shown = 20;
const milliseconds = Number(process.argv[2] ?? 10) * 1_000;

/** The used part of V8's format: times in microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

async function main(): Promise<void> {
  for (const kind of chooseKinds(process.argv[3] ?? 'default page,page of a,one product,order')) {
    for (const [version, build] of [
      ['last release', buildIn(lastReleaseFolder)],
      ['this version', thisBuild],
    ] as const) {
      const { perSecond, times } = await profile(build, kind);
      console.log(`\n${kind.name}, ${version}: ${perSecond.toFixed(0)} a second; microseconds of a request`);
      const ranked = [...times].sort(([, one], [, other]) => other - one).slice(0, shown);
      for (const [name, time] of ranked) console.log(`${time.toFixed(1).padStart(8)}  ${name}`);
    }
  }
}

/** Profiles a service without its warm-up. @returns microseconds by function */
async function profile(
  build: Build,
  kind: RequestKind,
): Promise<{ perSecond: number; times: Map<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-profile-'));
  chmodSync(folder, 0o755);
  const profiles = join(folder, 'profiles');
  mkdirSync(profiles);
  const flags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
  const builds = { service: { build: { ...build, nodeFlags: [...build.nodeFlags, ...flags] } } };
  try {
    const measured = await withServices('external', folder, builds, async ({ service }) => {
      await fillNeighbors(service.database, products);
      const requests = drawRequests(kind, await readCatalog(service.database));
      return withLoad(async (send) => {
        const order = { connections: kind.connections, port: service.port, apiKey, requests };
        await send({ ...order, milliseconds: milliseconds / 2 });
        const from = performance.now() - service.startedAt;
        const sent = await send({ ...order, milliseconds, from: requests.length / 2 });
        return { ...sent, from, to: performance.now() - service.startedAt };
      });
    });
    const main = readdirSync(profiles).find((name) => name.split('.').at(-3) === '0')!;
    const cpu = JSON.parse(readFileSync(join(profiles, main), 'utf8')) as CpuProfile;
    const times = new Map<string, number>();
    for (const [name, time] of ownTimes(cpu, measured.from * 1_000, measured.to * 1_000))
      times.set(name, time / measured.requests);
    return { perSecond: measured.requests / measured.seconds, times };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sums the samples between two times since the start by function, without idle time. */
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
