import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { fillCatalog } from './catalog-data';
import { quantile, watchReads } from './measure';
import type { BenchContext, Measurement } from './report';
import { withService, type Service } from './servers';

type Figures = Record<'queued' | 'busiest' | 'lastStart' | 'lastEnd' | 'places' | 'idle' | 'beside', number>;

const sourcesPerPartner = 10;
/** Response delay of the server, as on the Internet. */
const responseMilliseconds = 100;
const idleSeconds = 20;
const bucketSeconds = 5;
const patienceSeconds = 1_200;

const feed = [
  'sku,product_name,price',
  ...Array.from({ length: 20 }, (_, at) => `S${at},Product ${at},1`),
].join('\n');

/** Sources without a run: the cost of runs beside reads is measured elsewhere. */
const fillSql = (sources: number, url: string) => `
  with named as (
    insert into partners (partner_name)
    select 'Fetched ' || number from generate_series(1, ${Math.ceil(sources / sourcesPerPartner)}) as number
    returning partner_id
  )
  insert into sources (partner_id, source_name, definition)
  select partner_id, 'source-' || number, json_build_object(
    'url', '${url}/' || partner_id || '/' || number || '.csv', 'format', null, 'mode', 'upsert', 'collection', 'main',
    'run', false, 'schedule', json_build_object('cron', '0 0 1 1 *', 'time_zone', 'UTC'), 'headers', json_build_object(),
    'enabled', true)
  from named, generate_series(1, ${sourcesPerPartner}) as number`;

/** Measures sources that are all due in the same minute, and reads of the catalog beside the fetches of the API process. */
export async function measureSources({
  quick,
  rounds,
  folder,
  log,
  products = quick ? 50_000 : 1_000_000,
}: BenchContext): Promise<Measurement[]> {
  const sources = quick ? 1_000 : 10_000;
  const server = await startFeeds();
  const figures: Figures[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const measure = (service: Service) => measureRound(service, products, sources, server);
      figures.push(await withService(folder, measure, { PRIVATE_ADDRESSES: 'on' }));
      log(JSON.stringify(figures.at(-1)));
    }
  } finally {
    server.close();
  }
  return describe(sources, figures);
}

async function measureRound(
  { url, database }: Service,
  products: number,
  sources: number,
  server: Feeds,
): Promise<Figures> {
  await fillCatalog(products, (sql) => database.query(sql));
  await database.query(fillSql(sources, server.url));
  await database.query('vacuum analyze');
  await database.query('checkpoint');
  const quiet = await watchReads(url, () => sleep(idleSeconds * 1000));
  const { rows } = await database.query<{ due: Date }>(
    'update sources set next_slot_at = clock_timestamp() returning next_slot_at as due',
  );
  const due = rows[0]!.due;
  server.reset();
  const busy = await watchReads(url, () => allFetched(database, sources));
  const times = await readTimes(database, due);
  return { ...times, places: server.busy(), idle: quantile(quiet, 0.99), beside: quantile(busy, 0.99) };
}

async function allFetched(database: Client, sources: number): Promise<void> {
  for (let waited = 0; waited < patienceSeconds; waited++) {
    const { rows } = await database.query<{ completed: number; failed: number }>(
      `select cast(count(*) filter (where status = 'completed') as integer) as completed,
         cast(count(*) filter (where failure_reason is not null) as integer) as failed
       from source_fetches`,
    );
    const { completed, failed } = rows[0]!;
    if (failed > 0) throw new Error(`${failed} fetches have failed`);
    if (completed === sources) return;
    await sleep(1_000);
  }
  throw new Error('timeout waiting for the fetches');
}

/** Reads when fetches were queued, and when their successful attempts started and ended. */
async function readTimes(
  database: Client,
  due: Date,
): Promise<Pick<Figures, 'queued' | 'busiest' | 'lastStart' | 'lastEnd'>> {
  const { rows } = await database.query<Record<'queued' | 'busiest' | 'lastStart' | 'lastEnd', number>>(
    `with fetched as (
       select extract(epoch from requested_at - $1::timestamptz) as queued, extract(epoch from started_at - $1::timestamptz) as started,
         extract(epoch from finished_at - $1::timestamptz) as finished
       from source_fetches
     ), bucket as (
       select count(*) as starts from fetched group by floor(started / ${bucketSeconds})
     )
     select cast(max(queued) as double precision) as queued, cast(max(started) as double precision) as "lastStart",
       cast(max(finished) as double precision) as "lastEnd",
       (select cast(100.0 * max(starts) / sum(starts) as double precision) from bucket) as busiest
     from fetched`,
    [due],
  );
  return rows[0]!;
}

interface Feeds {
  url: string;
  reset(): void;
  /** Returns the mean number of concurrent requests, over the time with at least one. */
  busy(): number;
  close(): void;
}

async function startFeeds(): Promise<Feeds> {
  let [inProgress, changedAt, busyMilliseconds, requestMilliseconds] = [0, 0, 0, 0];
  const change = (by: number) => {
    const now = performance.now();
    if (inProgress > 0) busyMilliseconds += now - changedAt;
    requestMilliseconds += inProgress * (now - changedAt);
    inProgress += by;
    changedAt = now;
  };
  const server = createServer((_request, response) => {
    change(1);
    response.on('close', () => change(-1));
    setTimeout(() => response.end(feed), responseMilliseconds);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reset: () => ([busyMilliseconds, requestMilliseconds] = [0, 0]),
    busy: () => requestMilliseconds / busyMilliseconds,
    close: () => server.close(),
  };
}

function describe(sources: number, rounds: readonly Figures[]): Measurement[] {
  const of = (name: keyof Figures) => rounds.map((figures) => figures[name]);
  const part = 'sources';
  const what = `${sources.toLocaleString('en')} sources due at once`;
  return [
    { part, name: `${what}: all queued`, unit: 's', values: of('queued') },
    { part, name: `${what}: starts in the busiest ${bucketSeconds} s`, unit: '%', values: of('busiest') },
    { part, name: `${what}: the last one started`, unit: 's', values: of('lastStart') },
    { part, name: `${what}: the last one ended`, unit: 's', values: of('lastEnd') },
    { part, name: `${what}: requests to servers in progress`, unit: 'requests', values: of('places') },
    {
      part,
      name: `GET /products, p99 while ${what} are fetched`,
      unit: 'ms',
      values: of('beside'),
      limit: { name: 'idle', values: of('idle') },
      target: { kind: 'at most', value: 3 },
    },
  ];
}
