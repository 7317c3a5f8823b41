import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { CsvError, parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { decode, encode } from 'iconv-lite';
import type { Encoding } from '../../src/feed-format/format-definition';
import { FileDecoder, UndecodableText } from '../../src/feed-format/read/decode-text';
import { canEncode, encodeText } from '../../src/feed-format/write/encode-text';
import { findBuiltInFormat } from '../../src/feed-format/built-in-formats';
import { RecordExtractor, type ExtractedRecord } from '../../src/feed-format/read/extract';
import { readHeader } from '../../src/feed-format/read/header';
import type { FeedHeader } from '../../src/feed-format/read/header-columns';
import { isBlankRecord, recordOptions } from '../../src/feed-format/read/header-names';
import { UnclosedQuote } from '../../src/feed-format/read/scan-record';
import { MalformedGzip, unpack } from '../../src/feed-format/read/unpack';
import { trimText } from '../../src/feed-format/text';
import { anyBytes } from '../support/arbitrary';
import { casesFor } from '../support/fuzz';
import { chunksOf } from '../support/read-by-format';

/** Encodings with a second implementation: the platform's decoder, or the library's one-shot decoder if the platform differs. */
const references: [Encoding, (bytes: Buffer) => string][] = [
  ...(['utf-8', 'utf-16le', 'utf-16be'] as const).map((encoding): [Encoding, (bytes: Buffer) => string] => [
    encoding,
    (bytes) => new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes),
  ]),
  ...(
    [
      'windows-1250',
      'windows-1251',
      'windows-1252',
      'windows-1253',
      'windows-1254',
      'windows-1255',
      'windows-1256',
      'windows-1257',
      'windows-874',
      'iso-8859-1',
      'iso-8859-2',
      'iso-8859-15',
      'shift_jis',
      'euc-jp',
      'euc-kr',
      'gb18030',
      'big5',
    ] as const
  ).map((encoding): [Encoding, (bytes: Buffer) => string] => [
    encoding,
    (bytes) => {
      const text = decode(bytes, encoding, { stripBOM: false });
      if (text.includes('\ufffd') || !text.isWellFormed()) throw new TypeError('no character');
      return text;
    },
  ]),
];

/** Decodes bytes in chunks of these sizes. @returns undefined if they are not text */
function decodeChunks(bytes: Buffer, sizes: number[], encoding: Encoding) {
  const decoder = new FileDecoder({ encoding }, true);
  try {
    const parts = chunksOf(bytes, ...sizes).map((chunk) => Buffer.from(decoder.write(chunk)));
    return { text: Buffer.concat([...parts, decoder.end()]), offsets: decoder.offsets };
  } catch (error) {
    if (!(error instanceof UndecodableText)) throw error;
    return undefined;
  }
}

function decodeAtOnce(bytes: Buffer, decodeAll: (bytes: Buffer) => string): string | undefined {
  try {
    return decodeAll(bytes);
  } catch (error) {
    // The TypeError of the platform is of another realm than the one of the tests.
    if ((error as Error).name !== 'TypeError') throw error;
    return undefined;
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      'a',
      ',',
      ';',
      '\n',
      '\r',
      '"',
      '\0',
      'é',
      'ß',
      '€',
      'ž',
      'ж',
      '茶',
      '한',
      '臺',
      'ア',
      '\u{20000}',
      '😀',
    ),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  ),
  maxLength: 40,
});
const damage = fc.option(fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 })), { freq: 2 });

function damaged(bytes: Buffer, how: [at: number, byte: number] | null): Buffer {
  const changed = Buffer.from(bytes);
  if (how && changed.length > 0) changed[how[0] % changed.length] = how[1];
  return changed;
}

it('texts of any encoding, in chunks of any size, equal the result of a second decoder, and each line maps to its bytes', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...references),
      anyText,
      damage,
      sizes,
      ([encoding, decodeAll], text, how, chunks) => {
        const bytes = damaged(encode(text, encoding, { addBOM: false }), how);

        const decoded = decodeChunks(bytes, chunks, encoding);

        const expected = decodeAtOnce(bytes, decodeAll);
        expect({ encoding, text: decoded?.text.toString() }).toEqual({ encoding, text: expected });
        if (!decoded || expected === undefined) return;
        const lines = [...decoded.text.toString().matchAll(/[\r\n]/g)].map(({ index }) => index + 1);
        for (const end of lines) {
          const before = decoded.text.toString().slice(0, end);
          const source = decoded.offsets.sourceOf(Buffer.byteLength(before));
          expect(decodeAll(bytes.subarray(0, source))).toBe(before);
        }
      },
    ),
    casesFor('the decoders', 200),
  );
});

