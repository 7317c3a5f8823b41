import { asUtf8 } from './encoding';
import { FeedFailure } from './run-result';
import { isBlankRecord, type FeedHeader } from '../feed-format/header';
import type { RecordPlace } from './row-issues';
import { lineEndLength, RecordScanner } from './scan-record';
import { trimText } from '../feed-format/text';
import type { FeedRecord } from './transform';
import { recordBytes } from '../feed-format/columns';

/** The current record: valid only during the callback. */
interface CurrentRecord extends FeedRecord {
  /** Raw bytes in UTF-8, without the line end; empty when it is too long. */
  readonly bytes: Buffer;
}

/**
 * Splits the bytes of a feed into records, header excluded.
 *
 * At most one record and one chunk are in memory; of a record that is too long, only its place and its sku.
 */
export class RecordExtractor<T> {
  private readonly scanner: RecordScanner;
  private readonly current: ScannedRecord;
  /** Reused for every chunk; grows to the largest chunk plus unfinished record. */
  private buffer: Buffer = Buffer.alloc(0);
  /** Used part of the buffer. */
  private bytes: Buffer = this.buffer;
  /** Start of the current record, or of blank lines before the next one, in `bytes`. */
  private start = 0;
  private isWithinRecord = false;
  private headerSeen = false;
  private row = 0;
  /** First line of the current record. */
  private line = 1;

  /**
   * @param onHeader - called before the first record, with the place and the raw text of the header
   * @param onRecord - called for every record
   * @param recordBytesMax - maximum size of a record, line end included
   */
  constructor(
    header: FeedHeader,
    private readonly onHeader: (place: RecordPlace, text: string) => T | null,
    private readonly onRecord: (record: CurrentRecord) => T | null,
    private readonly recordBytesMax: number = recordBytes,
  ) {
    const { delimiter, positions } = header;
    this.scanner = new RecordScanner(
      delimiter,
      Object.values(positions).sort((a, b) => a - b),
    );
    this.current = new ScannedRecord(this.scanner, header);
  }

  /**
   * Splits the file, and yields the non-null results of the callbacks.
   * @throws FeedFailure at the place where the file is structurally broken; whatever `source` throws
   */
  async *read(source: AsyncIterable<Buffer>): AsyncGenerator<T> {
    for await (const chunk of asUtf8(source)) {
      this.append(chunk);
      yield* this.readRecords(false);
    }
    yield* this.readRecords(true);
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
    this.start = 0;
  }

  /** Reads the complete records. @param isEnd - whether there are no more bytes */
  private *readRecords(isEnd: boolean): Generator<T> {
    const { scanner } = this;
    while (this.isWithinRecord || this.skipBlankLines(isEnd)) {
      if (!this.isWithinRecord) this.beginRecord();
      const found = scanner.scan(this.bytes, isEnd);
      if (found === 'unclosed') {
        throw new FeedFailure(`The quote that opens in the record at line ${this.line} is never closed.`);
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

  private beginRecord(): void {
    this.scanner.begin(this.start);
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
      return this.headerSeen
        ? this.onHeader({ line, lastLine, row: 0 }, scanner.record().toString('utf8'))
        : null;
    }
    if (scanner.fieldCount === 1 && !current.tooLong && isBlankLine(current)) return null;
    current.line = line;
    current.lastLine = lastLine;
    current.row = ++this.row;
    return this.onRecord(current);
  }
}

/** Tells a line of white space. A single empty field is a pair of quotes, and thus a record. */
function isBlankLine(record: ScannedRecord): boolean {
  const [only] = record.firstFields(1) as [string];
  return only !== '' && trimText(only) === '';
}

/** View of the scanner's last record; one object is reused, because a feed has millions. */
class ScannedRecord implements CurrentRecord {
  line = 0;
  lastLine = 0;
  row = 0;
  tooLong = false;
  /** Sku of a record that is too long. */
  private sku: string | undefined;

  constructor(
    private readonly scanner: RecordScanner,
    private readonly header: FeedHeader,
  ) {}

  get bytes(): Buffer {
    return this.tooLong ? Buffer.alloc(0) : this.scanner.record();
  }

  get fieldCount(): number {
    return this.scanner.fieldCount;
  }

  get misquoted(): boolean {
    return this.scanner.misquoted;
  }

  field(position: number): string | undefined {
    if (!this.tooLong) return this.scanner.field(position);
    return position === this.header.positions.sku ? this.sku : undefined;
  }

  firstFields(max: number): string[] {
    const scanner = new RecordScanner(this.header.delimiter, max);
    scanner.begin(0);
    scanner.scan(this.bytes, true);
    const count = Math.min(max, scanner.fieldCount);
    return Array.from({ length: count }, (_, position) => scanner.field(position)!);
  }

  /**
   * Keeps only the sku of the record. Its first `bytesMax` bytes must still be present.
   *
   * The sku is kept if its field ends within these: the result does not depend on how the file is split into chunks.
   */
  dropBytes(bytesMax: number): void {
    const sku = this.scanner.field(this.header.positions.sku!, bytesMax - closingBytes);
    this.sku = sku;
    this.tooLong = true;
  }
}

/** Maximum length of the end of a field: a quote and a line end. */
const closingBytes = 3;
const carriageReturn = 0x0d;
