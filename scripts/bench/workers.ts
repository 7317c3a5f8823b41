import { openAsBlob } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFeeds, type Feeds } from './etl-feeds';
import { Fleet } from './fleet';
import { quantile, timed } from './measure';
import type { BenchContext, Measurement } from './report';

type Figures = Record<string, number>;

interface Sizes {
  /** Rows of each concurrently loaded feed. */
  rowsTogether: number;
  feedsTogether: number;
  rowsKilled: number;
  /** Rows of the large feed, and the number of small feeds queued with it. */
  rowsLarge: number;
  smallFeeds: number;
}

const full: Sizes = {
  rowsTogether: 60_000,
  feedsTogether: 8,
  rowsKilled: 400_000,
  rowsLarge: 1_000_000,
  smallFeeds: 1_000,
};
const quickly: Sizes = {
  rowsTogether: 6_000,
  feedsTogether: 8,
  rowsKilled: 100_000,
  rowsLarge: 100_000,
  smallFeeds: 100,
};
const rowsSmall = 10;
const feedsPerPartner = 10;

/**
 * Measures queued runs in worker processes beside an API process without run slots. Results: the gain of a second worker, the
 * time until another worker completes the run of a killed one, and the wait of small feeds behind a large one.
 */
export async function measureWorkers(context: BenchContext): Promise<Measurement[]> {
  const sizes = context.quick ? quickly : full;
  const feedsOf = async (rows: number) => {
    const folder = join(context.folder, `feeds-${rows}`);
    await mkdir(folder, { recursive: true });
    return writeFeeds(folder, rows);
  };
  const [together, killed, large] = [
    await feedsOf(sizes.rowsTogether),
    await feedsOf(sizes.rowsKilled),
    await feedsOf(sizes.rowsLarge),
  ];
  const rounds: Figures[] = [];
  for (let round = 1; round <= context.rounds; round++) {
    const log = (line: string) => context.log(`round ${round}: ${line}`);
    const figures: Figures = {};
    for (const measure of [
      (fleet: Fleet) => measureThroughput(fleet, together, sizes, round, figures),
      (fleet: Fleet) => measureTakeover(fleet, killed, figures),
      (fleet: Fleet) => measureFairness(fleet, large, sizes, figures),
    ]) {
      const known = new Set(Object.keys(figures));
      await Fleet.with(context.folder, measure);
      for (const [name, value] of Object.entries(figures))
        if (!known.has(name)) log(`${name}: ${value.toFixed(2)}`);
    }
    rounds.push(figures);
  }
  return describe(sizes, rounds);
}

/** Loads feeds of several partners concurrently: first loads, then the same again, unchanged. */
async function measureThroughput(
  fleet: Fleet,
  { base }: Feeds,
  { feedsTogether, rowsTogether }: Sizes,
  round: number,
  figures: Figures,
): Promise<void> {
  // The catalog grows: the order alternates.
  const counts = round % 2 === 1 ? [1, 2] : [2, 1];
  for (const workers of counts) {
    const partners = Array.from({ length: feedsTogether }, (_, at) => `Throughput ${workers} ${at}`);
    const jobIds = await fleet.uploadAll(partners, await openAsBlob(base, { type: 'text/csv' }));
    await fleet.employ(workers);
    for (const what of ['first loads', 'unchanged re-runs']) {
      await fleet.database.query('vacuum analyze');
      await fleet.database.query('checkpoint');
      const seconds = await timed(async () => fleet.completed(await fleet.queue(jobIds)));
      figures[`${what}, ${workers}`] = (feedsTogether * rowsTogether) / seconds;
    }
    await fleet.employ(0);
  }
}

/** Whether the ETL executes a statement like this now. */
const isDoing = (pattern: string) =>
  `exists (select from pg_stat_activity where application_name = 'etl' and state = 'active' and query ~* '${pattern}')`;

/** Phases in which the worker is killed, each with the condition that detects it. */
const phases = [
  { name: 'reading', sees: isDoing('^copy feed_rows') },
  { name: 'comparing', sees: isDoing('create temporary table feed_changes') },
  { name: 'loading', sees: isDoing('^\\s*update products') },
  { name: 'loading a first feed', sees: isDoing('^copy products') },
];

