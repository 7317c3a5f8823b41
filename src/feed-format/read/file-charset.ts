import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { detectMark } from './byte-order-mark';
import type { Encoding } from '../format-definition';

/**
 * Finds the charset of a file by its first chunk, which stays in the stream: a byte order mark overrides the encoding of its
 * format.
 * @param encoding - of its format; null without a format: it is UTF-8
 * @throws the error of the stream, if it fails before its first chunk
 */
export async function charsetOf(file: Readable, encoding: Encoding | null): Promise<Encoding> {
  if (encoding === null) return 'utf-8';
  if (file.destroyed) return encoding;
  await Promise.race([once(file, 'readable'), once(file, 'close')]);
  const first = file.read() as Buffer | null;
  if (!first) return encoding;
  file.unshift(first);
  return detectMark(first, { encoding }).encoding;
}
