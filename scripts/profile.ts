/**
 * Prints where the service spends the time of a request: Node.js by layer and by function, PostgreSQL by statement. The statements
 * need the extension `pg_stat_statements` in the PostgreSQL of Debian.
 *
 * usage: profile [seconds [kinds]]      of each kind of request, default 10; parts of the names of kinds, with commas
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import { fillNeighbors, neighborsCount } from './bench/neighbors';
import { withLoad } from './bench/processes';
import { chooseKinds, drawRequests, readCatalog, type RequestKind } from './bench/request-kinds';
import { apiKey, withServices } from './bench/servers';
import { thisBuild } from './service-process';

const products = 200_000;
const shownFunctions = 25;
const statementCharacters = 110;
const milliseconds = Number(process.argv[2] ?? 10) * 1_000;

/** The used part of V8's format: times in microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

/** A statement of PostgreSQL; `times` is its number for each request, `microseconds` planning and execution for each request. */
interface StatementTime {
  text: string;
  times: number;
  microseconds: number;
}

async function main(): Promise<void> {
  console.log(
    `${products.toLocaleString('en')} products of ${neighborsCount} partners; microseconds of a request`,
  );
  for (const kind of chooseKinds(process.argv[3] ?? 'default page,page of a,category,one product,order')) {
    const { perSecond, functions, statements } = await profile(kind);
    const layers = new Map<string, number>();
    for (const [name, time] of functions) layers.set(layerOf(name), (layers.get(layerOf(name)) ?? 0) + time);
    console.log(`\n${kind.name}: ${perSecond.toFixed(0)} a second`);
    print('Node.js by layer', [...layers], layers.size);
    print('Node.js by function', [...functions], shownFunctions);
    print(
      'PostgreSQL by statement',
      statements.map(({ text, times, microseconds }): [string, number] => [
        `${times.toFixed(2)} x ${text}`,
        microseconds,
      ]),
      statements.length,
    );
  }
}

function print(title: string, times: [string, number][], most: number): void {
  console.log(`  ${title}, ${times.reduce((sum, [, time]) => sum + time, 0).toFixed(0)} in all`);
  const ranked = times.toSorted(([, one], [, other]) => other - one).slice(0, most);
  for (const [name, time] of ranked) if (time >= 0.05) console.log(`${time.toFixed(1).padStart(8)}  ${name}`);
}

/** Profiles a service without its warm-up. */
async function profile(
  kind: RequestKind,
): Promise<{ perSecond: number; functions: Map<string, number>; statements: StatementTime[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-profile-'));
  chmodSync(folder, 0o755);
  const profiles = join(folder, 'profiles');
  mkdirSync(profiles);
  const flags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
  const builds = { service: { build: { ...thisBuild, nodeFlags: [...thisBuild.nodeFlags, ...flags] } } };
  const settings = {
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.track_planning': 'on',
  };
  try {
    const measured = await withServices(
      'external',
      folder,
      builds,
      async ({ service }) => {
        await fillNeighbors(service.database, products);
        await service.database.query('create extension pg_stat_statements');
        const requests = drawRequests(kind, await readCatalog(service.database));
        return withLoad(async (send) => {
          const order = { connections: kind.connections, port: service.port, apiKey, requests };
          await send({ ...order, milliseconds: milliseconds / 2 });
          await service.database.query('select pg_stat_statements_reset()');
          const from = performance.now() - service.startedAt;
          const sent = await send({ ...order, milliseconds, from: requests.length / 2 });
          const to = performance.now() - service.startedAt;
          return { ...sent, from, to, statements: await readStatements(service.database, sent.requests) };
        });
      },
      settings,
    );
    const main = readdirSync(profiles).find((name) => name.split('.').at(-3) === '0')!;
    const cpu = JSON.parse(readFileSync(join(profiles, main), 'utf8')) as CpuProfile;
    const functions = new Map<string, number>();
    for (const [name, time] of ownTimes(cpu, measured.from * 1_000, measured.to * 1_000))
      functions.set(name, time / measured.requests);
    return { perSecond: measured.requests / measured.seconds, functions, statements: measured.statements };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function readStatements(database: Client, requests: number): Promise<StatementTime[]> {
  const { rows } = await database.query<{ query: string; calls: number; milliseconds: number }>(`
    select query, cast(calls as integer) as calls, total_plan_time + total_exec_time as milliseconds
    from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
      and query not like '%pg_stat_statements%'`);
  return rows.map(({ query, calls, milliseconds }) => ({
    text: query.replaceAll(/\s+/g, ' ').trim().slice(0, statementCharacters),
    times: calls / requests,
    microseconds: (1_000 * milliseconds) / requests,
  }));
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

/** The package or the folder of a function. */
function layerOf(name: string): string {
  const [own, file] = name.split('  ');
  if (!file) return own!.startsWith('(') ? own! : 'built into V8 and Node.js';
  const [, scoped] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? [];
  if (scoped) return scoped;
  const [, folder] = /^dist\/(src\/[^/]+(?:\/[^/]+(?=\/))?)/.exec(file) ?? [];
  return folder ?? file.replace(/[/:].*/, '');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
