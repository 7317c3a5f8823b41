import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exitCodes, UsageFailure } from './failures';
import { printable } from './printable';
import type { Session, Work } from './session';

export function saveRejects(jobId: string, { output }: { output?: string }): Work {
  return async (session) => {
    await downloadRejects(session, jobId, (content) =>
      output === undefined ? print(content) : writeFile(content, output),
    );
    if (output !== undefined) session.view.note(`Written to ${printable(output)}.`);
    return exitCodes.done;
  };
}

/** Passes the rejects of the last run to `save`, with their media type. @throws Failure */
export async function downloadRejects<Saved>(
  { service }: Session,
  job_id: string,
  save: (content: Readable, mediaType: string | undefined) => Promise<Saved>,
): Promise<Saved> {
  const { data, response } = (await service.ask('the download', () =>
    service.api.GET('/jobs/{job_id}/rejects.csv', {
      params: { path: { job_id } },
      headers: { accept: 'text/csv, application/json' },
      parseAs: 'stream',
    }),
  ))!;
  const content = Readable.fromWeb(data ?? new Blob([]).stream());
  return save(content, response.headers.get('content-type') ?? undefined).catch((error: unknown) => {
    throw service.downloadFailure(error as Error);
  });
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
