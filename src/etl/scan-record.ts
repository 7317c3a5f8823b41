import type { Delimiter } from './header';

/**
 * What the bytes at hand show of the next record:
 *
 * - `regular`: all of it, its borders beyond doubt; its fields are quoted from end to end, or do not begin with a quote;
 * - `incomplete`: it may go on in bytes that are not here yet;
 * - `irregular`: its quotes are not where they should be; what it means is for the parser to say.
 */
export type Scan = 'regular' | 'incomplete' | 'irregular';

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** Numbers per field: where it starts and ends, without its quotes, and whether quotes are doubled in it. */
const numbersPerField = 3;

/** How many bytes the line end at `at` has; 0 when there is none, or not all of it is here. */
export function lineEndLength(bytes: Buffer, at: number): 0 | 1 | 2 {
  if (bytes[at] === lineFeed) return 1;
  return bytes[at] === carriageReturn && bytes[at + 1] === lineFeed ? 2 : 0;
}

/**
 * Finds the borders of a record and of its fields in the bytes of a feed: a tenth of the parser's work, and no text is
 * made. It agrees with csv-parse on every record that it calls regular. One scanner is used for one record after the other.
 */
export class RecordScanner {
  private readonly delimiter: number;
  private borders = new Int32Array(64 * numbersPerField);
  private bytes: Buffer = Buffer.alloc(0);
  private isAscii = true;
  private start = 0;
  private end = 0;
  /** Where the record ends that was scanned last, its line end included. */
  next = 0;
  fieldCount = 0;
  /** Line feeds within it. */
  lineBreaks = 0;

  constructor(delimiter: Delimiter) {
    this.delimiter = delimiter.charCodeAt(0);
  }

  /** Scans the record that starts at `start`. @param isEnd - whether the bytes are the last of the feed */
  scan(bytes: Buffer, start: number, isEnd: boolean): Scan {
    const { delimiter } = this;
    const length = bytes.length;
    this.bytes = bytes;
    this.start = start;
    this.fieldCount = 0;
    this.lineBreaks = 0;
    let seen = 0;
    let at = start;
    for (;;) {
      const fieldStart = at;
      let byte = 0;
      if (at < length && bytes[at] === quote) {
        let isDoubled = false;
        at++;
        for (;;) {
          while (at < length && (byte = bytes[at]!) !== quote) {
            if (byte === lineFeed) this.lineBreaks++;
            seen |= byte;
            at++;
          }
          if (at === length) return isEnd ? 'irregular' : 'incomplete';
          if (bytes[at + 1] !== quote) break;
          isDoubled = true;
          at += 2;
        }
        this.addField(fieldStart + 1, at, isDoubled);
        at++;
        if (at === length) return isEnd ? this.endRecord(at, at, seen) : 'incomplete';
        if (bytes[at] === delimiter) {
          at++;
          continue;
        }
        if (bytes[at] === carriageReturn && at + 1 === length && !isEnd) return 'incomplete';
        const lineEnd = lineEndLength(bytes, at);
        return lineEnd === 0 ? 'irregular' : this.endRecord(at, at + lineEnd, seen);
      }
      while (at < length && (byte = bytes[at]!) !== delimiter && byte !== lineFeed) {
        seen |= byte;
        at++;
      }
      if (at < length && byte === delimiter) {
        this.addField(fieldStart, at, false);
        at++;
        continue;
      }
      if (at === length && !isEnd) return 'incomplete';
      const end = at < length && at > fieldStart && bytes[at - 1] === carriageReturn ? at - 1 : at;
      this.addField(fieldStart, end, false);
      return this.endRecord(end, at < length ? at + 1 : at, seen);
    }
  }

  /** The bytes of the regular record that was scanned last, without its line end. */
  record(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  /** Its fields. */
  fields(): string[] {
    const { borders, bytes, start } = this;
    // Of ASCII a character is a byte: one text for all fields.
    const text = this.isAscii ? bytes.toString('latin1', start, this.end) : '';
    const fields = new Array<string>(this.fieldCount);
    for (let field = 0; field < fields.length; field++) {
      const from = borders[field * numbersPerField]!;
      const to = borders[field * numbersPerField + 1]!;
      const value = this.isAscii ? text.slice(from - start, to - start) : bytes.toString('utf8', from, to);
      fields[field] = borders[field * numbersPerField + 2] ? value.replaceAll('""', '"') : value;
    }
    return fields;
  }

  private addField(from: number, to: number, isDoubled: boolean): void {
    const at = this.fieldCount++ * numbersPerField;
    if (at === this.borders.length) {
      const larger = new Int32Array(2 * at);
      larger.set(this.borders);
      this.borders = larger;
    }
    this.borders[at] = from;
    this.borders[at + 1] = to;
    this.borders[at + 2] = isDoubled ? 1 : 0;
  }

  private endRecord(end: number, next: number, seen: number): Scan {
    this.end = end;
    this.next = next;
    this.isAscii = seen < 0x80;
    return 'regular';
  }
}
