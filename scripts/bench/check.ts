import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { strictFormat } from '../../src/feed-format/built-in-formats';
import { openFile } from '../../src/feed-format/read/open-file';
import { transformRecord } from '../../src/feed-format/rows/transform';
import { writeFeeds } from './etl-feeds';
import type { BenchContext, Measurement } from './report';

const command = join(__dirname, '..', '..', 'dist/src/clients/cli/main.js');

/** Prints the resources that a process has used, as the last line of standard error. */
const reporter =
  'data:text/javascript,process.on("exit",()=>process.stderr.write("\\n"+JSON.stringify(process.resourceUsage())))';

/** Measures the check of a large file without a service, beside the reading of its rows in a run. */
export async function measureCheck({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const rows = quick ? 100_000 : 1_000_000;
  const { base, bad } = await writeFeeds(folder, rows);
  const seconds: Record<'read' | 'valid' | 'faulty', number[]> = { read: [], valid: [], faulty: [] };
  const megabytes: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    log(`round ${round} of ${rounds}`);
    seconds.read.push(await readRows(base));
    const [valid, faulty] = [await check(base), await check(bad)];
    seconds.valid.push(valid.seconds);
    seconds.faulty.push(faulty.seconds);
    megabytes.push(Math.max(valid.megabytes, faulty.megabytes));
  }
  const count = rows.toLocaleString('en');
  const limit = { name: 'the reading of the rows in a run', values: seconds.read };
  const measured = (name: string, values: number[]): Measurement => ({
    part: 'check',
    name: `${name}, processor time`,
    unit: 's',
    values,
    limit,
    target: { kind: 'at most', value: 2 },
    setting: 'no database',
  });
  return [
    measured(`partner-feed check of ${count} valid rows`, seconds.valid),
    measured('the same with an invalid price in each tenth row', seconds.faulty),
    {
      part: 'check',
      name: `memory at a check of ${count} rows`,
      unit: 'MB',
      values: megabytes,
      target: { kind: 'at most', value: 200 },
      setting: 'no database',
    },
  ];
}

/** Reads and transforms the rows of a file as a run does. @returns processor time in seconds */
async function readRows(path: string): Promise<number> {
  const before = process.cpuUsage();
  const { header, records, close } = await openFile(contentOf(path), {
    definition: strictFormat,
    mode: 'upsert',
  });
  const rows = records<never>(
    () => null,
    (record) => {
      transformRecord(record, header);
      return null;
    },
  );
  for await (const _ of rows);
  await close();
  return secondsOf(process.cpuUsage(before));
}

async function* contentOf(path: string): AsyncGenerator<Buffer, undefined> {
  yield* createReadStream(path) as AsyncIterable<Buffer>;
}

async function check(path: string): Promise<{ seconds: number; megabytes: number }> {
  const child = spawn(process.execPath, ['--import', reporter, command, 'check', path], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = (await text(child.stderr)).trim().split('\n');
  const used = JSON.parse(lines.at(-1)!) as NodeJS.ResourceUsage;
  return {
    seconds: secondsOf({ user: used.userCPUTime, system: used.systemCPUTime }),
    megabytes: (used.maxRSS * 1024) / 1e6,
  };
}

const secondsOf = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6;
