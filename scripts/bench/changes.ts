import type { Client } from 'pg';
import { writeFeeds, writeShortened, type Feeds } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { timed } from './measure';
import { untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';
import { withService, type Service } from './servers';

const partner = 'Changing';

/** Files of a round: `shortened` lacks every twentieth row. */
interface Files extends Feeds {
  shortened: string;
}

/** Seconds by step, and bytes. */
interface Figures {
  kept: number;
  notKept: number;
  replaced: number;
  changed: number;
  reverted: number;
  bytesPerVersion: number;
}

/** Measures the cost of the history for runs, and runs that withdraw and revert. */
export async function measureChanges(context: BenchContext): Promise<Measurement[]> {
  const { quick, rounds, folder, log } = context;
  const rows = quick ? 100_000 : 1_000_000;
  const files = { ...(await writeFeeds(folder, rows)), shortened: await writeShortened(folder, rows) };
  const measured: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    measured.push(await withService(folder, (service) => measureRound(service, files)));
    log(JSON.stringify(measured.at(-1)));
  }
  return describe(rows, measured);
}

async function measureRound({ url, database }: Service, files: Files): Promise<Figures> {
  const { rows } = files;
  const tenth = rows / 10;
  const twentieth = rows / 20;
  let jobId = '';
  const run = async (file: string, mode: string, expected: Record<string, number>) => {
    jobId = await sendFeed(url, partner, file, { mode });
    await untilIndexed(database);
    await database.query('checkpoint');
    return timed(() => runExpecting(url, jobId, expected));
  };
  const update = (file: string) => run(file, 'upsert', { updated: tenth });
  const keepVersions = (isOn: boolean) =>
    database.query(`alter table products ${isOn ? 'enable' : 'disable'} trigger products_versioned_update`);

  await run(files.base, 'upsert', { inserted: rows });
  // In both orders, so that neither always runs first.
  await keepVersions(false);
  const notKept = [await update(files.changed)];
  await keepVersions(true);
  const kept = [await update(files.base), await update(files.changed)];
  await keepVersions(false);
  notKept.push(await update(files.base));
  await keepVersions(true);
  const bytesPerVersion = await bytesOf(database);

  const replaced = await run(files.shortened, 'replace', { withdrawn: twentieth });
  await run(files.base, 'replace', { restored: twentieth });
  const changed = await update(files.changed);
  await untilIndexed(database);
  await database.query('checkpoint');
  const reverted = await timed(() => runExpecting(url, jobId, { updated: tenth }, 'revert?run=1'));
  const mean = ([one, other]: number[]) => (one! + other!) / 2;
  return { kept: mean(kept), notKept: mean(notKept), replaced, changed, reverted, bytesPerVersion };
}

/** Bytes on disk per version, indexes included. */
async function bytesOf(database: Client): Promise<number> {
  const { rows } = await database.query<{ bytes: number }>(
    `select cast(pg_total_relation_size('product_versions') / (select count(*) from product_versions) as integer) as bytes`,
  );
  return rows[0]!.bytes;
}

function describe(rows: number, measured: readonly Figures[]): Measurement[] {
  const part = 'changes';
  const unit = 's';
  const values = (name: keyof Figures) => measured.map((figures) => figures[name]);
  const count = (number: number) => number.toLocaleString('en');
  const changed = { name: 'the run that made them', values: values('changed') };
  return [
    {
      part,
      name: `run that changes ${count(rows / 10)} of ${count(rows)} products, with history`,
      unit,
      values: values('kept'),
      limit: { name: 'without history', values: values('notKept') },
      target: { kind: 'at most', value: 1.25 },
    },
    {
      part,
      name: `replace that withdraws ${count(rows / 20)} of ${count(rows)} products`,
      unit,
      values: values('replaced'),
      limit: { name: 'changing twice as many prices', values: values('kept') },
      target: { kind: 'at most', value: 1.25 },
    },
    {
      part,
      name: `revert of ${count(rows / 10)} changes`,
      unit,
      values: values('reverted'),
      limit: changed,
      target: { kind: 'at most', value: 1 },
    },
    { part, name: 'disk per changed row', unit: 'bytes', values: values('bytesPerVersion') },
  ];
}
