import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { recordBytes } from '../../../src/feed-format/columns';
import type { FeedHeader } from '../../../src/feed-format/read/header-columns';
import { isBlankRecord, recordOptions } from '../../../src/feed-format/read/header-names';
import { UnclosedQuote } from '../../../src/feed-format/read/scan-record';
import { trimText } from '../../../src/feed-format/text';
import { readSource, sha256 } from '../../../src/intake/provenance/record-source';
import type { ByteRange, ObjectStore } from '../../../src/base/storage/object-store';
import { anyBytes, anyFeed } from '../../support/arbitrary';
import { casesFor } from '../../support/fuzz';
import { extractStrictly, findStrictHeader, strictHeader } from '../../support/read-strictly';
import { copyRecord } from '../../support/reference-extractor';

/** A record as read by a run. */
interface ReadRecord {
  offset: number;
  bytes: Buffer;
  fields: string[];
}

/** A file with a valid header, and all records before its first structural error. */
interface ReadFile {
  header: FeedHeader;
  records: ReadRecord[];
  isWhole: boolean;
}

const inChunks = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );

async function readFile(bytes: Buffer, chunkBytes: number): Promise<ReadFile | undefined> {
  const header = findStrictHeader(bytes);
  if (!header) return undefined;
  const records: ReadRecord[] = [];
  const read = extractStrictly<never>(inChunks(bytes, chunkBytes), header, {
    onRecord(record) {
      const { fields } = copyRecord(record) as { fields: string[] };
      records.push({ offset: record.offset, bytes: Buffer.from(record.bytes), fields });
      return null;
    },
  });
  try {
    for await (const _ of read);
    return { header, records, isWhole: true };
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    return { header, records, isWhole: false };
  }
}

/** A store of one object that streams small chunks, and the requested ranges. */
function storeOf(bytes: Buffer, chunkBytes = 7) {
  const ranges: (ByteRange | undefined)[] = [];
  const get = (_key: string, range?: ByteRange) => {
    ranges.push(range);
    return Promise.resolve(Readable.from(inChunks(bytes.subarray(range!.start, range!.end + 1), chunkBytes)));
  };
  return { ranges, store: { get } as unknown as ObjectStore };
}

const locationIn = (bytes: Buffer, { delimiter }: FeedHeader, offset: number, sku = 'A') => ({
  feed_id: 1,
  record_offset: offset,
  sku,
  sha256: sha256(bytes),
  object_key: 'key',
  size_bytes: bytes.length,
  delimiter,
  is_file_removed: false,
  record_sha256: null,
  format: null,
});

/** Parses the rows of a whole file with csv-parse; undefined if a quote stays open. */
function rowsOf(bytes: Buffer, delimiter: string): string[][] | undefined {
  let all: string[][];
  try {
    all = parse(bytes, { ...recordOptions, bom: true, delimiter });
  } catch {
    return undefined;
  }
  const isBlankLine = (fields: string[]) =>
    fields.length === 1 && fields[0] !== '' && trimText(fields[0]!) === '';
  return all
    .slice(all.findIndex((fields) => !isBlankRecord(fields)) + 1)
    .filter((fields) => !isBlankLine(fields));
}

/** Feeds with a byte order mark, blank lines and either line end; and bytes that hardly resemble a feed. */
const anyFile = fc.oneof(
  fc
    .tuple(fc.constantFrom('', '\uFEFF'), fc.constantFrom('', '\n', '\r\n \n\n'), anyFeed, fc.boolean())
    .map(([mark, blank, feed, isDoubled]) =>
      Buffer.from(mark + blank + (isDoubled ? feed.replaceAll('\n', '\n\n') : feed)),
    ),
  anyBytes,
);

it('the bytes at the offset of a record are the record, and parse to its row, in any file and any chunks', async () => {
  await fc.assert(
    fc.asyncProperty(anyFile, fc.integer({ min: 1, max: 40 }), async (bytes, chunkBytes) => {
      const read = await readFile(bytes, chunkBytes);
      if (!read) return;
      const { header, records, isWhole } = read;
      const { delimiter } = header;
      const { ranges, store } = storeOf(bytes);
      const parsed: string[][] = [];
      for (const record of records) {
        const sku = trimText(record.fields.at(-1)!);
        const source = await readSource(store, locationIn(bytes, header, record.offset, sku));
        expect(source).toEqual({
          feed_id: 'FD00001',
          file_sha256: sha256(bytes).toString('hex'),
          record_sha256: sha256(record.bytes).toString('hex'),
          record_base64: record.bytes.toString('base64'),
          record_text: record.bytes.toString(),
          encoding: 'utf-8',
        });
        const found = Buffer.from(source.record_base64!, 'base64');
        const rows: string[][] = parse(found, { ...recordOptions, delimiter });
        parsed.push(...rows);
      }
      expect(ranges).toHaveLength(records.length);
      expect(parsed).toEqual(records.map(({ fields }) => fields));
      if (isWhole) expect(parsed).toEqual(rowsOf(bytes, delimiter));
    }),
    casesFor('offsets of records', 200),
  );
});

const head = 'sku,product_name\n';

it.each([
  ['another sku', head.length, 'B'],
  ['a place within another record', head.length + 2, 'A'],
])('returns no record of %s', async (_what, offset, sku) => {
  const bytes = Buffer.from(`${head}A,Tent\nB2,Lamp\n`);
  const { store } = storeOf(bytes);

  const source = await readSource(store, locationIn(bytes, strictHeader(bytes), offset, sku));

  expect(source).toMatchObject({ record_sha256: null, record_base64: null, record_text: null });
});

it('requests no more than the maximum size of a record', async () => {
  const bytes = Buffer.from(`${head}A,Tent\n${'x'.repeat(recordBytes)}`);
  const { ranges, store } = storeOf(bytes, 1024);

  const source = await readSource(store, locationIn(bytes, strictHeader(bytes), head.length));

  expect(source.record_text).toBe('A,Tent');
  expect(ranges).toEqual([{ start: head.length, end: head.length + recordBytes - 1 }]);
});

it.each(['\n', '\r\n'])('reads a record of the maximum size with the line end %j', async (end) => {
  const record = `A,${'x'.repeat(recordBytes - 2 - end.length)}`;
  const bytes = Buffer.from(`${head}${record}${end}B,Lamp\n`);
  const { store } = storeOf(bytes, 64 * 1024);

  const source = await readSource(store, locationIn(bytes, strictHeader(bytes), head.length));

  expect(source.record_sha256).toBe(sha256(Buffer.from(record)).toString('hex'));
});

it.each([
  ['a file that is shorter now', { size: 200, offset: head.length }],
  ['an offset behind the end', { size: undefined, offset: 1_000 }],
])('returns no record of %s', async (_what, { size, offset }) => {
  const bytes = Buffer.from(`${head}A,"Tent`);
  const location = locationIn(bytes, strictHeader(head), offset);
  const { store } = storeOf(bytes);

  const source = await readSource(store, { ...location, size_bytes: size ?? bytes.length });

  expect(source).toMatchObject({ record_sha256: null, record_base64: null, record_text: null });
});
