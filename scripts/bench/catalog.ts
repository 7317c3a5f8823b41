import { digestOf, generateKey } from '../../src/base/key-format';
import { median, thisBuild } from '../service-process';
import { combinations, isTypical, type Combination } from './catalog-combinations';
import { fillCatalog } from './catalog-data';
import { measureReads } from './catalog-reads';
import { neighborsCount, untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';
import { apiKey, withServices, type Service } from './servers';

const shown = 20;
/** Latency limits of the first page in milliseconds: of typical listings, and of every combination. */
const typicalMax = 20;
const anyMax = 150;

/** Milliseconds per combination, one value per round. */
interface Timed {
  combination: Combination;
  first: number[];
  /** Absent if there is only one page, or no cursor. */
  later?: number[];
}

/**
 * Measures searches and facets, and every documented combination of filters, sort, direction and kind of key: the first page, and one
 * after 100 products.
 */
export async function measureCatalog(context: BenchContext): Promise<Measurement[]> {
  const { quick, rounds, folder, log, database = 'embedded', settings } = context;
  const { products = quick ? 100_000 : 1_000_000, partners = neighborsCount } = context;
  const builds = { service: { build: thisBuild, settings } };
  return withServices(database, folder, builds, async ({ service }) => {
    const size = `${products.toLocaleString('en')} products of ${partners.toLocaleString('en')} partners`;
    log(`${service.description}: ${size}`);
    await fillCatalog(products, (sql) => service.database.query(sql), partners);
    await untilIndexed(service.database);
    const reads = await measureReads(service.url, { products, rounds });
    for (const { name, values } of reads) log(`${median(values).toFixed(1).padStart(6)} ms  ${name}`);
    const asked = combinations();
    const keys = await addKeys(service, asked);
    const timed: Timed[] = [];
    for (const combination of asked) {
      timed.push(await time(service.url, combination, keys.get(combination.scope)!, rounds));
      if (timed.length % 500 === 0) log(`${timed.length} of ${asked.length} combinations`);
    }
    for (const { combination, first } of bySlowness(timed).slice(0, shown))
      log(`${median(first).toFixed(1).padStart(6)} ms  ${combination.name}`);
    return [...reads, ...summarize(timed, rounds)].map(({ name, ...rest }) => ({
      part: 'catalog',
      name: `${name}, ${size}`,
      setting: service.description,
      ...rest,
    }));
  });
}

/** @returns a key per scope */
async function addKeys({ database }: Service, asked: Combination[]): Promise<Map<string | null, string>> {
  const keys = new Map<string | null, string>([[null, apiKey]]);
  for (const { scope } of asked) {
    if (keys.has(scope)) continue;
    const key = generateKey();
    await database.query('insert into api_keys (key_name, key_digest, partner_name) values ($1, $2, $1)', [
      scope,
      digestOf(key),
    ]);
    keys.set(scope, key);
  }
  return keys;
}

async function time(url: string, combination: Combination, key: string, rounds: number): Promise<Timed> {
  const ask = async (more: Record<string, string>) => {
    const query = new URLSearchParams({ ...combination.query, ...more }).toString();
    const startedAt = performance.now();
    const response = await fetch(`${url}/products?${query}`, { headers: { 'x-api-key': key } });
    const body = await response.text();
    const milliseconds = performance.now() - startedAt;
    if (response.status !== 200) throw new Error(`${query}: ${body}`);
    return { milliseconds, cursor: (JSON.parse(body) as { next_cursor?: string }).next_cursor };
  };
  const { cursor } = await ask({ limit: '100' });
  const first: number[] = [];
  const later: number[] = [];
  for (let round = 0; round < rounds; round++) {
    first.push((await ask({})).milliseconds);
    if (combination.hasLaterPages && cursor !== undefined) later.push((await ask({ cursor })).milliseconds);
  }
  return { combination, first, later: later.length > 0 ? later : undefined };
}

const bySlowness = (timed: readonly Timed[]) => timed.toSorted((a, b) => median(b.first) - median(a.first));

function summarize(timed: readonly Timed[], rounds: number): Omit<Measurement, 'part'>[] {
  const slowest = (what: string, of: readonly Timed[], limit: number): Omit<Measurement, 'part'> => {
    const { combination, first } = bySlowness(of)[0]!;
    const over = of.filter((each) => median(each.first) > limit).length;
    return {
      name: `first page, slowest of ${of.length} ${what} (${over} over ${limit} ms): ${combination.name}`,
      unit: 'ms',
      values: first,
      target: { kind: 'at most', value: limit },
    };
  };
  const paged = timed.filter((each) => each.later !== undefined);
  const means = (values: (each: Timed) => number[]) =>
    Array.from({ length: rounds }, (_, round) =>
      paged.reduce((sum, each) => sum + values(each)[round]! / paged.length, 0),
    );
  return [
    slowest(
      'typical listings',
      timed.filter(({ combination }) => isTypical(combination)),
      typicalMax,
    ),
    slowest('combinations', timed, anyMax),
    {
      name: 'first page, the combination in the middle',
      unit: 'ms',
      values: bySlowness(timed)[Math.floor(timed.length / 2)]!.first,
    },
    {
      name: `later page, mean of ${paged.length} combinations`,
      unit: 'ms',
      values: means(({ later }) => later!),
      limit: { name: 'their first pages', values: means(({ first }) => first) },
      target: { kind: 'at most', value: 1.1 },
    },
  ];
}
