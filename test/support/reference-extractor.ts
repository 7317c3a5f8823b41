import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import type { Delimiter } from '../../src/feed-format/delimiter';
import type { FeedRecord, RecordPlace } from '../../src/feed-format/read/extract';
import type { FeedHeader } from '../../src/feed-format/read/header-columns';
import { isBlankRecord, recordOptions } from '../../src/feed-format/read/header-names';
import { UnclosedQuote } from '../../src/feed-format/read/scan-record';
import { trimText } from '../../src/feed-format/text';
import { recordBytes } from '../../src/feed-format/columns';

/** A record as plain data, to be stored and compared. */
export interface PlainRecord extends RecordPlace {
  fields: string[];
  misquoted: boolean;
}

/** A record that is too long: only its position, and its sku if known. */
export interface LongRecord extends RecordPlace {
  tooLong: true;
  sku: string | undefined;
}

/** Callbacks of an extractor, for a feed with the sku at `skuPosition`. */
export function copyRecord(record: FeedRecord, skuPosition = 0): PlainRecord | LongRecord {
  const { line, lastLine, row, misquoted, tooLong } = record;
  if (tooLong) return { line, lastLine, row, tooLong, sku: record.field(skuPosition) };
  const fields = record.firstFields(Infinity);
  if (fields.length !== record.fieldCount)
    throw new Error(`${record.fieldCount} fields, not ${fields.length}`);
  return { line, lastLine, row, misquoted, fields };
}

/** Builds a record with these fields. */
export function recordOf(
  fields: readonly string[],
  { line, lastLine, row }: RecordPlace,
  misquoted = false,
): FeedRecord {
  return {
    line,
    lastLine,
    row,
    misquoted,
    tooLong: false,
    repeatsHeader: false,
    fieldCount: fields.length,
    field: (position) => fields[position],
    firstFields: (max) => fields.slice(0, max),
  };
}

/** Number of parsed texts that are kept before they are released: moving the rest has a cost. */
const readTextsKept = 64;

/** The reference for records: csv-parse as a stream. The service's extractor must agree with it on everything except time. */
export class ReferenceExtractor {
  private readonly raw = new RawWindow();
  private headerSeen = false;
  private row = 0;
  /** The line of the next record, without preceding blank lines. */
  private line = 1;
  private blankLinesSeen = 0;
  private parserLine = 0;
  /** Offset in the file of the first byte after the current record. */
  private recordEnd = 0;

  /**
   * @param onHeader - called with the position of the header, before the first record
   * @param onRecord - called with every record; `raw` returns its bytes in the file, without the line end
   */
  constructor(
    private readonly header: FeedHeader,
    private readonly onHeader: (place: RecordPlace, raw: RawRecord) => string | null,
    private readonly onRecord: (record: PlainRecord | LongRecord, raw: RawRecord) => string | null,
    private readonly recordBytesMax: number = recordBytes,
  ) {}

  /**
   * Parses the bytes of the file and yields the results of the callbacks, except nulls.
   * @throws UnclosedQuote, after everything before the quote; any error of `source`
   */
  async *read(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
    // Emitted but unread records: a failed stream drops them.
    const unread: string[] = [];
    let readCount = 0;
    const parser = parse({
      ...recordOptions,
      bom: true,
      delimiter: this.header.delimiter,
      // The parser emits objects only.
      on_record: (fields: string[], info) => {
        const text = this.take(fields, info);
        if (text === null) return null;
        unread.push(text);
        return [text];
      },
    });
    const piped = pipeline(this.watch(source), parser);
    // The reader of the parser gets its error.
    piped.catch(() => undefined);
    try {
      for await (const [text] of parser as AsyncIterable<[string]>) {
        // Rarely, because the rest is moved; but not only after everything is read: a reader that lags behind never gets there.
        if (++readCount === readTextsKept) unread.splice(0, readCount);
        readCount %= readTextsKept;
        yield text;
      }
    } catch (error) {
      yield* unread.slice(readCount);
      throw this.explain(error);
    }
  }

