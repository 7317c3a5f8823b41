import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The output of starts, below the folder of the data. */
export const startLog = 'start.log';

/** The folder of what a server logs after its first lines, below the folder of the data. */
const logFolder = 'log';

/**
 * Remembers how much a server has logged.
 * @param cluster - the folder of its data
 * @returns a function that returns the lines that were logged since then
 */
export async function watchLogs(cluster: string): Promise<() => Promise<string[]>> {
  const before = await sizesOfLogs(cluster);
  return async () => {
    const lines: string[] = [];
    for (const [file, size] of await sizesOfLogs(cluster)) {
      const known = before.get(file) ?? 0;
      if (size === known || size === 0) continue;
      // A file of last week is overwritten.
      const added = createReadStream(file, { start: size < known ? 0 : known, end: size - 1 });
      lines.push(...(await text(added)).split('\n').filter(Boolean));
    }
    return lines;
  };
}

/** Returns the files of logs, which the server's account creates, and their sizes in bytes. */
async function sizesOfLogs(cluster: string): Promise<Map<string, number>> {
  const logged = await readdir(join(cluster, logFolder)).catch(() => []);
  const files = [startLog, ...logged.map((name) => join(logFolder, name))].map((name) => join(cluster, name));
  const sizeOf = async (file: string): Promise<[string, number]> => [
    file,
    (await stat(file).catch(() => undefined))?.size ?? 0,
  ];
  return new Map(await Promise.all(files.map(sizeOf)));
}

/** The lines that say why a server did not start: the errors, with their details and hints, or the last lines. */
export function startFailureOf(lines: string[]): string {
  const from = lines.findIndex((line) => /\b(FATAL|PANIC|ERROR): /.test(line));
  const told = from < 0 ? lines.slice(-3) : lines.slice(from, from + 3);
  return told.join(' ');
}
