import { writeFormattedFeeds, type FormattedFeed } from './etl-feeds';
import { runExpecting, sendFeed } from './feed-requests';
import { untilIndexed } from './neighbors';
import { watchProcessors } from './processor-time';
import type { BenchContext, Measurement } from './report';
import { withService } from './servers';

/** The baseline format. */
const limitFormat = 'standard';

/** Measures first loads of the same products in several formats, in processor time of the service's Node processes. */
export async function measureFormats(context: BenchContext): Promise<Measurement[]> {
  const rows = context.quick ? 100_000 : 1_000_000;
  const feeds = await writeFormattedFeeds(context.folder, rows);
  const rounds: Record<string, number>[] = [];
  for (let round = 0; round < context.rounds; round++) {
    context.log(`round ${round + 1} of ${context.rounds}`);
    // Rotates the order of the formats between rounds.
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
  return withService(folder, async ({ url, pid, database }) => {
    const seconds: Record<string, number> = {};
    // Compiles the shared code.
    for (const { format, warmUp } of feeds)
      await runExpecting(url, await sendFeed(url, `Warm ${format}`, warmUp, { format }));
    for (const { format, path, rows } of feeds) {
      await untilIndexed(database);
      await database.query('checkpoint');
      const jobId = await sendFeed(url, `Bench ${format}`, path, { format });
      const taken = watchProcessors(pid);
      await runExpecting(url, jobId, { inserted: rows });
      seconds[format] = taken() / 1000;
      log(`${format}: ${seconds[format].toFixed(2)} s of processor time`);
    }
    return seconds;
  });
}