it('a text that an encoding can represent is read back as it was written, and no other text is written', () => {
  fc.assert(
    fc.property(fc.constantFrom(...references), anyText, sizes, ([encoding], text, chunks) => {
      fc.pre(text.isWellFormed());
      const bytes = encodeText(text, encoding);

      const readBack = decodeChunks(bytes, chunks, encoding)?.text.toString();

      expect({ encoding, text, isHeld: canEncode(text, encoding) }).toEqual({
        encoding,
        text,
        isHeld: readBack === text,
      });
    }),
    casesFor('the encoders', 200),
  );
});

async function unpackChunks(bytes: Buffer, chunks: number[]): Promise<Buffer | undefined> {
  async function* source(): AsyncGenerator<Buffer> {
    for (const chunk of chunksOf(bytes, ...chunks)) {
      await Promise.resolve();
      yield chunk;
    }
  }
  const parts: Buffer[] = [];
  try {
    for await (const part of unpack(source(), true)) parts.push(part);
    return Buffer.concat(parts);
  } catch (error) {
    if (!(error instanceof MalformedGzip)) throw error;
    return undefined;
  }
}

function unpackAtOnce(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}

it('gzip files of any members, damaged or not, in chunks of any size, are unpacked as by the platform, or rejected', async () => {
  const member = fc.tuple(fc.string({ maxLength: 60 }), fc.integer({ min: 0, max: 9 }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(member, { minLength: 1, maxLength: 4 }),
      damage,
      fc.option(fc.nat(80), { freq: 2 }),
      sizes,
      async (members, how, cut, chunks) => {
        const whole = Buffer.concat(members.map(([text, level]) => gzipSync(text, { level })));
        const bytes = damaged(cut === null ? whole : whole.subarray(0, Math.max(1, whole.length - cut)), how);

        const unpacked = await unpackChunks(bytes, chunks);

        const isWhole = bytes.equals(whole);
        if (isWhole) expect(unpacked?.toString()).toBe(members.map(([text]) => text).join(''));
        // The platform ignores data after the last member, so it may unpack files that are rejected here.
        if (unpacked) expect(unpackAtOnce(bytes)?.equals(unpacked)).toBe(true);
        if (!unpackAtOnce(bytes)) expect(unpacked).toBeUndefined();
      },
    ),
    casesFor('the unpacker', 200),
  );
});

/** Extracts the cells of a text in chunks of these sizes. @returns undefined if a quote stays open */
async function extractCells(
  text: Buffer,
  header: FeedHeader,
  chunks: number[],
): Promise<string[][] | undefined> {
  const onRecord = (record: ExtractedRecord) => record.firstFields(Infinity);
  const extractor = new RecordExtractor<string[]>(header, () => null, onRecord);
  const records: string[][] = [];
  try {
    for await (const cells of extractor.read(Readable.from(chunksOf(text, ...chunks)))) records.push(cells);
    return records;
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    return undefined;
  }
}

/** Options of csv-parse for the syntax of a format: a line may end in CR alone, and blanks may follow a closing quote. */
const looseRecordOptions = { ...recordOptions, record_delimiter: ['\r\n', '\n', '\r'], rtrim: true };

/** Parses the whole text with csv-parse, the header included. @returns undefined if a quote stays open */
function parseCells(text: Buffer, delimiter: string, isTrimmed: boolean): string[][] | undefined {
  try {
    return parse(text, { ...looseRecordOptions, rtrim: isTrimmed, delimiter });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    if (error.code === 'CSV_QUOTE_NOT_CLOSED') return undefined;
    // With trimmed blanks after a closing quote, csv-parse rejects any other text there; a text with both is not compared.
    if (!isTrimmed) throw error;
    fc.pre(!/"[ \t]/.test(text.toString()));
    return parseCells(text, delimiter, false);
  }
}

it('csv-parse and the extractor read the same records of any text by a format, in chunks of any size', async () => {
  const { definition } = findBuiltInFormat('standard')!;
  await fc.assert(
    fc.asyncProperty(anyBytes, sizes, async (text, chunks) => {
      const header = readHeader(text, definition);
      if ('problem' in header) return;
      const rest = text.subarray(header.reading.format.preamble.bytes);
      const parsed = parseCells(rest, header.delimiter, true);

      const records = await extractCells(text, header, chunks);

      const isBlankLine = (cells: string[]) => cells.length === 1 && trimText(cells[0]!) === '';
      // csv-parse trims all blanks at the end of cells without quotes.
      const comparable = (all: string[][] | undefined) =>
        all?.filter((cells) => !isBlankLine(cells)).map((cells) => cells.map((cell) => cell.trimEnd()));
      expect(comparable(records)).toEqual(
        comparable(parsed?.slice(parsed.findIndex((cells) => !isBlankRecord(cells)) + 1)),
      );
    }),
    casesFor('the extractor of files with a format', 200),
  );
});
