import { recordBytes } from '../columns';
import type { Delimiter } from '../delimiter';
import type { RecordSyntax } from './record-syntax';

/** Bytes of UTF-8, or code units of UTF-16: separators are one unit in both. */
type Units = Uint8Array | Uint16Array;

type Decode<Kind extends Units> = (units: Kind, from: number, to: number, isAscii: boolean) => string;

/** Result of a scan. `incomplete`: more units are needed; `unclosed`: the feed ends within a quoted field. */
type Scan = 'complete' | 'incomplete' | 'unclosed';

/** Thrown for a text that ends within quotes. */
export class UnclosedQuote extends Error {}

const quoteUnit = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const tab = 0x09;

/** Position of the scan in a field. */
type Mode = 'start' | 'padding' | 'unquoted' | 'quoted';

/** Quoting of a field; a number, because it is stored with the borders of the field. */
const plain = 0;
const doubledQuotes = 1;
/** Text follows the closing quote. */
const tail = 2;

/** Maximum end of a field with blanks before its quote, in the record: beyond it, units of a record may be discarded. */
const paddedFieldMax = recordBytes - 8;

/** Numbers per field: start and end, relative to the record, and quoting. */
const numbersPerField = 3;

/**
 * Maximum size of a record that is decoded as a whole, with its fields as slices; fields of longer records are decoded one
 * by one. In V8 a slice retains the whole text: callers must copy texts that they keep.
 */
const sharedTextBytes = 4 * 1024;

/**
 * Returns the length of the line end at `at`; 0 when there is none, or it may be incomplete.
 * @param isLoose - as in the scanner
 * @param isEnd - whether the units are the last of the feed
 */
export function lineEndLength(units: Units, at: number, isLoose: boolean, isEnd: boolean): 0 | 1 | 2 {
  if (units[at] === lineFeed) return 1;
  if (units[at] !== carriageReturn) return 0;
  if (units[at + 1] === lineFeed) return 2;
  return isLoose && (isEnd || at + 1 < units.length) ? 1 : 0;
}

/**
 * Finds the borders of a record and its fields; in strict syntax, as csv-parse does with `recordOptions`.
 * It takes a fifth of the parser's time or less, and decodes fields on demand. An incomplete scan resumes with more units. One
 * scanner is reused for all records.
 */
export class RecordScanner<Kind extends Units = Buffer> {
  private readonly delimiter: number;
  /** The quote; -1 if it is a character. */
  private readonly quote: number;
  /** Whether blanks may precede a quote. */
  private readonly isPadded: boolean;
  /** Whether lines may also end in CR alone, and blanks may follow a closing quote. */
  readonly isLoose: boolean;
  /** Absent: the first `wantedMax`. */
  private readonly wanted: readonly number[] | undefined;
  private readonly wantedMax: number;
  private borders: Float64Array;
  private units!: Kind;
  /** Start of the record in the units; negative once its beginning was discarded. */
  start = 0;
  /** Position of the scan and start of the current field, relative to the record. */
  private offset = 0;
  private fieldOffset = 0;
  /** Opening quote of the current field, relative to the record, and the number of line breaks before it. */
  private quoteOffset = 0;
  private breaksBeforeQuote = 0;
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
  /** Line ends within the record: LF and CRLF, and CR alone if that ends lines. */
  lineBreaks = 0;
  /** Whether text follows a closing quote. */
  misquoted = false;

