import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { UsageFailure } from './failures';
import { printable } from './printable';
import type { Request } from './service';

/** Makes the part of a request that sends JSON. */
export function jsonBody(content: Buffer): Pick<Request, 'headers' | 'body'> {
  return {
    headers: { 'content-type': 'application/json' },
    body: () => ({
      size: content.length,
      // eslint-disable-next-line @typescript-eslint/require-await -- an asynchronous iterable of one piece
      async *pieces() {
        yield content;
      },
      onSent: () => undefined,
    }),
  };
}

/** Reads a JSON file; `-`: standard input. @throws UsageFailure if it cannot be read or is not JSON */
export async function readJson(path: string): Promise<Buffer> {
  const cannot = (problem: string) => new UsageFailure(`${printable(path)} ${printable(problem)}.`);
  const content = await (path === '-' ? text(process.stdin) : readFile(path, 'utf8')).catch(
    (error: unknown) => {
      throw cannot(`cannot be read: ${(error as Error).message}`);
    },
  );
  try {
    JSON.parse(content);
  } catch (error) {
    throw cannot(`is not JSON: ${(error as Error).message}`);
  }
  return Buffer.from(content);
}
