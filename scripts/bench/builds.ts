import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildIn, lastReleaseFolder, median, thisBuild } from '../service-process';
import { writeFeeds, type Feeds } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { fillNeighbors, neighborsCount, untilIndexed } from './neighbors';
import { withLoad } from './processes';
import { evaluate, type BenchContext, type Measurement } from './report';
import { chooseKinds, readCatalog } from './request-kinds';
import { measureRounds, type Sample } from './request-rounds';
import { withServices, type Service } from './servers';

/** Limit of the median ratio of processor time to the other build, taken within each round. */
const noSlower = 1.05;

const names = ['present', 'other'] as const;
type Name = (typeof names)[number];
type Services = Record<Name, Service>;

/** Processor time of one round, per request or row, in microseconds. */
type Processor = Pick<Sample, 'node' | 'postgres'>;

/**
 * Measures processor time per request and per loaded row, of Node.js and PostgreSQL, in turns with another build. Each build has
 * a database of its own on the same server, so that both meet the same state of the machine.
 */
export async function measureBuilds(context: BenchContext): Promise<Measurement[]> {
  const { quick, folder, log, settings, other, database = 'external' } = context;
  const builds = {
    present: { build: thisBuild, settings },
    other: { build: buildIn(other ? resolve(other) : lastReleaseFolder) },
  };
  const products = context.products ?? (quick ? 20_000 : 200_000);
  const kinds = chooseKinds(context.kinds);
  return withServices(database, folder, builds, async (services) => {
    const setting = `${services.present.description}, ${products.toLocaleString('en')} products`;
    log(`${setting} of ${neighborsCount} partners`);
    for (const name of names) await fillNeighbors(services[name].database, products);
    const catalog = await readCatalog(services.present.database);
    const { rounds } = context;
    const size = quick ? { sliceMilliseconds: 250 } : { slices: 4, sliceMilliseconds: 1_000 };
    const samples = await withLoad((send) =>
      measureRounds(kinds, services, { catalog, rounds, ...size, send, log }),
    );
    const measured = new Map<string, Record<Name, Processor[]>>(
      [...samples].map(([{ name }, { present, other }]) => [name, { present: present!, other: other! }]),
    );
    if (context.kinds === undefined)
      for (const [name, of] of await measureLoads(context, services)) measured.set(name, of);
    const otherName = other ?? 'the last release';
    const measurements = [...measured].map(([name, of]) => describe(name, of, otherName, setting));
    logVerdict(measurements, log);
    return measurements;
  });
}

/** Loads feeds of a new partner per round: a first one, the same again, and one with a tenth of the prices changed. */
async function measureLoads(
  { quick, rounds, folder, log }: BenchContext,
  services: Services,
): Promise<Map<string, Record<Name, Processor[]>>> {
  const feedFolder = join(folder, 'feeds');
  mkdirSync(feedFolder);
  const feeds = await writeFeeds(feedFolder, quick ? 20_000 : 200_000);
  const measured = new Map<string, Record<Name, Processor[]>>();
  // Without this, loads would take half of a quick measurement.
  for (let round = 1; round <= (quick ? Math.min(rounds, 2) : rounds); round++) {
    for (const name of round % 2 ? names : names.toReversed()) {
      for (const [step, processor] of await loadNewPartner(
        services[name],
        feeds,
        `Partner of round ${round}`,
      )) {
        if (!measured.has(step)) measured.set(step, { present: [], other: [] });
        measured.get(step)![name].push(processor);
        log(
          `round ${round}: ${step}: ${name} ${processor.node.toFixed(1)} + ${processor.postgres.toFixed(1)} µs`,
        );
      }
    }
  }
  return measured;
}

async function loadNewPartner(
  service: Service,
  { base, changed, rows }: Feeds,
  partner: string,
): Promise<[string, Processor][]> {
  const baseJob = await sendFeed(service.url, partner, base);
  const changedJob = await sendFeed(service.url, partner, changed);
  const steps = [
    ['first load', baseJob, { inserted: rows }],
    ['unchanged re-run', baseJob, { unchanged: rows }],
    ['10% of the prices changed', changedJob, { updated: rows / 10 }],
  ] as const;
  const results: [string, Processor][] = [];
  for (const [step, job, expected] of steps) {
    await untilIndexed(service.database);
    await service.database.query('vacuum analyze products');
    await service.database.query('checkpoint');
    const taken = service.watch();
    await runExpecting(service.url, job, expected);
    const { node, postgres } = taken();
    results.push([
      `${step} of ${rows.toLocaleString('en')} rows, each`,
      { node: (1_000 * node) / rows, postgres: (1_000 * postgres) / rows },
    ]);
  }
  return results;
}

function describe(
  name: string,
  of: Record<Name, Processor[]>,
  otherName: string,
  setting: string,
): Measurement {
  const figures = (samples: Processor[]) => ({
    values: samples.map(({ node, postgres }) => node + postgres),
    processor: { node: samples.map(({ node }) => node), postgres: samples.map(({ postgres }) => postgres) },
  });
  return {
    part: 'release',
    name,
    unit: 'µs',
    ...figures(of.present),
    limit: { name: otherName, ...figures(of.other) },
    target: { kind: 'at most', value: noSlower },
    setting,
  };
}

function logVerdict(measurements: readonly Measurement[], log: (line: string) => void): void {
  const slower = measurements.map(evaluate).filter(({ met }) => !met);
  log(
    slower.length === 0
      ? 'no slower'
      : `SLOWER: ${slower.map(({ name, ratio }) => `${name} (${ratio!.median.toFixed(2)}, ${ratio!.min.toFixed(2)} to ${ratio!.max.toFixed(2)})`).join('; ')}`,
  );
  const ratios = measurements.map((each) => evaluate(each).ratio!.median);
  log(`median of all kinds: ${median(ratios).toFixed(2)}`);
}
