import type { Client } from 'pg';
import { median } from '../service-process';
import { writeFeeds } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { timed, timeGet } from './measure';
import { untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';
import { withService } from './servers';

const asked = 20;

const pages: Record<string, string> = {
  'default page': '/products',
  'one product': '/products/PR00007',
  'one brand by price': '/products?brand=Acme&sort_by=price',
  'one partner by name': '/products?partner_name=Growth%201&sort_by=product_name',
};

/**
 * Measures the cost of feeds in a growing catalog: first loads, an unchanged feed, and one with a tenth of its prices changed.
 */
export async function measureGrowth({ quick, products, folder, log }: BenchContext): Promise<Measurement[]> {
  const partners = quick ? 3 : 10;
  const rows = products ? Math.round(products / partners) : quick ? 50_000 : 1_000_000;
  const looks = new Set(quick ? [1, 3] : [1, 5, 10]);
  const feeds = await writeFeeds(folder, rows);
  const measurements: Measurement[] = [];
  const note = (name: string, unit: string, value: number) => {
    measurements.push({ part: 'growth', name, unit, values: [value] });
    log(`${name}: ${value.toPrecision(4)} ${unit}`);
  };
  await withService(folder, async ({ url, database }) => {
    for (let partner = 1; partner <= partners; partner++) {
      const at = `${(partner * rows).toLocaleString('en')} products`;
      const jobId = await sendFeed(url, `Growth ${partner}`, feeds.base);
      await untilIndexed(database);
      await database.query('checkpoint');
      const load = await logged(database, () => runExpecting(url, jobId));
      note(`first load of the last ${rows.toLocaleString('en')} of ${at}`, 's', load.seconds);
      if (!looks.has(partner)) continue;
      await untilIndexed(database);
      await database.query('vacuum analyze');
      note(`WAL of that load, a row`, 'bytes', load.bytes / rows);
      for (const [name, bytes] of Object.entries(await sizes(database))) {
        note(`${name}, a product, at ${at}`, 'bytes', bytes / (partner * rows));
      }
      await measureReruns(url, database, feeds, (name, unit, value) => note(`${name} at ${at}`, unit, value));
      for (const [name, path] of Object.entries(pages)) {
        note(`${name} at ${at}`, 'ms', await latency(url + path));
      }
    }
  });
  return measurements;
}

async function measureReruns(
  url: string,
  database: Client,
  feeds: { base: string; changed: string; rows: number },
  note: (name: string, unit: string, value: number) => void,
): Promise<void> {
  const [changed, base] = [
    await sendFeed(url, 'Growth 1', feeds.changed),
    await sendFeed(url, 'Growth 1', feeds.base),
  ];
  await database.query('checkpoint');
  const historyBefore = await historyBytes(database);
  const update = await logged(database, () => runExpecting(url, changed));
  note('run with 10% changed', 's', update.seconds);
  note('WAL of that run, a changed row', 'bytes', update.bytes / (feeds.rows / 10));
  note(
    'history of that run, a changed row',
    'bytes',
    ((await historyBytes(database)) - historyBefore) / (feeds.rows / 10),
  );
  await runExpecting(url, base);
  await untilIndexed(database);
  await database.query('vacuum analyze');
  await database.query('checkpoint');
  note('unchanged run', 's', (await logged(database, () => runExpecting(url, base))).seconds);
}

/** @returns duration of the work, and bytes of WAL */
async function logged(
  database: Client,
  work: () => Promise<unknown>,
): Promise<{ seconds: number; bytes: number }> {
  const position = async () => {
    const { rows } = await database.query<{ bytes: number }>(
      "select cast(pg_current_wal_lsn() - '0/0' as double precision) as bytes",
    );
    return rows[0]!.bytes;
  };
  const before = await position();
  const seconds = await timed(work);
  return { seconds, bytes: (await position()) - before };
}

async function sizes(database: Client): Promise<Record<string, number>> {
  const { rows } = await database.query<Record<string, number>>(`
    select cast(pg_table_size('products') as double precision) as table,
      cast(pg_indexes_size('products') as double precision) as indexes,
      cast(pg_total_relation_size('digest_blocks') as double precision) as digests,
      cast(pg_total_relation_size('product_words') as double precision) as words
  `);
  return rows[0]!;
}

async function historyBytes(database: Client): Promise<number> {
  const { rows } = await database.query<{ bytes: number }>(
    "select cast(pg_total_relation_size('product_versions') as double precision) as bytes",
  );
  return rows[0]!.bytes;
}

async function latency(url: string): Promise<number> {
  const values: number[] = [];
  for (let count = 0; count < asked; count++) values.push(await timeGet(url));
  return median(values);
}
