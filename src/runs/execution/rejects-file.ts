import { encode } from 'iconv-lite';
import type { OpenFile } from '../../feed-format/read/open-file';
import { markCharacter } from '../../feed-format/read/byte-order-mark';
import type { FeedRecord } from '../../feed-format/read/extract';
import type { FeedHeader } from '../../feed-format/read/header-columns';
import { recordText, type WrittenSyntax } from '../../feed-format/write/record-text';

/*
 * The rejects of a feed are a file of the same format: with the lines before the header row, and in its encoding. Without a header
 * row, they have one with positions as names: it shows the columns of the report, and the number of fields of a row. A record is
 * written unchanged, unless a cell was filled from the rows above, which may be missing.
 */

/** Returns the lines before the header row, all blank. */
export function blankPreamble({ header: { reading } }: OpenFile): string {
  return '\n'.repeat(reading.format.definition.skip_lines ?? 0);
}

/** Returns the positions of a file without header row, as a header row. */
export function positionNames({ fieldCount, delimiter }: FeedHeader): string {
  return Array.from({ length: fieldCount }, (_, position) => position + 1).join(delimiter);
}

/** Returns how records of a file are written. */
export const writtenSyntaxOf = ({ delimiter, reading }: FeedHeader): WrittenSyntax => ({
  delimiter,
  quote: reading.format.definition.quote,
});

/** Returns the record as UTF-8 with the cells that were filled from above; its original bytes if there are none. */
export function withFilledCells(
  { header }: OpenFile,
  record: FeedRecord & { readonly bytes: Buffer },
): Buffer {
  const filled = record.misquoted ? [] : header.reading.filledCells();
  if (filled.length === 0) return record.bytes;
  const fields = record.firstFields(Infinity);
  for (const { position, text } of filled) fields[position] = text;
  return Buffer.from(recordText(fields, writtenSyntaxOf(header)));
}

/** Encodes UTF-8 texts in the encoding of the file, with its byte order mark if it had one. */
export async function* inEncodingOf(
  { encoding }: OpenFile,
  texts: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  if (encoding.name === 'utf-8' && !encoding.hasMark) {
    yield* texts;
    return;
  }
  let isFirst = encoding.hasMark;
  for await (const text of texts) {
    const bytes = encode((isFirst ? markCharacter : '') + text.toString(), encoding.name, { addBOM: false });
    isFirst = false;
    // The memory is transferred to another thread: no other buffer may share it.
    yield ownBytes(bytes);
  }
}

function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
