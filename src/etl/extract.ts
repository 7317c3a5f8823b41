import type { Transform } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { limits } from '../config';
import { FeedFailure } from './feed-failure';
import { isBlankRecord, recordOptions, type Delimiter, type FeedHeader } from './header';
import { trimText } from './text';
import type { FeedRecord } from './transform';

/**
 * Parses the bytes of a feed into records, the header excluded. The parser keeps no more than one record and one chunk
 * in memory.
 */
export class RecordExtractor {
  private readonly raw = new RawWindow();
  private headerSeen = false;
  /** The line on which the next record starts, blank lines before it not counted. */
  private line = 1;
  private blankLinesSeen = 0;
  private parserLine = 1;

  constructor(
    private readonly header: FeedHeader,
    private readonly onRecord: (record: FeedRecord) => string | null,
  ) {}

  /** Passes the file's chunks on to `parser`, and keeps those whose records are not finished yet. */
  async *watch(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.raw.append(chunk);
      yield chunk;
    }
  }

  /** A stream that takes the chunks from `watch` and emits what `onRecord` returns, each in an array, nulls left out. */
  parser(): Transform {
    return parse({
      ...recordOptions,
      delimiter: this.header.delimiter,
      max_record_size: limits.recordBytes,
      on_record: (fields: string[], info) => this.take(fields, info),
    });
  }

  /** A failure of the parser in terms of the feed; any other error as it is. */
  explain(error: unknown): unknown {
    if (!(error instanceof CsvError)) return error;
    this.skipBlankLines((error as CsvError & { empty_lines: number }).empty_lines);
    switch (error.code) {
      case 'CSV_QUOTE_NOT_CLOSED':
        return new FeedFailure(
          `The quote that opens in the record at line ${this.line} is never closed.`,
          error,
        );
      case 'CSV_MAX_RECORD_SIZE':
        return new FeedFailure(
          `The record at line ${this.line} is larger than ${limits.recordBytes} bytes; a quote may have been left open.`,
          error,
        );
      default:
        return error;
    }
  }

  /** @param seen - how many blank lines the parser has met so far */
  private skipBlankLines(seen: number): void {
    this.line += seen - this.blankLinesSeen;
    this.blankLinesSeen = seen;
  }

  private take(
    fields: string[],
    info: { lines: number; empty_lines: number; bytes: number },
  ): [string] | null {
    this.skipBlankLines(info.empty_lines);
    const line = this.line;
    // The parser counts a CRLF inside quotes twice, so its count only tells that there may be line breaks.
    this.line += 1 + (info.lines - this.parserLine > 1 ? countLineBreaks(fields) : 0);
    this.parserLine = info.lines;
    const raw = fields.some(startsWithQuote) ? this.raw.slice(info.bytes) : undefined;
    this.raw.release(info.bytes);

    if (!this.headerSeen) {
      this.headerSeen = !isBlankRecord(fields);
      return null;
    }
    // A line of white space is a blank line; a record of one empty field can only be an empty pair of quotes.
    if (fields.length === 1 && fields[0] !== '' && trimText(fields[0]!) === '') return null;
    const misquoted =
      raw !== undefined && hasTextAfterClosingQuote(raw.toString('latin1'), this.header.delimiter);
    const text = this.onRecord({ line, fields, misquoted });
    return text === null ? null : [text];
  }
}

/** The bytes of the file from the end of the last finished record on. */
class RawWindow {
  private chunks: Buffer[] = [];
  /** Offset in the file of the first chunk's first byte, and of the first byte that is not released. */
  private chunkStart = 0;
  private start = 0;

  append(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  /** The bytes from the last release up to the offset `end`. */
  slice(end: number): Buffer {
    return Buffer.concat(this.chunks).subarray(this.start - this.chunkStart, end - this.chunkStart);
  }

  release(end: number): void {
    this.start = end;
    while (this.chunks[0] && this.chunkStart + this.chunks[0].length <= end) {
      this.chunkStart += this.chunks.shift()!.length;
    }
  }
}

function startsWithQuote(field: string): boolean {
  return field.charCodeAt(0) === 0x22;
}

function countLineBreaks(fields: string[]): number {
  return fields.reduce((count, field) => count + field.split('\n').length - 1, 0);
}

/**
 * Whether text follows a closing quote in the raw record. The parser, told to be lenient with quotes inside unquoted
 * fields, lets this pass too: `"a"b` and `"""a""b"` come out alike. So records in which a value starts with a quote are
 * read once more here.
 */
export function hasTextAfterClosingQuote(record: string, delimiter: Delimiter): boolean {
  const unquoted = `[^${delimiter}\\n]*`;
  const quoted = `"[^"]*(?:""[^"]*)*"(?<after>${unquoted})`;
  const field = new RegExp(`[\\r\\n]*(?:${quoted}|${unquoted})(?:${delimiter}|\\n|$)`, 'y');
  while (field.lastIndex < record.length) {
    const after = field.exec(record)?.groups?.after;
    if (after !== undefined && after !== '' && after !== '\r') return true;
  }
  return false;
}
