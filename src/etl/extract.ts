import { CsvError, parse } from 'csv-parse/sync';
import { limits } from '../limits';
import { asUtf8 } from './encoding';
import { FeedFailure } from './feed-failure';
import { isBlankRecord, recordOptions, type Delimiter, type FeedHeader } from './header';
import type { RecordPlace } from './row-issues';
import { lineEndLength, RecordScanner } from './scan-record';
import { trimText } from './text';
import type { FeedRecord } from './transform';

/** A record while it is at hand: within the call that it is given to. */
export interface RecordAtHand extends RecordPlace {
  /** Its bytes as they stand in the file, in UTF-8, without the line end. */
  readonly bytes: Buffer;
  /** Its fields; to be kept, if need be. Costs more than the rest. */
  read(): FeedRecord;
}

/**
 * Splits the bytes of a feed into records, the header excluded. csv-parse says what a record is; where there can be no
 * doubt, a scanner finds the same borders in a tenth of the time, so that the parser is only asked for records whose
 * quotes are out of order. Keeps no more than one record and one chunk in memory.
 */
export class RecordExtractor {
  private readonly scanner: RecordScanner;
  private readonly atHand: ScannedRecord;
  /** Used again for every chunk, and as large as a chunk and the record before it have been. */
  private buffer: Buffer = Buffer.alloc(0);
  /** What it holds. */
  private bytes: Buffer = this.buffer;
  /** Where the next record starts in them, blank lines before it not skipped yet. */
  private start = 0;
  private headerSeen = false;
  private row = 0;
  /** The line on which it starts. */
  private line = 1;

  /**
   * @param onHeader - told where the header is and its text as it stands in the file, before the first record
   * @param onRecord - told every record
   */
  constructor(
    private readonly header: FeedHeader,
    private readonly onHeader: (place: RecordPlace, text: string) => string | null,
    private readonly onRecord: (record: RecordAtHand) => string | null,
  ) {
    this.scanner = new RecordScanner(header.delimiter);
    this.atHand = new ScannedRecord(this.scanner);
  }

  /**
   * Splits the bytes of the file and gives what the callbacks return, nulls left out.
   * @throws FeedFailure when the file is structurally broken, after everything before that; whatever `source` throws
   */
  async *read(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
    for await (const chunk of asUtf8(source)) {
      this.append(chunk);
      yield* this.take(false);
    }
    yield* this.take(true);
  }

