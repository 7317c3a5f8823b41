import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** The encodings that files are offered in, the smallest first. */
export const contentCodings = ['br', 'gzip'] as const;
export type ContentCoding = (typeof contentCodings)[number];

const nameOf = (content: Buffer, encoding: ContentCoding) => `${hash('sha256', content, 'hex')}.${encoding}`;

/** Compresses at a speed that a start can wait for (150 ms for all pages), or as densely as possible (7 s). */
function compress(content: Buffer, encoding: ContentCoding, isDense: boolean): Buffer {
  if (encoding === 'gzip') return gzipSync(content, { level: isDense ? 9 : 6 });
  return brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: isDense ? 11 : 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
}

/** A content in each encoding. */
export type Encoded = Readonly<Record<ContentCoding | 'identity', Buffer>>;

export const encoded = (identity: Buffer): Encoded => ({
  identity,
  br: compressed(identity, 'br'),
  gzip: compressed(identity, 'gzip'),
});

/** Returns a content compressed: what the build has written, or else less densely and made at once. */
function compressed(content: Buffer, encoding: ContentCoding): Buffer {
  try {
    return readFileSync(require.resolve(`#compressed/${nameOf(content, encoding)}`));
  } catch {
    return compress(content, encoding, false);
  }
}

/** A small content is compressed at each start, in no time: the build writes the others. */
const smallBytes = 8_192;

/** Writes what `compressed` reads, by the digest of the content; what no content has any more is removed. */
export function writeCompressed(contents: readonly Buffer[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  const kept = new Set<string>();
  for (const content of contents.filter(({ length }) => length > smallBytes)) {
    for (const encoding of contentCodings) {
      const name = nameOf(content, encoding);
      kept.add(name);
      if (!existsSync(join(folder, name)))
        writeFileSync(join(folder, name), compress(content, encoding, true));
    }
  }
  for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(join(folder, name));
}
