import { strictFormat } from '../../src/feed-format/built-in-formats';
import type { LoadMode } from '../../src/feed-format/load-options';
import { FileDecoder, UndecodableText } from '../../src/feed-format/read/decode-text';
import { RecordExtractor, type ExtractedRecord, type RecordPlace } from '../../src/feed-format/read/extract';
import { readHeader } from '../../src/feed-format/read/header';
import type { NamedHeader } from '../../src/feed-format/read/header-columns';

/** Reads the header of a file without a format. */
export function readStrictHeader(file: string | Buffer, mode?: LoadMode): NamedHeader | { problem: string } {
  const decoder = new FileDecoder(strictFormat);
  const text = Buffer.concat([decoder.write(Buffer.from(file)), decoder.end()]);
  return readHeader(text, strictFormat, mode);
}

/** The same for a valid header. */
export function strictHeader(file: string | Buffer): NamedHeader {
  const header = readStrictHeader(file);
  if ('problem' in header) throw new Error(header.problem);
  return header;
}

/** The same; undefined if a file is not UTF-8 text, or has no valid header. */
export function findStrictHeader(bytes: Buffer): NamedHeader | undefined {
  try {
    const header = readStrictHeader(bytes);
    return 'problem' in header ? undefined : header;
  } catch (error) {
    if (!(error instanceof UndecodableText)) throw error;
    return undefined;
  }
}

interface Callbacks<T> {
  onHeader?: (place: RecordPlace, text: string) => T | null;
  onRecord: (record: ExtractedRecord) => T | null;
}

/** Extracts the records of a file without a format from chunks. */
export async function* extractStrictly<T>(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  header: NamedHeader,
  { onHeader = () => null, onRecord }: Callbacks<T>,
  recordBytesMax?: number,
): AsyncGenerator<T> {
  const decoder = new FileDecoder(strictFormat);
  const from = {
    offsets: {
      unitBytes: 1,
      sourceOf: (position: number) => decoder.offsets.sourceOf(position),
      discard: () => undefined,
    },
  };
  const extractor = new RecordExtractor(header, onHeader, onRecord, from, recordBytesMax);
  yield* extractor.read(decodeAll(chunks, decoder));
}

async function* decodeAll(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  decoder: FileDecoder,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield decoder.write(chunk);
  yield decoder.end();
}