  /** Stores the chunks of unfinished records. */
  private async *watch(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.raw.append(chunk);
      yield chunk;
    }
  }

  /** Translates an error of the parser into one of the feed; other errors are unchanged. */
  private explain(error: unknown): unknown {
    if (!(error instanceof CsvError)) return error;
    this.skipBlankLines((error as CsvError & { empty_lines: number }).empty_lines);
    switch (error.code) {
      case 'CSV_QUOTE_NOT_CLOSED':
        return new UnclosedQuote(`The quote that opens in the record at line ${this.line} is never closed.`);
      default:
        return error;
    }
  }

  /** @param seen - number of blank lines that the parser has read so far */
  private skipBlankLines(seen: number): void {
    this.line += seen - this.blankLinesSeen;
    this.blankLinesSeen = seen;
  }

  private take(fields: string[], info: { lines: number; empty_lines: number; bytes: number }): string | null {
    this.skipBlankLines(info.empty_lines);
    const line = this.line;
    // The parser counts a CRLF inside quotes twice, so its count only shows that there may be line breaks.
    const lastLine = line + (info.lines - this.parserLine > 1 ? countLineBreaks(fields) : 0);
    this.line = lastLine + 1;
    this.parserLine = info.lines;
    this.recordEnd = info.bytes;
    const text = this.emit(line, lastLine, fields);
    this.raw.release(info.bytes);
    return text;
  }

  /** Passes the record on, unless it is a blank line. */
  private emit(line: number, lastLine: number, fields: string[]): string | null {
    if (!this.headerSeen) {
      this.headerSeen = !isBlankRecord(fields);
      // A byte order mark is special only at the start of the file; elsewhere it is a character of its cell.
      const raw = () => this.rawText().replace(/^\uFEFF(?:\r?\n)*/, '');
      return this.headerSeen ? this.onHeader({ line, lastLine, row: 0 }, raw) : null;
    }
    const bytes = this.raw.slice(this.recordEnd).toString('latin1');
    if (bytes.replace(/^(?:\r?\n)+/, '').length > this.recordBytesMax) {
      const place = { line, lastLine, row: ++this.row };
      return this.onRecord({ ...place, tooLong: true, sku: fields[this.header.positions.sku!] }, () => '');
    }
    // A line of white space is a blank line; a record of one empty field can only be an empty pair of quotes.
    if (fields.length === 1 && fields[0] !== '' && trimText(fields[0]!) === '') return null;
    const misquoted = hasTextAfterClosingQuote(this.raw.slice(this.recordEnd), this.header.delimiter);
    this.row++;
    return this.onRecord({ line, lastLine, row: this.row, fields, misquoted }, this.rawText);
  }

  /** The raw text of the current record, without preceding blank lines and its line end. */
  private readonly rawText: RawRecord = () =>
    this.raw
      .slice(this.recordEnd)
      .toString('utf8')
      .replace(/^(?:\r?\n)+|\r?\n$/g, '');
}

/** Returns the raw text of a record. To be called while the record is processed. */
export type RawRecord = () => string;

/** The bytes of the file after the last finished record. */
class RawWindow {
  private chunks: Buffer[] = [];
  /** Offsets in the file of the first chunk's first byte, and of the first unreleased byte. */
  private chunkStart = 0;
  start = 0;
  /** Offset of the first byte that has not arrived. */
  end = 0;

  append(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.end += chunk.length;
  }

  /** The bytes from the last release to the offset `end`. Most records lie within one chunk, and are not copied. */
  slice(end: number): Buffer {
    const parts: Buffer[] = [];
    let chunkStart = this.chunkStart;
    for (const chunk of this.chunks) {
      if (chunkStart >= end) break;
      const from = Math.max(this.start - chunkStart, 0);
      parts.push(chunk.subarray(from, Math.min(end - chunkStart, chunk.length)));
      chunkStart += chunk.length;
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  release(end: number): void {
    this.start = end;
    while (this.chunks[0] && this.chunkStart + this.chunks[0].length <= end) {
      this.chunkStart += this.chunks.shift()!.length;
    }
  }
}

function countLineBreaks(fields: string[]): number {
  return fields.reduce((count, field) => count + field.split('\n').length - 1, 0);
}

/**
 * Whether text follows a closing quote in the raw record. The parser, which must be lenient with quotes inside unquoted fields,
 * accepts this too: `"a"b` and `"""a""b"` have the same result. So each record is scanned again here.
 */
function hasTextAfterClosingQuote(record: Buffer, delimiter: Delimiter): boolean {
  const delimiterByte = delimiter.charCodeAt(0);
  let at = 0;
  // Blank lines before the record.
  while (record[at] === lineFeed || (record[at] === carriageReturn && record[at + 1] === lineFeed)) at++;
  for (;;) {
    if (record[at] === quote) {
      at = closingQuote(record, at) + 1;
      if (at === 0 || at === record.length) return false;
      const isLineEnd =
        record[at] === lineFeed || (record[at] === carriageReturn && record[at + 1] === lineFeed);
      if (isLineEnd) return false;
      if (record[at] !== delimiterByte) return true;
    } else {
      at = record.indexOf(delimiterByte, at);
      if (at === -1) return false;
    }
    at++;
  }
}

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Finds the closing quote of the value that opens at `open`; -1 if there is none. */
function closingQuote(record: Buffer, open: number): number {
  let at = record.indexOf(quote, open + 1);
  while (at !== -1 && record[at + 1] === quote) at = record.indexOf(quote, at + 2);
  return at;
}
