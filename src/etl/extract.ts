import { asUtf8 } from './encoding';
import { FeedFailure } from './run-result';
import { isBlankRecord, type FeedHeader } from '../feed-format/header';
import type { RecordPlace } from './row-issues';
import { lineEndLength, RecordScanner } from './scan-record';
import { trimText } from '../feed-format/text';
import type { FeedRecord } from './transform';
import { recordBytes } from '../feed-format/columns';

/** A record while it is at hand: within the call that it is given to. */
export interface RecordAtHand extends FeedRecord {
  /** Its bytes as they stand in the file, in UTF-8, without the line end; none when it is too long. */
  readonly bytes: Buffer;
}

/**
 * Splits the bytes of a feed into records, the header excluded. Keeps no more than one record and one chunk in memory: of a
 * record that is too long, only its place and its sku.
 */
export class RecordExtractor<T> {
  private readonly scanner: RecordScanner;
  private readonly atHand: ScannedRecord;
  /** Used again for every chunk, and as large as a chunk and the record before it have been. */
  private buffer: Buffer = Buffer.alloc(0);
  /** What it holds. */
  private bytes: Buffer = this.buffer;
  /** Where the next record starts in them, blank lines before it not skipped yet, or what is left of the one at hand. */
  private start = 0;
  private isWithinRecord = false;
  private headerSeen = false;
  private row = 0;
  /** The line on which it starts. */
  private line = 1;

  /**
   * @param onHeader - told where the header is and its text as it stands in the file, before the first record
   * @param onRecord - told every record
   * @param recordBytesMax - the size of a record, its line end included, beyond which it is too long
   */
  constructor(
    header: FeedHeader,
    private readonly onHeader: (place: RecordPlace, text: string) => T | null,
    private readonly onRecord: (record: RecordAtHand) => T | null,
    private readonly recordBytesMax: number = recordBytes,
  ) {
    const { delimiter, positions } = header;
    this.scanner = new RecordScanner(
      delimiter,
      Object.values(positions).sort((a, b) => a - b),
    );
    this.atHand = new ScannedRecord(this.scanner, header);
  }

  /**
   * Splits the bytes of the file and gives what the callbacks return, nulls left out.
   * @throws FeedFailure when the file is structurally broken, after everything before that; whatever `source` throws
   */
  async *read(source: AsyncIterable<Buffer>): AsyncGenerator<T> {
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
    if (length > this.buffer.length) {
      const enough = Math.min(2 * length, this.recordBytesMax + chunk.length);
      this.buffer = Buffer.allocUnsafeSlow(Math.max(length, enough));
    }
    // Within one buffer, it moves.
    rest.copy(this.buffer);
    chunk.copy(this.buffer, rest.length);
    this.bytes = this.buffer.subarray(0, length);
    this.scanner.start -= this.start;
    this.start = 0;
  }

  /** Takes the records that are whole by now. @param isEnd - whether there are no more bytes */
  private *take(isEnd: boolean): Generator<T> {
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
      const value = this.takeRecord();
      if (value !== null) yield value;
    }
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

  private beginRecord(): void {
    this.scanner.begin(this.start);
    this.isWithinRecord = true;
    this.atHand.tooLong = false;
  }

  /** Notes that the record is too long, and lets go of its bytes as far as they are scanned. */
  private dropRecord(): void {
    if (!this.atHand.tooLong) this.atHand.dropBytes(this.recordBytesMax);
    this.start = this.scanner.position;
  }

  /** Hands the record on that was scanned, unless it is a blank line. */
  private takeRecord(): T | null {
    const { atHand, scanner, line } = this;
    const lastLine = line + scanner.lineBreaks;
    this.line = lastLine + 1;
    if (!this.headerSeen) {
      this.headerSeen = !isBlankRecord(atHand.firstFields(Infinity));
      return this.headerSeen
        ? this.onHeader({ line, lastLine, row: 0 }, scanner.record().toString('utf8'))
        : null;
    }
    if (scanner.fieldCount === 1 && !atHand.tooLong && isBlankLine(atHand)) return null;
    atHand.line = line;
    atHand.lastLine = lastLine;
    atHand.row = ++this.row;
    return this.onRecord(atHand);
  }
}

/** A line of white space is a blank line; a record of one empty field can only be an empty pair of quotes. */
function isBlankLine(record: ScannedRecord): boolean {
  const [only] = record.firstFields(1) as [string];
  return only !== '' && trimText(only) === '';
}

/** The record that the scanner has found last. One object for all of them: a feed has millions. */
class ScannedRecord implements RecordAtHand {
  line = 0;
  lastLine = 0;
  row = 0;
  tooLong = false;
  /** Of a record that is too long. */
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
   * To be called when the beginning of the record is still there: at least `bytesMax` of it. The sku is known, or not,
   * however the bytes came in chunks: only if what closes it lies in these.
   */
  dropBytes(bytesMax: number): void {
    const sku = this.scanner.field(this.header.positions.sku!, bytesMax - closingBytes);
    this.sku = sku;
    this.tooLong = true;
  }
}

/** What closes a field is a quote and a line end at most. */
const closingBytes = 3;
const carriageReturn = 0x0d;
