import { join } from 'node:path';
import { digestOf, generateKey } from '../../src/shared/key-format';
import { connectTo, median, startServiceProcess } from '../service-process';
import { combinations, type Combination } from './catalog-combinations';
import { fillCatalog } from './catalog-data';
import { untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';

const rounds = 3;
const shown = 10;
/** Limit of every combination. */
const millisecondsMax = 150;
const everybodysKey = 'key-of-the-benchmark';

/** Milliseconds per combination, one value per round. */
interface Timed {
  combination: Combination;
  first: number[];
  /** Absent if there is one page only, or no cursor. */
  later?: number[];
}

/**
 * Requests every documented combination of filters, sort, direction and kind of key, one at a time: the first page, and a
 * page after 100 products.
 */
export async function measureListing({ quick, folder, log }: BenchContext): Promise<Measurement[]> {
  const products = quick ? 100_000 : 1_000_000;
  const dataDir = join(folder, 'listing');
  const service = await startServiceProcess(dataDir, { API_KEYS: everybodysKey });
  try {
    log(`catalog: ${products.toLocaleString('en')} products`);
    const asked = combinations();
    const keys = await prepare(dataDir, products, asked);
    const timed: Timed[] = [];
    for (const combination of asked) {
      timed.push(await time(service.url, combination, keys.get(combination.scope)!));
      if (timed.length % 500 === 0) log(`catalog: ${timed.length} of ${asked.length} combinations`);
    }
    const slowest = timed.toSorted((a, b) => median(b.first) - median(a.first)).slice(0, shown);
    for (const { combination, first } of slowest)
      log(`catalog: ${median(first).toFixed(0)} ms  ${combination.name}`);
    return summarize(timed);
  } finally {
    await service.stop();
  }
}

/** Fills the catalog. @returns a key per scope */
async function prepare(
  dataDir: string,
  products: number,
  asked: Combination[],
): Promise<Map<string | null, string>> {
  const keys = new Map<string | null, string>([[null, everybodysKey]]);
  const client = await connectTo(dataDir);
  try {
    await fillCatalog(products, (sql) => client.query(sql));
    await untilIndexed(client);
    for (const { scope } of asked) {
      if (keys.has(scope)) continue;
      const key = generateKey();
      await client.query('insert into api_keys (key_name, key_digest, partner_name) values ($1, $2, $1)', [
        scope,
        digestOf(key),
      ]);
      keys.set(scope, key);
    }
  } finally {
    await client.end();
  }
  return keys;
}

async function time(url: string, combination: Combination, key: string): Promise<Timed> {
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

function summarize(timed: Timed[]): Measurement[] {
  const bySpeed = timed.toSorted((a, b) => median(b.first) - median(a.first));
  const slowest = bySpeed[0]!;
  const over = (limit: number) => timed.filter(({ first }) => median(first) > limit).length;
  const paged = timed.filter((each) => each.later !== undefined);
  const means = (values: (each: Timed) => number[]) =>
    Array.from({ length: rounds }, (_, round) =>
      paged.reduce((sum, each) => sum + values(each)[round]! / paged.length, 0),
    );
  return [
    {
      part: 'catalog',
      name: `first page, slowest of ${timed.length} combinations (${over(50)} above 50 ms, ${over(millisecondsMax)} above ${millisecondsMax} ms): ${slowest.combination.name}`,
      unit: 'ms',
      values: slowest.first,
      target: { kind: 'at most', value: millisecondsMax },
    },
    {
      part: 'catalog',
      name: 'first page, the combination in the middle',
      unit: 'ms',
      values: bySpeed[Math.floor(timed.length / 2)]!.first,
    },
    {
      part: 'catalog',
      name: `later page, mean of ${paged.length} combinations`,
      unit: 'ms',
      values: means(({ later }) => later!),
      limit: { name: 'their first pages', values: means(({ first }) => first) },
      target: { kind: 'at most', value: 1.1 },
    },
  ];
}