/** A tenth of the prices changes in each run after the first load. */
async function measureTakeover(fleet: Fleet, { base, changed }: Feeds, figures: Figures): Promise<void> {
  const jobs = [await fleet.uploadFile('Takeover', base), await fleet.uploadFile('Takeover', changed)];
  await fleet.employ(2);
  const undisturbed = (jobId: number) => timed(async () => fleet.completed(await fleet.queue([jobId])));
  figures['undisturbed, loading a first feed'] = await undisturbed(jobs[0]!);
  await fleet.database.query('vacuum analyze');
  figures.undisturbed = await undisturbed(jobs[1]!);
  for (const [at, { name, sees }] of phases.entries()) {
    await fleet.database.query('vacuum analyze');
    await fleet.database.query('checkpoint');
    const isFirst = name.endsWith('first feed');
    const jobId = isFirst ? await fleet.uploadFile(`Takeover ${name}`, base) : jobs[at % 2]!;
    const isBegun = "exists (select from runs where job_id = $1 and run > $2 and status <> 'queued')";
    const { rows } = await fleet.database.query<{ run_count: number }>(
      'select run_count from validation_jobs where job_id = $1',
      [jobId],
    );
    const run = await fleet.queue([jobId]);
    await fleet.until(sees);
    await fleet.killWorkerAtWork();
    const killedAt = performance.now();
    const since = () => (performance.now() - killedAt) / 1000;
    await fleet.until(isBegun, [jobId, rows[0]!.run_count + 1]);
    figures[`begun again after ${name}`] = since();
    await fleet.completed(run);
    figures[`completed after ${name}`] = since();
    await fleet.employ(2);
  }
}

/** Measures small feeds of many partners: alone, and queued right after a large one. */
async function measureFairness(
  fleet: Fleet,
  { base }: Feeds,
  { smallFeeds }: Sizes,
  figures: Figures,
): Promise<void> {
  const rows = Array.from({ length: rowsSmall }, (_, at) => `S${at},Small product ${at},${at + 1}`);
  const small = new Blob([['sku,product_name,price', ...rows].join('\n')], { type: 'text/csv' });
  for (const [beside, prefix] of [
    ['alone', 'Alone'],
    ['beside', 'Beside'],
  ] as const) {
    await fleet.employ(0);
    const large = beside === 'beside' ? [await fleet.uploadFile('Large', base)] : [];
    const partners = Array.from(
      { length: smallFeeds },
      (_, at) => `${prefix} ${at % (smallFeeds / feedsPerPartner)}`,
    );
    const jobIds = await fleet.uploadAll(partners, small);
    await fleet.database.query('vacuum analyze');
    await fleet.database.query('checkpoint');
    await fleet.employ(2);
    const queuedLarge = await fleet.queue(large);
    const seconds = await fleet.completed(await fleet.queue(jobIds));
    figures[`small median, ${beside}`] = quantile(seconds, 0.5);
    figures[`small p95, ${beside}`] = quantile(seconds, 0.95);
    figures[`small max, ${beside}`] = Math.max(...seconds);
    if (large.length > 0) figures.large = Math.max(...(await fleet.completed(queuedLarge)));
  }
}

function describe(sizes: Sizes, rounds: readonly Figures[]): Measurement[] {
  const of = (name: string) => rounds.map((figures) => figures[name]!);
  const count = (number: number) => number.toLocaleString('en');
  const part = 'workers';
  const together = `${sizes.feedsTogether} feeds of ${count(sizes.rowsTogether)} rows`;
  const small = `${count(sizes.smallFeeds)} feeds of ${rowsSmall} rows, beside one of ${count(sizes.rowsLarge)}`;
  const killed = `${count(sizes.rowsKilled)} rows`;
  return [
    ...['first loads', 'unchanged re-runs'].map((what): Measurement => ({
      part,
      name: `${what} of ${together}, two workers`,
      unit: 'rows/s',
      values: of(`${what}, 2`),
      limit: { name: 'one worker', values: of(`${what}, 1`) },
    })),
    ...phases.flatMap(({ name }): Measurement[] => [
      {
        part,
        name: `killed while ${name} ${killed}: begun by the other`,
        unit: 's',
        values: of(`begun again after ${name}`),
      },
      {
        part,
        name: `killed while ${name} ${killed}: completed`,
        unit: 's',
        values: of(`completed after ${name}`),
        limit: {
          name: 'the whole run, undisturbed',
          values: of(name.endsWith('first feed') ? 'undisturbed, loading a first feed' : 'undisturbed'),
        },
      },
    ]),
    ...['median', 'p95', 'max'].map((which): Measurement => ({
      part,
      name: `from queued to completed, ${which} of ${small}`,
      unit: 's',
      values: of(`small ${which}, beside`),
      limit: { name: 'without the large one', values: of(`small ${which}, alone`) },
    })),
    {
      part,
      name: `from queued to completed, the large one of ${count(sizes.rowsLarge)} rows`,
      unit: 's',
      values: of('large'),
    },
  ];
}
