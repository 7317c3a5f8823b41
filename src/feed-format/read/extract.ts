import { recordBytes } from '../columns';
import { comparable, trimText } from '../text';
import type { ByteWindow } from './byte-window';
import type { FeedHeader } from './header-columns';
import { isBlankRecord } from './header-names';
import { shiftedOffsets, sourceEndOf, type TextOffsets } from './line-offsets';
import { lineEndLength, RecordScanner, UnclosedQuote } from './scan-record';

export interface RecordPlace {
  /** First and last line; the first line of the file is 1. */
  line: number;
  lastLine: number;
  /** Number of the row; the header is 0. */
  row: number;
}

/** A record of a feed. Its texts may be slices that retain a larger text. */
export interface FeedRecord extends RecordPlace {
  readonly fieldCount: number;
  /** Whether text follows a closing quote. */
  readonly misquoted: boolean;
  /** Whether it exceeds the maximum size; then no field is available except, perhaps, the sku. */
  readonly tooLong: boolean;
  /** Whether its cells equal the header row. */
  readonly repeatsHeader: boolean;
  /** Returns the field at a position of the header; undefined if the record has fewer. */
  field(position: number): string | undefined;
  /** Returns the first fields, also of unknown columns. Slower. */
  firstFields(max: number): string[];
}

/** A record with its bytes. The extractor reuses one object: it is valid only during the callback. */
export interface ExtractedRecord extends FeedRecord {
  /** Raw bytes in UTF-8, without the line end; empty when it is too long. */
  readonly bytes: Buffer;
  /** Offset of the record in the unpacked file. */
  readonly offset: number;
  /** Returns its raw bytes in the unpacked file, without the line end; for encodings other than UTF-8, only if these are kept. */
  sourceBytes(): Buffer;
}

interface TextSource {
  /** Offsets of the records in the unpacked file. */
  offsets: TextOffsets;
  /** The last bytes of the unpacked file, if they are kept. */
  window?: ByteWindow;
}

/**
 * Splits the text of a feed into records, header excluded.
 * At most one record and one chunk are in memory; of a record that is too long, only its place and its sku.
 */
export class RecordExtractor<T> {
  private readonly scanner: RecordScanner;
  private readonly current: ScannedRecord;
  /** Reused for every chunk; grows to the largest chunk plus unfinished record. */
  private buffer: Buffer = Buffer.alloc(0);
  /** Used part of the buffer. */
  private bytes: Buffer = this.buffer;
  /** Offset of `bytes` in the file. */
  private offset = 0;
  /** Start of the current record, or of blank lines before the next one, in `bytes`. */
  private start = 0;
  private isWithinRecord = false;
  private headerSeen: boolean;
  private row = 0;
  /** First line of the current record. */
  private line = 1;
  /** Offset of the current record in the unpacked file. */
  private sourceOffset = 0;

  /**
   * @param onHeader - called before the first record, with the place and the raw text of the header
   * @param onRecord - called for every record
   * @param from - absent: the text is the file
   * @param recordBytesMax - maximum size of a record, line end included
   */
  constructor(
    private readonly header: FeedHeader,
    private readonly onHeader: (place: RecordPlace, text: string) => T | null,
    private readonly onRecord: (record: ExtractedRecord) => T | null,
    private readonly from: TextSource = { offsets: shiftedOffsets(0) },
    private readonly recordBytesMax: number = recordBytes,
  ) {
    this.scanner = newScanner(header, header.reading.positions);
    this.current = new ScannedRecord(this.scanner, header, from);
    this.headerSeen = !header.reading.format.hasHeaderRow;
  }

  /**
   * Splits the text, and yields the non-null results of the callbacks.
   * @param text - in UTF-8, without byte order mark
   * @throws UnclosedQuote; errors of `text`
   */
  async *read(text: AsyncIterable<Buffer>): AsyncGenerator<T> {
    const { lines, bytes } = this.header.reading.format.preamble;
    let isFirst = true;
    for await (const chunk of text) {
      this.append(chunk);
      if (isFirst) {
        if (this.bytes.length < bytes) continue;
        this.line += lines;
        this.start = bytes;
        isFirst = false;
      }
      yield* this.readRecords(false);
    }
    // The beginning of a file may end within the lines before its header row.
    if (!isFirst) yield* this.readRecords(true);
  }

