import type { Delimiter } from '../feed-format/header';

/**
 * What the bytes at hand show of a record: all of it; only its beginning; or, where the feed ends within a quoted field,
 * that its quote never closes.
 */
export type Scan = 'complete' | 'incomplete' | 'unclosed';

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Where in a field the scan is. */
type Mode = 'start' | 'unquoted' | 'quoted';

/** How a field is written; a number, because the borders of fields are numbers. */
const plain = 0;
const doubledQuotes = 1;
/** Text follows its closing quote. */
const tail = 2;

/** Numbers per field: where it starts and ends, from the start of the record, and how it is written. */
const numbersPerField = 3;

/**
 * Up to this length a record is decoded once, and its fields are slices of that text; of a longer one only the fields that
 * are read become texts, each of its own. A slice keeps the whole text alive: nothing may keep one beyond the record.
 */
const sharedTextBytes = 4 * 1024;

/** How many bytes the line end at `at` has; 0 when there is none, or not all of it is here. */
export function lineEndLength(bytes: Buffer, at: number): 0 | 1 | 2 {
  if (bytes[at] === lineFeed) return 1;
  return bytes[at] === carriageReturn && bytes[at + 1] === lineFeed ? 2 : 0;
}

/**
 * Finds the borders of a record and of its fields in the bytes of a feed, as csv-parse does with `recordOptions`: a tenth
 * of the parser's work, and no text is made before it is asked for. The scan continues where more bytes were needed. One
 * scanner is used for one record after the other.
 */
export class RecordScanner {
  private readonly delimiter: number;
  /** Absent: the first ones. */
  private readonly wanted: readonly number[] | undefined;
  private readonly wantedMax: number;
  private borders: Float64Array;
  private bytes: Buffer = Buffer.alloc(0);
  /** Where the record starts in the bytes; below 0 once its beginning was dropped. */
  start = 0;
  /** Where the scan continues, and where the field at hand starts, both from the start of the record. */
  private offset = 0;
  private fieldOffset = 0;
  private mode: Mode = 'start';
  private howWritten = plain;
  /** The position of the next field that is wanted; -1 after the last one. */
  private nextWanted = 0;
  private wantedCount = 0;
  private end = 0;
  private isAscii = true;
  private text: string | undefined;
  /** Where the record ends that was scanned last, its line end included. */
  next = 0;
  fieldCount = 0;
  /** Line feeds within it. */
  lineBreaks = 0;
  /** Whether text follows a closing quote. */
  misquoted = false;

  /** @param wanted - the positions of the fields that can be read, in ascending order; a number: of the first ones */
  constructor(delimiter: Delimiter, wanted: readonly number[] | number) {
    this.delimiter = delimiter.charCodeAt(0);
    this.wanted = typeof wanted === 'number' ? undefined : wanted;
    this.wantedMax = typeof wanted === 'number' ? wanted : wanted.length;
    this.borders = new Float64Array(Math.min(this.wantedMax, 64) * numbersPerField);
  }

  /** Prepares for the record that starts at `start`. */
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

  /** Where the scan continues in the bytes. */
  get position(): number {
    return this.start + this.offset;
  }

