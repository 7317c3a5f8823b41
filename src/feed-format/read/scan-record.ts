import type { Delimiter } from '../delimiter';

/** Result of a scan. `incomplete`: more bytes are needed; `unclosed`: the feed ends within a quoted field. */
export type Scan = 'complete' | 'incomplete' | 'unclosed';

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const tab = 0x09;

/** Position of the scan in a field. */
type Mode = 'start' | 'unquoted' | 'quoted';

/** Quoting of a field; a number, because it is stored with the borders of the field. */
const plain = 0;
const doubledQuotes = 1;
/** Text follows the closing quote. */
const tail = 2;

/** Numbers per field: start and end, relative to the record, and quoting. */
const numbersPerField = 3;

/**
 * Maximum size of a record that is decoded as a whole, with its fields as slices; fields of longer records are decoded one
 * by one. In V8 a slice retains the whole text, so that callers must copy what they keep.
 */
const sharedTextBytes = 4 * 1024;

/**
 * Returns the length of the line end at `at`; 0 when there is none, or it may be incomplete.
 * @param isLoose - as of the scanner
 * @param isEnd - whether the bytes are the last of the feed
 */
export function lineEndLength(bytes: Buffer, at: number, isLoose: boolean, isEnd: boolean): 0 | 1 | 2 {
  if (bytes[at] === lineFeed) return 1;
  if (bytes[at] !== carriageReturn) return 0;
  if (bytes[at + 1] === lineFeed) return 2;
  return isLoose && (isEnd || at + 1 < bytes.length) ? 1 : 0;
}

/**
 * Finds the borders of a record and its fields, as csv-parse does with `recordOptions`; if loose, lines may also end in CR alone,
 * and blanks may follow a closing quote.
 *
 * It takes a tenth of the parser's time, and decodes fields on demand. An incomplete scan resumes with more bytes. One
 * scanner is reused for all records.
 */
export class RecordScanner {
  private readonly delimiter: number;
  /** Absent: the first `wantedMax`. */
  private readonly wanted: readonly number[] | undefined;
  private readonly wantedMax: number;
  private borders: Float64Array;
  private bytes: Buffer = Buffer.alloc(0);
  /** Start of the record in the bytes; negative once its beginning was discarded. */
  start = 0;
  /** Position of the scan and start of the current field, relative to the record. */
  private offset = 0;
  private fieldOffset = 0;
  private mode: Mode = 'start';
  private quoting = plain;
  /** Position of the next wanted field; -1 after the last one. */
  private nextWanted = 0;
  private wantedCount = 0;
  private end = 0;
  private isAscii = true;
  private text: string | undefined;
  /** End of the last record, line end included. */
  next = 0;
  fieldCount = 0;
  /** Line feeds within the record. */
  lineBreaks = 0;
  /** Whether text follows a closing quote. */
  misquoted = false;

  /** @param wanted - ascending positions of the fields to be read, or the number of first fields */
  constructor(
    delimiter: Delimiter,
    wanted: readonly number[] | number,
    readonly isLoose: boolean,
  ) {
    this.delimiter = delimiter.charCodeAt(0);
    this.wanted = typeof wanted === 'number' ? undefined : wanted;
    this.wantedMax = typeof wanted === 'number' ? wanted : wanted.length;
    this.borders = new Float64Array(Math.min(this.wantedMax, 64) * numbersPerField);
  }

  /** Starts a record at `start`. */
  begin(start: number): void {
    this.start = start;
    this.offset = 0;
    this.mode = 'start';
    this.isAscii = true;
    this.text = undefined;
    this.fieldCount = 0;
    this.wantedCount = 0;
    this.nextWanted = this.wantedPosition(0);
    this.lineBreaks = 0;
    this.misquoted = false;
  }

  /** Position of the scan in the bytes. */
  get position(): number {
    return this.start + this.offset;
  }

