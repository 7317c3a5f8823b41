import { once } from 'node:events';
import { createGunzip, type Gunzip } from 'node:zlib';

/** The file has the name or the first bytes of gzip, but not both, or it is broken. */
export class MalformedGzip extends Error {
  constructor(options?: ErrorOptions) {
    super('Malformed gzip file.', options);
  }
}

const magic = Buffer.from('1f8b', 'hex');

/** Tells a gzip file by its first bytes. */
export function isGzip(beginning: Buffer): boolean {
  return beginning.subarray(0, magic.length).equals(magic);
}

export function isGzipName(fileName: string): boolean {
  return /\.gz$/i.test(fileName);
}

/**
 * Unpacks a gzip file of one or more members, and passes any other file through. Leaves the source open when it fails.
 * @param isNamedGzip - whether the file has the name of a gzip file; absent: the name was checked before
 * @throws MalformedGzip; errors of `source`
 */
export async function* unpack(
  source: AsyncIterator<Buffer, unknown>,
  isNamedGzip?: boolean,
): AsyncGenerator<Buffer, undefined> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < magic.length) {
    const next = await source.next();
    if (next.done) break;
    first = Buffer.concat([first, next.value]);
  }
  if (first.length === 0) return;
  const isPacked = isGzip(first);
  if (isNamedGzip !== undefined && isNamedGzip !== isPacked) throw new MalformedGzip();
  if (isPacked) {
    yield* gunzip(first, source);
    return;
  }
  yield first;
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
}

const chunkSize = 64 * 1024;

async function* gunzip(first: Buffer, source: AsyncIterator<Buffer, unknown>): AsyncGenerator<Buffer> {
  const stream = createGunzip({ chunkSize });
  const written = { bytes: 0, isAll: false };
  // Its errors destroy the stream. Not awaited: the source may be slow.
  void writeTo(stream, first, source, written);
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (error) {
    const isBroken = (error as NodeJS.ErrnoException).code?.startsWith('Z_');
    throw isBroken ? new MalformedGzip({ cause: error }) : error;
  }
  // Zeros after the last member end the stream early.
  if (!written.isAll || stream.bytesWritten !== written.bytes) throw new MalformedGzip();
}

/** Writes the source to the stream until it ends or is destroyed. An error of the source destroys the stream. */
async function writeTo(
  stream: Gunzip,
  first: Buffer,
  source: AsyncIterator<Buffer, unknown>,
  written: { bytes: number; isAll: boolean },
): Promise<void> {
  const closed = once(stream, 'close');
  // The reader of the stream gets its errors.
  closed.catch(() => undefined);
  try {
    for (let chunk = first; !stream.destroyed;) {
      written.bytes += chunk.length;
      if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), closed]);
      const next = await source.next();
      if (next.done) {
        written.isAll = true;
        stream.end();
        return;
      }
      chunk = next.value;
    }
  } catch (error) {
    stream.destroy(error as Error);
  }
}
