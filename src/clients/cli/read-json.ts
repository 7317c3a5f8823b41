import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { UsageFailure } from './failures';
import { printable } from './printable';

/** Reads a JSON file; `-`: standard input. @throws UsageFailure if it cannot be read or is not JSON */
export async function readJson<Body>(path: string): Promise<Body> {
  const cannot = (problem: string) => new UsageFailure(`${printable(path)} ${printable(problem)}.`);
  const content = await (path === '-' ? text(process.stdin) : readFile(path, 'utf8')).catch(
    (error: unknown) => {
      throw cannot(`cannot be read: ${(error as Error).message}`);
    },
  );
  try {
    return JSON.parse(content) as Body;
  } catch (error) {
    throw cannot(`is not JSON: ${(error as Error).message}`);
  }
}
