import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { encode } from 'iconv-lite';
import { openRawFile } from '../../src/runs/etl/raw-file';
import { transformRecord, type ProductValues } from '../../src/feed-format/rows/transform';
import type { FormatDefinition } from '../../src/feed-format/format-definition';
import type { LoadMode } from '../../src/feed-format/load-options';
import type { ObjectStore } from '../../src/base/storage/object-store';

/** A row as read by a format. */
export interface FormattedRow {
  line: number;
  lastLine: number;
  row: number;
  offset: number;
  /** Only values that are not null. */
  values: Partial<ProductValues> | undefined;
  codes: string[];
  messages: string[];
}

/** Splits bytes into chunks of a size, or of several sizes in turn. */
export function chunksOf(bytes: Buffer, ...sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const end = at + sizes[index % sizes.length]!;
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

/** Reads a feed as a run does. The file is a text in the encoding of the format, or bytes. */
export async function readFormatted(
  file: string | Buffer,
  format: FormatDefinition | null,
  { chunkSizes = [1 << 16], mode = 'upsert' }: { chunkSizes?: number[]; mode?: LoadMode } = {},
): Promise<FormattedRow[]> {
  const bytes = typeof file === 'string' ? encode(file, format?.encoding ?? 'utf-8') : file;
  const objectStore = {
    get: () => Promise.resolve(Readable.from(chunksOf(bytes, ...chunkSizes))),
  } as unknown as ObjectStore;
  const { header, records, close } = await openRawFile(objectStore, {
    objectKey: 'feed',
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest(),
    mode,
    format,
  });
  const rows: FormattedRow[] = [];
  const read = records<never>(
    () => null,
    (record) => {
      const { line, lastLine, row, offset } = record;
      const { values, issues = [] } = transformRecord(record, header, mode);
      const present = Object.entries(values ?? {}).filter(([, value]) => value !== null);
      rows.push({
        line,
        lastLine,
        row,
        offset,
        values: values && Object.fromEntries(present),
        codes: issues.map(({ code }) => code),
        messages: issues.map(({ message }) => message),
      });
      return null;
    },
  );
  try {
    for await (const _ of read);
  } finally {
    await close();
  }
  return rows;
}

/** The values of the rows that load. */
export async function readValues(
  file: string | Buffer,
  format: FormatDefinition,
  options?: { chunkSizes?: number[]; mode?: LoadMode },
): Promise<Partial<ProductValues>[]> {
  const rows = await readFormatted(file, format, options);
  return rows.flatMap(({ values }) => (values ? [values] : []));
}
