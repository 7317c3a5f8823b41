import { stringify } from 'csv-stringify/sync';
import { encode } from 'iconv-lite';
import type { OpenFeed } from '../etl/raw-file';
import type { FeedRecord } from '../etl/transform';

/*
 * The rejects of a feed with a format are a file of the same format: lines before the header row, no report columns without
 * one, and its encoding. A record is written as it is, unless a cell of it was filled from the rows above, which may be missing.
 */

/** Returns the lines before the header row, all blank. */
export function blankPreamble({ header: { reading } }: OpenFeed): string {
  return '\n'.repeat(reading?.format.definition.skip_lines ?? 0);
}

/** Tells whether the file has a header row, and with it room for report columns. */
export function hasHeaderRow({ header: { reading } }: OpenFeed): boolean {
  return reading?.format.definition.header !== false;
}

/** Returns the record as UTF-8 with the cells that were filled from above; its own bytes without any. */
export function withFilledCells(
  { header: { reading, delimiter, fieldCount } }: OpenFeed,
  record: FeedRecord & { readonly bytes: Buffer },
): Buffer {
  const isSplit = !record.misquoted && record.fieldCount <= fieldCount;
  const filled = isSplit ? (reading?.filledCells() ?? []) : [];
  if (filled.length === 0) return record.bytes;
  const fields = record.firstFields(Infinity);
  for (const { position, text } of filled) fields[position] = text;
  return Buffer.from(stringify([fields], { delimiter, eof: false, quoted_match: /[\r\n]/ }));
}

/** Encodes texts in UTF-8 as the file is encoded, with its byte order mark if it had one. */
export async function* inEncodingOf(
  { encoding }: OpenFeed,
  texts: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  if (!encoding || (encoding.name === 'utf-8' && !encoding.hasMark)) {
    yield* texts;
    return;
  }
  let isFirst = encoding.hasMark;
  for await (const text of texts) {
    const bytes = encode((isFirst ? '\ufeff' : '') + text.toString(), encoding.name, { addBOM: false });
    isFirst = false;
    // Another thread takes the memory over: it must not be that of other buffers.
    yield ownBytes(bytes);
  }
}

function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