  /**
   * @param wanted - ascending positions of the fields to be read, or the number of first fields
   * @param decode - absent: the units are a Buffer of UTF-8
   */
  constructor(
    delimiter: Delimiter,
    wanted: readonly number[] | number,
    syntax: RecordSyntax,
    private readonly decode: Decode<Kind> = decodeBuffer as unknown as Decode<Kind>,
  ) {
    this.delimiter = delimiter.charCodeAt(0);
    this.quote = syntax === 'unquoted' ? -1 : quoteUnit;
    this.isPadded = syntax === 'padded';
    this.isLoose = syntax !== 'strict';
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

  /** Position of the scan in the units. */
  get position(): number {
    return this.start + this.offset;
  }

  /**
   * Starts or resumes the scan. Between calls the caller may move the units (and `start`), and discard units before
   * `position`.
   * @param isEnd - whether the units are the last of the feed
   */
  scan(units: Kind, isEnd: boolean): Scan {
    const { delimiter, quote, isLoose, start } = this;
    const length = units.length;
    this.units = units;
    let at = start + this.offset;
    let fieldStart = start + this.fieldOffset;
    let { mode, quoting } = this;
    let unit = 0;
    let seen = 0;
    for (;;) {
      if (mode === 'start') {
        if (at === length && !isEnd) return this.pause(at, at, mode, plain, seen);
        fieldStart = at;
        quoting = plain;
        mode = this.isPadded ? 'padding' : 'unquoted';
        if (units[at] === quote) {
          mode = 'quoted';
          this.openQuote(at++);
        }
      }
      if (mode === 'padding') {
        while (at < length && isBlank(units[at]!, delimiter)) at++;
        if (at === length && !isEnd) return this.pause(at, fieldStart, mode, plain, seen);
        mode = 'unquoted';
        if (units[at] === quote) {
          mode = 'quoted';
          this.openQuote(at++);
        }
      }
      if (mode === 'quoted') {
        const opening = start + this.quoteOffset;
        const isPadded = opening > fieldStart;
        const last = isPadded ? start + paddedFieldMax : Infinity;
        let closing = -1;
        while (closing === -1 && at <= last) {
          while (at < length && (unit = units[at]!) !== quote) {
            if (unit === lineFeed) this.lineBreaks++;
            else if (unit === carriageReturn && isLoose) {
              // A line feed may follow in the next chunk.
              if (at + 1 === length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
              if (units[at + 1] !== lineFeed) this.lineBreaks++;
            }
            seen |= unit;
            at++;
          }
          if (at > last || (at === length && isEnd && isPadded)) break;
          if (at === length && isEnd) return 'unclosed';
          if (at + 1 >= length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
          if (units[at + 1] === quote) {
            quoting = doubledQuotes;
            at += 2;
          } else closing = at;
        }
        if (closing !== -1) {
          let follows = closing + 1;
          while (isLoose && follows < length && isBlank(units[follows]!, delimiter)) follows++;
          if (follows === length && !isEnd) return this.pause(closing, fieldStart, mode, quoting, seen);
          if (units[follows] === delimiter) {
            this.addField(opening + 1, closing, quoting);
            at = follows + 1;
            mode = 'start';
            continue;
          }
          const lineEnd = lineEndLength(units, follows, isLoose, isEnd);
          if (lineEnd > 0 || follows === length) {
            this.addField(opening + 1, closing, quoting);
            return this.endRecord(follows, follows + lineEnd, seen);
          }
          if (units[follows] === carriageReturn && follows + 1 === length && !isEnd) {
            return this.pause(closing, fieldStart, mode, quoting, seen);
          }
        }
        mode = 'unquoted';
        if (isPadded) {
          // The quote is a character.
          this.lineBreaks = this.breaksBeforeQuote;
          quoting = plain;
          at = opening + 1;
        } else {
          // The rest of the field is read as unquoted.
          this.misquoted = true;
          quoting = tail;
          at = closing + 1;
        }
      }
      while (
        at < length &&
        (unit = units[at]!) !== delimiter &&
        unit !== lineFeed &&
        unit !== carriageReturn
      ) {
        seen |= unit;
        at++;
      }
      if (at < length && unit === delimiter) {
        this.addField(fieldStart, at, quoting);
        at++;
        mode = 'start';
        continue;
      }
      const lineEnd = at < length ? lineEndLength(units, at, isLoose, isEnd) : 0;
      if (lineEnd > 0 || (at === length && isEnd)) {
        this.addField(fieldStart, at, quoting);
        return this.endRecord(at, at + lineEnd, seen);
      }
      if (at + 1 >= length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
      // This CR ends no line.
      at++;
    }
  }

  private openQuote(at: number): void {
    this.quoteOffset = at - this.start;
    this.breaksBeforeQuote = this.lineBreaks;
  }

  /** Returns the units of the last record, without the line end. */
  record(): Kind {
    return this.units.subarray(this.start, this.end) as Kind;
  }

  /**
   * Decodes a wanted field; undefined if the record has fewer fields. Copy it to keep it.
   * @param within - only if the field ends within this many units of the record
   */
  field(position: number, within = Infinity): string | undefined {
    const number = this.wanted ? this.wanted.indexOf(position) : position;
    if (number === -1 || number >= this.wantedCount) return undefined;
    const { borders, start } = this;
    const from = start + borders[number * numbersPerField]!;
    const to = start + borders[number * numbersPerField + 1]!;
    if (to - start > within) return undefined;
    const quoting = borders[number * numbersPerField + 2]!;
    const value = this.textOf(from, to);
    if (quoting === plain) return value;
    return quoting === doubledQuotes ? value.replaceAll('""', '"') : tailedValue(value);
  }

  private textOf(from: number, to: number): string {
    const { units, start, end, isAscii, decode } = this;
    if (!isAscii || end - start > sharedTextBytes) return decode(units, from, to, isAscii);
    // ASCII: a character is a unit.
    this.text ??= decode(units, start, end, isAscii);
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
    this.end = this.units.length;
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

function decodeBuffer(bytes: Buffer, from: number, to: number, isAscii: boolean): string {
  return bytes.toString(isAscii ? 'latin1' : 'utf8', from, to);
}

function isBlank(unit: number, delimiter: number): boolean {
  return (unit === space || unit === tab) && unit !== delimiter;
}

/** Reads a field with text after its closing quote: csv-parse keeps the quotes, unless a NUL follows. */
function tailedValue(raw: string): string {
  let closing = raw.indexOf('"', 1);
  while (raw[closing + 1] === '"') closing = raw.indexOf('"', closing + 2);
  const quoted = raw.slice(1, closing).replaceAll('""', '"');
  const rest = raw.slice(closing + 1);
  return rest.startsWith('\0') ? `${quoted}${rest}` : `"${quoted}"${rest}`;
}
