import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exitCodes, UsageFailure } from './failures';
import { printable } from './printable';
import type { Work } from './session';

export function saveRejects(jobId: string, { output }: { output?: string }): Work {
  return async ({ service, view }) => {
    await service.ask('the download', {
      method: 'GET',
      path: `/jobs/${encodeURIComponent(jobId)}/rejects.csv`,
      headers: { accept: 'text/csv, application/json' },
      save: (content) => (output === undefined ? print(content) : writeFile(content, output)),
    });
    if (output !== undefined) view.note(`Written to ${printable(output)}.`);
    return exitCodes.done;
  };
}

async function print(content: Readable): Promise<void> {
  await pipeline(content, process.stdout, { end: false });
}

async function writeFile(content: Readable, path: string): Promise<void> {
  const file = await open(path, 'w').catch((error: unknown) => {
    const reason = printable((error as Error).message);
    throw new UsageFailure(`${printable(path)} cannot be written: ${reason}.`);
  });
  await pipeline(content, file.createWriteStream());
}