  /**
   * Scans on. Between two calls `start` may be changed with the place of the bytes; those before `position` may be gone.
   * @param isEnd - whether the bytes are the last of the feed
   */
  scan(bytes: Buffer, isEnd: boolean): Scan {
    const { delimiter, start } = this;
    const length = bytes.length;
    this.bytes = bytes;
    let at = start + this.offset;
    let fieldStart = start + this.fieldOffset;
    let { mode, howWritten } = this;
    let byte = 0;
    let seen = 0;
    for (;;) {
      if (mode === 'start') {
        if (at === length && !isEnd) return this.pause(at, at, mode, plain, seen);
        fieldStart = at;
        howWritten = plain;
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
            seen |= byte;
            at++;
          }
          if (at === length && isEnd) return 'unclosed';
          if (at + 1 >= length && !isEnd) return this.pause(at, fieldStart, mode, howWritten, seen);
          if (bytes[at + 1] === quote) {
            howWritten = doubledQuotes;
            at += 2;
          } else closing = at;
        }
        const follows = bytes[closing + 1];
        if (follows === delimiter) {
          this.addField(fieldStart + 1, closing, howWritten);
          at = closing + 2;
          mode = 'start';
          continue;
        }
        if (follows === carriageReturn && closing + 2 === length && !isEnd) {
          return this.pause(closing, fieldStart, mode, howWritten, seen);
        }
        const lineEnd = lineEndLength(bytes, closing + 1);
        if (lineEnd > 0 || closing + 1 === length) {
          this.addField(fieldStart + 1, closing, howWritten);
          return this.endRecord(closing + 1, closing + 1 + lineEnd, seen);
        }
        // The rest of the field is read as one without quotes.
        this.misquoted = true;
        howWritten = tail;
        at = closing + 1;
        mode = 'unquoted';
      }
      while (at < length && (byte = bytes[at]!) !== delimiter && byte !== lineFeed) {
        seen |= byte;
        at++;
      }
      if (at < length && byte === delimiter) {
        this.addField(fieldStart, at, howWritten);
        at++;
        mode = 'start';
        continue;
      }
      if (at === length && !isEnd) return this.pause(at, fieldStart, mode, howWritten, seen);
      const end = at < length && at > fieldStart && bytes[at - 1] === carriageReturn ? at - 1 : at;
      this.addField(fieldStart, end, howWritten);
      return this.endRecord(end, at < length ? at + 1 : at, seen);
    }
  }

  /** The bytes of the record that was scanned last, without its line end. */
  record(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  /**
   * The text of a field that is wanted; undefined where the record is too short for it. To be kept, it must be copied.
   * @param within - only if it and what closes it lie within so many bytes of the record
   */
  field(position: number, within = Infinity): string | undefined {
    const number = this.wanted ? this.wanted.indexOf(position) : position;
    if (number === -1 || number >= this.wantedCount) return undefined;
    const { borders, bytes, start } = this;
    const from = start + borders[number * numbersPerField]!;
    const to = start + borders[number * numbersPerField + 1]!;
    if (to - start > within) return undefined;
    const howWritten = borders[number * numbersPerField + 2]!;
    const value = this.textOf(from, to);
    if (howWritten === plain) return value;
    if (howWritten === doubledQuotes) return value.replaceAll('""', '"');
    return tailedValue(bytes, from, to);
  }

  private textOf(from: number, to: number): string {
    const { bytes, start } = this;
    if (!this.isAscii) return bytes.toString('utf8', from, to);
    // Of ASCII a character is a byte.
    if (this.end - start > sharedTextBytes) return bytes.toString('latin1', from, to);
    this.text ??= bytes.toString('latin1', start, this.end);
    return this.text.slice(from - start, to - start);
  }

  /** Counts a field, and keeps its borders if it is wanted. */
  private addField(from: number, to: number, howWritten: number): void {
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
    this.borders[at + 2] = howWritten;
  }

  private wantedPosition(number: number): number {
    if (number >= this.wantedMax) return -1;
    return this.wanted ? this.wanted[number]! : number;
  }

  private pause(at: number, fieldStart: number, mode: Mode, howWritten: number, seen: number): Scan {
    this.offset = at - this.start;
    this.fieldOffset = fieldStart - this.start;
    this.mode = mode;
    this.howWritten = howWritten;
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

/** The value of a field with text after its closing quote: the parser takes its quotes for characters, unless a NUL follows. */
function tailedValue(bytes: Buffer, from: number, to: number): string {
  const raw = bytes.toString('utf8', from, to);
  let closing = raw.indexOf('"', 1);
  while (raw[closing + 1] === '"') closing = raw.indexOf('"', closing + 2);
  const quoted = raw.slice(1, closing).replaceAll('""', '"');
  const rest = raw.slice(closing + 1);
  return rest.startsWith('\0') ? `${quoted}${rest}` : `"${quoted}"${rest}`;
}
