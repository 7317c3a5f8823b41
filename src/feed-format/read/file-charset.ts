import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { detectMark, type Encoding } from './decode-text';

/**
 * Tells the charset of a file by its first chunk, which stays in the stream: a byte order mark overrides the encoding of its
 * format.
 * @throws the error of the stream, if it fails before its first chunk
 */
export async function charsetOf(file: Readable, encoding: Encoding): Promise<Encoding> {
  if (file.destroyed) return encoding;
  await Promise.race([once(file, 'readable'), once(file, 'close')]);
  const first = file.read() as Buffer | null;
  if (!first) return encoding;
  file.unshift(first);
  return detectMark(first, encoding).encoding;
}