  /**
   * Starts or resumes the scan. Between calls the caller may move the bytes (and `start`), and discard those before
   * `position`.
   * @param isEnd - whether the bytes are the last of the feed
   */
  scan(bytes: Buffer, isEnd: boolean): Scan {
    const { delimiter, isLoose, start } = this;
    const length = bytes.length;
    this.bytes = bytes;
    let at = start + this.offset;
    let fieldStart = start + this.fieldOffset;
    let { mode, quoting } = this;
    let byte = 0;
    let seen = 0;
    for (;;) {
      if (mode === 'start') {
        if (at === length && !isEnd) return this.pause(at, at, mode, plain, seen);
        fieldStart = at;
        quoting = plain;
        if (bytes[at] === quote) {
          mode = 'quoted';
          at++;
        } else mode = 'unquoted';
      }
      if (mode === 'quoted') {
        let closing = -1;
        while (closing === -1) {
          while (at < length && (byte = bytes[at]!) !== quote) {
            if (byte === lineFeed) this.lineBreaks++;
            else if (byte === carriageReturn && isLoose) {
              // A line feed may follow in the next chunk.
              if (at + 1 === length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
              if (bytes[at + 1] !== lineFeed) this.lineBreaks++;
            }
            seen |= byte;
            at++;
          }
          if (at === length && isEnd) return 'unclosed';
          if (at + 1 >= length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
          if (bytes[at + 1] === quote) {
            quoting = doubledQuotes;
            at += 2;
          } else closing = at;
        }
        let follows = closing + 1;
        while (isLoose && follows < length && isBlank(bytes[follows]!, delimiter)) follows++;
        if (follows === length && !isEnd) return this.pause(closing, fieldStart, mode, quoting, seen);
        if (bytes[follows] === delimiter) {
          this.addField(fieldStart + 1, closing, quoting);
          at = follows + 1;
          mode = 'start';
          continue;
        }
        const lineEnd = lineEndLength(bytes, follows, isLoose, isEnd);
        if (lineEnd > 0 || follows === length) {
          this.addField(fieldStart + 1, closing, quoting);
          return this.endRecord(follows, follows + lineEnd, seen);
        }
        if (bytes[follows] === carriageReturn && follows + 1 === length && !isEnd) {
          return this.pause(closing, fieldStart, mode, quoting, seen);
        }
        // The rest of the field is read as one without quotes.
        this.misquoted = true;
        quoting = tail;
        at = closing + 1;
        mode = 'unquoted';
      }
      while (
        at < length &&
        (byte = bytes[at]!) !== delimiter &&
        byte !== lineFeed &&
        byte !== carriageReturn
      ) {
        seen |= byte;
        at++;
      }
      if (at < length && byte === delimiter) {
        this.addField(fieldStart, at, quoting);
        at++;
        mode = 'start';
        continue;
      }
      const lineEnd = at < length ? lineEndLength(bytes, at, isLoose, isEnd) : 0;
      if (lineEnd > 0 || (at === length && isEnd)) {
        this.addField(fieldStart, at, quoting);
        return this.endRecord(at, at + lineEnd, seen);
      }
      if (at + 1 >= length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
      // A CR that ends no line.
      at++;
    }
  }

  /** Returns the bytes of the last record, without the line end. */
  record(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  /**
   * Decodes a wanted field; undefined where the record has fewer fields. Copy it to keep it.
   * @param within - only if the field ends within this many bytes of the record
   */
  field(position: number, within = Infinity): string | undefined {
    const number = this.wanted ? this.wanted.indexOf(position) : position;
    if (number === -1 || number >= this.wantedCount) return undefined;
    const { borders, bytes, start } = this;
    const from = start + borders[number * numbersPerField]!;
    const to = start + borders[number * numbersPerField + 1]!;
    if (to - start > within) return undefined;
    const quoting = borders[number * numbersPerField + 2]!;
    const value = this.textOf(from, to);
    if (quoting === plain) return value;
    if (quoting === doubledQuotes) return value.replaceAll('""', '"');
    return tailedValue(bytes, from, to);
  }

  private textOf(from: number, to: number): string {
    const { bytes, start } = this;
    if (!this.isAscii) return bytes.toString('utf8', from, to);
    // ASCII: a character is a byte.
    if (this.end - start > sharedTextBytes) return bytes.toString('latin1', from, to);
    this.text ??= bytes.toString('latin1', start, this.end);
    return this.text.slice(from - start, to - start);
  }

  /** Counts a field, and stores its borders if it is wanted. */
  private addField(from: number, to: number, quoting: number): void {
    if (this.fieldCount++ !== this.nextWanted) return;
    const number = this.wantedCount++;
    this.nextWanted = this.wantedPosition(number + 1);
    const at = number * numbersPerField;
    if (at === this.borders.length) {
      const larger = new Float64Array(2 * at);
      larger.set(this.borders);
      this.borders = larger;
    }
    this.borders[at] = from - this.start;
    this.borders[at + 1] = to - this.start;
    this.borders[at + 2] = quoting;
  }

  private wantedPosition(number: number): number {
    if (number >= this.wantedMax) return -1;
    return this.wanted ? this.wanted[number]! : number;
  }

  private pause(at: number, fieldStart: number, mode: Mode, quoting: number, seen: number): Scan {
    this.offset = at - this.start;
    this.fieldOffset = fieldStart - this.start;
    this.mode = mode;
    this.quoting = quoting;
    this.end = this.bytes.length;
    this.isAscii &&= seen < 0x80;
    return 'incomplete';
  }

  private endRecord(end: number, next: number, seen: number): Scan {
    this.end = end;
    this.next = next;
    this.isAscii &&= seen < 0x80;
    return 'complete';
  }
}

function isBlank(byte: number, delimiter: number): boolean {
  return (byte === space || byte === tab) && byte !== delimiter;
}

/** Decodes a field with text after its closing quote: csv-parse keeps the quotes, unless a NUL follows. */
function tailedValue(bytes: Buffer, from: number, to: number): string {
  const raw = bytes.toString('utf8', from, to);
  let closing = raw.indexOf('"', 1);
  while (raw[closing + 1] === '"') closing = raw.indexOf('"', closing + 2);
  const quoted = raw.slice(1, closing).replaceAll('""', '"');
  const rest = raw.slice(closing + 1);
  return rest.startsWith('\0') ? `${quoted}${rest}` : `"${quoted}"${rest}`;
}