  /** Appends a chunk to the unfinished record. */
  private append(chunk: Buffer): void {
    const rest = this.bytes.subarray(this.start);
    const length = rest.length + chunk.length;
    if (length > this.buffer.length) {
      const enough = Math.min(2 * length, this.recordBytesMax + chunk.length);
      this.buffer = Buffer.allocUnsafeSlow(Math.max(length, enough));
    }
    // May overlap when the buffer is reused.
    rest.copy(this.buffer);
    chunk.copy(this.buffer, rest.length);
    this.bytes = this.buffer.subarray(0, length);
    this.scanner.start -= this.start;
    this.offset += this.start;
    this.start = 0;
    this.from.offsets.discard(this.offset);
    this.from.window?.discard(this.sourceOffset);
  }

  /** Reads the complete records. @param isEnd - whether there are no more bytes */
  private *readRecords(isEnd: boolean): Generator<T> {
    const { scanner } = this;
    while (this.isWithinRecord || this.skipBlankLines(isEnd)) {
      if (!this.isWithinRecord) this.beginRecord();
      const found = scanner.scan(this.bytes, isEnd);
      if (found === 'unclosed') {
        throw new UnclosedQuote(`The quote that opens in the record at line ${this.line} is never closed.`);
      }
      const end = found === 'complete' ? scanner.next : this.bytes.length;
      if (this.headerSeen && end - scanner.start > this.recordBytesMax) this.dropRecord();
      if (found === 'incomplete') break;
      this.isWithinRecord = false;
      this.start = scanner.next;
      const value = this.emitRecord();
      if (value !== null) yield value;
    }
  }

  /** Skips blank lines. @returns whether a record follows */
  private skipBlankLines(isEnd: boolean): boolean {
    const { bytes, scanner } = this;
    for (;;) {
      const length = lineEndLength(bytes, this.start, scanner.isLoose, isEnd);
      if (length === 0) break;
      this.line++;
      this.start += length;
    }
    const isHalfLineEnd = this.start === bytes.length - 1 && bytes[this.start] === carriageReturn;
    return this.start < bytes.length && (isEnd || !isHalfLineEnd);
  }

  private beginRecord(): void {
    this.scanner.begin(this.start);
    this.sourceOffset = this.from.offsets.sourceOf(this.offset + this.start);
    this.isWithinRecord = true;
    this.current.tooLong = false;
  }

  /** Marks the record as too long, and discards its scanned bytes. */
  private dropRecord(): void {
    if (!this.current.tooLong) this.current.dropBytes(this.recordBytesMax);
    this.start = this.scanner.position;
  }

  /** Passes the scanned record to its callback, unless it is a blank line. */
  private emitRecord(): T | null {
    const { current, scanner, line } = this;
    const lastLine = line + scanner.lineBreaks;
    this.line = lastLine + 1;
    if (!this.headerSeen) {
      this.headerSeen = !isBlankRecord(current.firstFields(Infinity));
      if (!this.headerSeen) return null;
      current.keepAsHeader();
      return this.onHeader({ line, lastLine, row: 0 }, scanner.record().toString('utf8'));
    }
    if (scanner.fieldCount === 1 && !current.tooLong && isBlankLine(current)) return null;
    const { reading } = this.header;
    if (reading.ignoresEmptyRows && current.isEmpty) return null;
    if (reading.dependsOnRecords && !this.beginRow()) return null;
    current.textOffset = this.offset + scanner.start;
    current.offset = this.sourceOffset;
    current.line = line;
    current.lastLine = lastLine;
    current.row = ++this.row;
    return this.onRecord(current);
  }

  /** Begins a record that depends on previous records. @returns whether it is a row */
  private beginRow(): boolean {
    const { current, scanner } = this;
    const { reading } = this.header;
    // A repeated header neither begins nor ends a group.
    if (current.repeatsHeader) return true;
    if (current.isSplit) return reading.begin(current);
    // A quote may have swallowed other records.
    const isOneLine = scanner.lineBreaks === 0;
    if (reading.fillsDown) reading.beginUnsplit(isOneLine ? current.firstFields(reading.filledWidth) : []);
    return true;
  }
}

function newScanner({ delimiter, reading }: FeedHeader, wanted: readonly number[] | number): RecordScanner {
  return new RecordScanner(delimiter, wanted, reading.syntax);
}

/** Tells a line of white space. A single empty field is a pair of quotes, and thus a record. */
function isBlankLine(record: ScannedRecord): boolean {
  const [only] = record.firstFields(1) as [string];
  return only !== '' && trimText(only) === '';
}