  /** Puts the chunk behind what is left of those before it. */
  private append(chunk: Buffer): void {
    const rest = this.bytes.subarray(this.start);
    const length = rest.length + chunk.length;
    if (length > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(2 * length);
    // Within one buffer, it moves.
    rest.copy(this.buffer);
    chunk.copy(this.buffer, rest.length);
    this.bytes = this.buffer.subarray(0, length);
    this.start = 0;
  }

  /** Takes the records that are whole by now. @param isEnd - whether there are no more bytes */
  private *take(isEnd: boolean): Generator<string> {
    while (this.skipBlankLines(isEnd)) {
      const found = this.scanner.scan(this.bytes, this.start, isEnd);
      if (found === 'incomplete') break;
      if (found === 'regular') {
        const text = this.takeRegular();
        if (text !== null) yield text;
      } else if (!(yield* this.takeIrregular(isEnd))) break;
    }
    this.checkRecordSize(this.start, this.bytes.length);
  }

  /** @returns whether something follows that is no line end */
  private skipBlankLines(isEnd: boolean): boolean {
    const { bytes } = this;
    for (;;) {
      const length = lineEndLength(bytes, this.start);
      if (length === 0) break;
      this.line++;
      this.start += length;
    }
    const isHalfLineEnd = this.start === bytes.length - 1 && bytes[this.start] === carriageReturn;
    return this.start < bytes.length && (isEnd || !isHalfLineEnd);
  }

  private takeRegular(): string | null {
    const { scanner, line } = this;
    this.checkRecordSize(this.start, scanner.next);
    const lastLine = line + scanner.lineBreaks;
    this.line = lastLine + 1;
    this.start = scanner.next;
    if (this.headerSeen && scanner.fieldCount > 1) {
      this.atHand.line = line;
      this.atHand.lastLine = lastLine;
      this.atHand.row = ++this.row;
      return this.onRecord(this.atHand);
    }
    return this.hand(scanner.record(), { line, lastLine, fields: scanner.fields(), misquoted: false });
  }

  /** Has the parser read from here, some records at a time. @returns false when it needs more bytes for the first one */
  private *takeIrregular(isEnd: boolean): Generator<string, boolean> {
    const { bytes, start: offset } = this;
    const { records, failure } = parseRecords(bytes.subarray(offset), this.header.delimiter);
    for (const { fields, end } of records) {
      // Unless more bytes follow, its last field may go on.
      if (!isEnd && offset + end >= bytes.length) break;
      this.skipBlankLines(isEnd);
      this.checkRecordSize(this.start, offset + end);
      const record = withoutLineEnd(bytes.subarray(this.start, offset + end));
      const { line } = this;
      const lastLine = line + countLineBreaks(fields);
      const misquoted =
        fields.some(startsWithQuote) && hasTextAfterClosingQuote(record, this.header.delimiter);
      this.line = lastLine + 1;
      this.start = offset + end;
      const text = this.hand(record, { line, lastLine, fields, misquoted });
      if (text !== null) yield text;
    }
    if (failure && isEnd) {
      this.skipBlankLines(isEnd);
      throw this.explain(failure);
    }
    return this.start > offset;
  }

  /** Hands a record on, unless it is a blank line. */
  private hand(bytes: Buffer, record: Omit<FeedRecord, 'row'>): string | null {
    const { fields } = record;
    if (!this.headerSeen) {
      this.headerSeen = !isBlankRecord(fields);
      return this.headerSeen ? this.onHeader({ ...record, row: 0 }, bytes.toString('utf8')) : null;
    }
    // A line of white space is a blank line; a record of one empty field can only be an empty pair of quotes.
    if (fields.length === 1 && fields[0] !== '' && trimText(fields[0]!) === '') return null;
    const whole = { ...record, row: ++this.row };
    return this.onRecord({ ...whole, bytes, read: () => whole });
  }

  /**
   * A row of commas would be an array of millions of fields, and a quote left open would take the rest of the file.
   * @throws FeedFailure
   */
  private checkRecordSize(start: number, end: number): void {
    if (end - start <= limits.recordBytes) return;
    throw new FeedFailure(
      `The record at line ${this.line} is larger than ${limits.recordBytes} bytes; a quote may have been left open.`,
    );
  }

  /** A failure of the parser in terms of the feed; any other error as it is. */
  private explain(error: CsvError): unknown {
    if (error.code !== 'CSV_QUOTE_NOT_CLOSED') return error;
    return new FeedFailure(
      `The quote that opens in the record at line ${this.line} is never closed.`,
      false,
      error,
    );
  }
}

/** The record that the scanner has found last. One object for all of them: a feed has millions. */
class ScannedRecord implements RecordAtHand {
  line = 0;
  lastLine = 0;
  row = 0;

  constructor(private readonly scanner: RecordScanner) {}

  get bytes(): Buffer {
    return this.scanner.record();
  }

  read(): FeedRecord {
    const { line, lastLine, row } = this;
    return { line, lastLine, row, fields: this.scanner.fields(), misquoted: false };
  }
}

/** A record as the parser reads it; `end` is the offset of the first byte after it. */
interface ParsedRecord {
  fields: string[];
  end: number;
}

/** The first records in the bytes, as if these were all; and why there are no more, if that is so. */
function parseRecords(bytes: Buffer, delimiter: Delimiter): { records: ParsedRecord[]; failure?: CsvError } {
  const records: ParsedRecord[] = [];
  try {
    parse(bytes, {
      ...recordOptions,
      // Only the beginning of a file can have one.
      bom: false,
      delimiter,
      to: limits.recordsParsedAtOnce,
      on_record: (fields: string[], { bytes: end }) => {
        records.push({ fields, end });
        return null;
      },
    });
    return { records };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, failure: error };
  }
}

function withoutLineEnd(record: Buffer): Buffer {
  if (record.at(-1) !== lineFeed) return record;
  return record.subarray(0, record.at(-2) === carriageReturn ? -2 : -1);
}

function startsWithQuote(field: string): boolean {
  return field.charCodeAt(0) === quote;
}

function countLineBreaks(fields: string[]): number {
  return fields.reduce((count, field) => count + field.split('\n').length - 1, 0);
}

/**
 * Whether text follows a closing quote in the raw record. The parser, told to be lenient with quotes inside unquoted
 * fields, lets this pass too: `"a"b` and `"""a""b"` come out alike. So records in which a value starts with a quote are
 * read once more here.
 */
function hasTextAfterClosingQuote(record: Buffer, delimiter: Delimiter): boolean {
  const delimiterByte = delimiter.charCodeAt(0);
  let at = 0;
  for (;;) {
    if (record[at] === quote) {
      at = closingQuote(record, at) + 1;
      if (at === 0 || at === record.length) return false;
      if (lineEndLength(record, at) > 0) return false;
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

/** Where the quoted value that opens at `open` closes; -1 when it does not. */
function closingQuote(record: Buffer, open: number): number {
  let at = record.indexOf(quote, open + 1);
  while (at !== -1 && record[at + 1] === quote) at = record.indexOf(quote, at + 2);
  return at;
}
