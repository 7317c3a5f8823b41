import { buffer } from 'node:stream/consumers';
import { cellTextOf } from '../../feed-format/read/cell-text';
import { syntaxOf } from '../../feed-format/read/record-syntax';
import { RecordScanner } from '../../feed-format/read/scan-record';
import { recordBytes } from '../../feed-format/columns';
import { detectMark, markBytesMax } from '../../feed-format/read/byte-order-mark';
import type { Encoding, ReadDefinition } from '../../feed-format/format-definition';
import { FileDecoder, UndecodableText } from '../../feed-format/read/decode-text';
import { sourceEndOf } from '../../feed-format/read/line-offsets';
import { trimText } from '../../feed-format/text';
import { isGzip, MalformedGzip, unpack } from '../../feed-format/read/unpack';
import type { ObjectStore } from '../../base/storage/object-store';
import type { RecordLocation } from './provenance.repository';

/** A record of the unpacked file, without its line end. */
export interface FoundRecord {
  bytes: Buffer;
  text: string;
  encoding: Encoding;
}

interface RecordPosition {
  key: string;
  /** Offset in the unpacked file. */
  start: number;
  /** Size of the file as it is stored. */
  sizeBytes: number;
  delimiter: NonNullable<RecordLocation['delimiter']>;
  sku: string | null;
}

/**
 * Maximum size of a record: no encoding needs more than twice the bytes of UTF-8. After a CR, one more byte shows whether it ends a line.
 */
const recordBytesOf = ({ strict }: ReadDefinition) => (strict ? recordBytes : 2 * recordBytes);

/**
 * Reads a record of a file: by one request for the byte order mark, if that can determine the encoding, and one from its offset
 * to its end. A gzip file is read from its beginning.
 * @returns undefined if no record at this place names the sku, as the last release changes products without their offsets, or if the
 * file is not the loaded one
 * @throws StorageError
 */
export async function findRecord(
  objectStore: ObjectStore,
  position: RecordPosition,
  definition: ReadDefinition,
): Promise<FoundRecord | undefined> {
  try {
    return await recordAt(objectStore, position, definition);
  } catch (error) {
    if (error instanceof MalformedGzip || error instanceof UndecodableText) return undefined;
    throw error;
  }
}

async function recordAt(
  objectStore: ObjectStore,
  position: RecordPosition,
  definition: ReadDefinition,
): Promise<FoundRecord | undefined> {
  const { key, start, sizeBytes } = position;
  const beginning = definition.strict
    ? Buffer.alloc(0)
    : await buffer(await objectStore.get(key, { start: 0, end: Math.min(markBytesMax, sizeBytes) - 1 }));
  if (!isGzip(beginning)) {
    if (start >= sizeBytes) return undefined;
    const { encoding } = detectMark(beginning, definition);
    const end = Math.min(start + recordBytesOf(definition), sizeBytes);
    const chunks = (await objectStore.get(key, { start, end: end - 1 })) as AsyncIterable<Buffer>;
    return await scanRecord({ chunks, isWhole: end === sizeBytes }, position, { definition, encoding });
  }
  const source = (await objectStore.get(key))[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    const file = unpack(source);
    const head = await takeBytes(file, markBytesMax);
    const { encoding } = detectMark(head, definition);
    const chunks = between(head, file, start);
    return await scanRecord({ chunks, isWhole: true }, position, { definition, encoding });
  } finally {
    await source.return?.();
  }
}

/** Tells whether the sku is a cell of its record: not joined, and not from a previous record. */
function isOneCell({ columns, fill_down }: ReadDefinition): boolean {
  const isFilled = fill_down?.some(({ column }) => column === 'sku') ?? false;
  return !isFilled && (columns.sku.from !== undefined || columns.sku.position !== undefined);
}

/**
 * Scans the record at the beginning of the chunks.
 * @param source - `isWhole`: whether the file ends with the chunks
 */
async function scanRecord(
  { chunks, isWhole }: { chunks: AsyncIterable<Buffer>; isWhole: boolean },
  { delimiter, sku }: RecordPosition,
  { definition, encoding }: { definition: ReadDefinition; encoding: Encoding },
): Promise<FoundRecord | undefined> {
  const decoder = new FileDecoder({ encoding }, true);
  const scanner = new RecordScanner(delimiter, Infinity, syntaxOf(definition));
  scanner.begin(0);
  let bytes = Buffer.alloc(0);
  let text = Buffer.alloc(0);
  const found = (): FoundRecord | undefined => {
    if (isOneCell(definition) && !names(scanner, sku, definition)) return undefined;
    const record = scanner.record();
    const end = sourceEndOf(decoder.offsets, record.length, scanner.next - record.length);
    return { bytes: bytes.subarray(0, end), text: record.toString(), encoding };
  };
  for await (const chunk of chunks) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length > 4 * recordBytes) return undefined;
    text = Buffer.concat([text, decoder.write(chunk)]);
    if (scanner.scan(text, false) === 'complete') return found();
  }
  if (!isWhole || bytes.length === 0) return undefined;
  text = Buffer.concat([text, decoder.end()]);
  return scanner.scan(text, true) === 'complete' ? found() : undefined;
}

async function takeBytes(source: AsyncGenerator<Buffer>, length: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  while (bytes.length < length) {
    const next = await source.next();
    if (next.done) break;
    bytes = Buffer.concat([bytes, next.value]);
  }
  return bytes;
}

/** Yields the bytes from an offset on. */
async function* between(head: Buffer, rest: AsyncIterable<Buffer>, start: number): AsyncGenerator<Buffer> {
  let left = start;
  const skipped = (chunk: Buffer) => {
    const bytes = chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
    return bytes;
  };
  yield skipped(head);
  for await (const chunk of rest) {
    const bytes = skipped(chunk);
    if (bytes.length > 0) yield bytes;
  }
}

/** Tells whether a cell of the record is the sku. */
function names(record: RecordScanner, sku: string | null, definition: ReadDefinition): boolean {
  const cellText = cellTextOf(definition) ?? ((text: string) => text);
  for (let position = 0; position < record.fieldCount; position++) {
    if (trimText(cellText(record.field(position)!, true)) === sku) return true;
  }
  return false;
}
