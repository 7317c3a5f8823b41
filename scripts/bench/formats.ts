import { mkdirSync, openAsBlob, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectTo, startServiceProcess } from '../service-process';
import { writeFormattedFeeds, type FormattedFeed } from './etl-feeds';
import { ask } from './measure';
import { untilIndexed } from './neighbors';
import { watchProcessors } from './processor-time';
import type { BenchContext, Measurement } from './report';

const headers = { 'x-api-key': 'key-of-the-benchmark' };

/** The one that the others are compared with. */
const limitFormat = 'standard';

/**
 * Measures first loads of the same products in several formats, each of a new partner, in the processor time of the service's
 * Node processes: PostgreSQL does the same for each.
 */
export async function measureFormats(context: BenchContext): Promise<Measurement[]> {
  const rows = context.quick ? 100_000 : 1_000_000;
  const feeds = await writeFormattedFeeds(context.folder, rows);
  const rounds: Record<string, number>[] = [];
  for (let round = 0; round < context.rounds; round++) {
    context.log(`round ${round + 1} of ${context.rounds}`);
    // No format has the same place in each round.
    const turn = round % feeds.length;
    rounds.push(await measureRound(context, [...feeds.slice(turn), ...feeds.slice(0, turn)]));
  }
  const of = (format: string) => rounds.map((seconds) => seconds[format]!);
  const measurement = (format: string, what: string, value: number): Measurement => ({
    part: 'formats',
    name: `${what}, processor time of a first load of ${rows.toLocaleString('en')} rows`,
    unit: 's',
    values: of(format),
    limit: { name: `the same rows in ${limitFormat}`, values: of(limitFormat) },
    target: { kind: 'at most', value },
  });
  return [
    measurement('google-merchant', 'google-merchant', 1.3),
    measurement('excel-eu', 'windows-1252 with decimal commas (excel-eu)', 1.6),
  ];
}

/** @returns processor time in seconds, by format */
async function measureRound(
  { folder, log }: BenchContext,
  feeds: readonly FormattedFeed[],
): Promise<Record<string, number>> {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const service = await startServiceProcess(dataDir, { API_KEYS: headers['x-api-key'] });
  try {
    const database = await connectTo(dataDir);
    const seconds: Record<string, number> = {};
    // Compiles what all of them need.
    for (const feed of feeds) await load(service.url, `Warm ${feed.format}`, feed.warmUp, feed.format);
    for (const { format, path, rows } of feeds) {
      await untilIndexed(database);
      await database.query('checkpoint');
      const jobId = await upload(service.url, `Bench ${format}`, path, format);
      const taken = watchProcessors(service.pid);
      await run(service.url, jobId, rows);
      seconds[format] = taken() / 1000;
      log(`${format}: ${seconds[format].toFixed(2)} s of processor time`);
    }
    await database.end();
    return seconds;
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function load(url: string, partnerName: string, file: string, format: string): Promise<void> {
  await run(url, await upload(url, partnerName, file, format));
}

/** @returns the id of its job */
async function upload(url: string, partnerName: string, file: string, format: string): Promise<string> {
  const form = new FormData();
  form.set('partner_name', partnerName);
  form.set('format', format);
  form.set('file', await openAsBlob(file, { type: 'text/csv' }), 'feed.csv');
  const response = await fetch(`${url}/feeds/upload`, { method: 'POST', headers, body: form });
  if (response.status !== 201) throw new Error(await response.text());
  return ((await response.json()) as { validation_job_id: string }).validation_job_id;
}

/** @param inserted - the number of rows that must be inserted; absent: any */
async function run(url: string, jobId: string, inserted?: number): Promise<void> {
  const { body } = await ask(`${url}/jobs/${jobId}/run`, { method: 'POST', headers });
  const { summary } = JSON.parse(body) as { summary?: { inserted: number } };
  if (!summary || (inserted !== undefined && summary.inserted !== inserted))
    throw new Error(`run of ${jobId}: ${body.slice(0, 1000)}`);
}