/** View of the scanner's last record; one object is reused, because a feed has millions. */
class ScannedRecord implements ExtractedRecord {
  offset = 0;
  /** Offset in the text as UTF-8. */
  textOffset = 0;
  line = 0;
  lastLine = 0;
  row = 0;
  tooLong = false;
  /** Sku of a record that is too long. */
  private sku: string | undefined;
  /** Header row; undefined: none was read. */
  private headerRow: { bytes: Buffer; wanted: string[] } | undefined;

  constructor(
    private readonly scanner: RecordScanner,
    private readonly header: FeedHeader,
    private readonly from: TextSource,
  ) {}

  /** Keeps the record as the header row, in bytes: it may have hundreds of thousands of names. */
  keepAsHeader(): void {
    const wanted = this.header.reading.positions.map((position) =>
      headerName(this.scanner.field(position) ?? ''),
    );
    this.headerRow = { bytes: Buffer.from(this.scanner.record()), wanted };
  }

  get repeatsHeader(): boolean {
    const { headerRow, scanner } = this;
    if (!headerRow || this.tooLong) return false;
    const isAlike = this.header.reading.positions.every(
      (position, at) => headerName(scanner.field(position) ?? '') === headerRow.wanted[at],
    );
    if (!isAlike) return false;
    const names = fieldsOf(this.header, headerRow.bytes).map(headerName);
    const fields = this.firstFields(Infinity).map(headerName);
    return fields.length === names.length && fields.every((name, at) => name === names[at]);
  }

  get bytes(): Buffer {
    return this.tooLong ? Buffer.alloc(0) : this.scanner.record();
  }

  sourceBytes(): Buffer {
    const { offsets, window } = this.from;
    if (!window) return this.bytes;
    const { length } = this.bytes;
    const lineEndLength = this.scanner.next - this.scanner.start - length;
    return window.slice(this.offset, sourceEndOf(offsets, this.textOffset + length, lineEndLength));
  }

  get fieldCount(): number {
    const { fieldCount } = this.scanner;
    return this.header.endsWithDelimiter && this.hasDelimiterTooMany ? fieldCount - 1 : fieldCount;
  }

  /** Whether the record has one field more than the header, an empty one after a trailing delimiter. */
  private get hasDelimiterTooMany(): boolean {
    const { fieldCount, delimiter } = this.header;
    if (this.tooLong || this.scanner.fieldCount !== fieldCount + 1) return false;
    return this.scanner.record().at(-1) === delimiter.charCodeAt(0);
  }

  /** Whether the record could be split, into no more fields than the header has. */
  get isSplit(): boolean {
    return !this.tooLong && !this.misquoted && this.fieldCount <= this.header.fieldCount;
  }

  /** Whether all its cells are empty. */
  get isEmpty(): boolean {
    const { reading } = this.header;
    // Most rows have a sku: their other fields need not be decoded.
    if (this.tooLong || !reading.positions.every((position) => reading.isEmpty(this, position))) return false;
    const fields = this.firstFields(Infinity);
    const record = { field: (position: number) => fields[position] };
    return fields.every((_, position) => reading.isEmpty(record, position));
  }

  get misquoted(): boolean {
    return this.scanner.misquoted;
  }

  field(position: number): string | undefined {
    if (!this.tooLong) return this.scanner.field(position);
    return position === this.header.positions.sku ? this.sku : undefined;
  }

  firstFields(max: number): string[] {
    return fieldsOf(this.header, this.bytes, max);
  }

  /**
   * Keeps only the sku of the record. Its first `bytesMax` bytes must still be present.
   * The sku is kept if its field ends within these: the result does not depend on how the file is split into chunks.
   */
  dropBytes(bytesMax: number): void {
    const { sku } = this.header.positions;
    this.sku = sku === undefined ? undefined : this.scanner.field(sku, bytesMax - closingBytes);
    this.tooLong = true;
  }
}

function fieldsOf(header: FeedHeader, record: Buffer, max = Infinity): string[] {
  const scanner = newScanner(header, max);
  scanner.begin(0);
  scanner.scan(record, true);
  const count = Math.min(max, scanner.fieldCount);
  return Array.from({ length: count }, (_, position) => scanner.field(position)!);
}

/** Normalizes a cell to compare header rows. After the byte order mark of an appended file, quotes are characters. */
const headerName = (text: string) => comparable(text).replaceAll('"', '');

/** Maximum length of the end of a field: a quote and a line end. */
const closingBytes = 3;
const carriageReturn = 0x0d;
