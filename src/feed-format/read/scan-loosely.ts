import { lineEndLength, quotings, RecordScanner, type Scan } from './scan-record';

const { plain, doubledQuotes, tail } = quotings;
const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const tab = 0x09;

/**
 * Scans records of a feed with a format: lines may end in CR alone, and blanks may follow a closing quote.
 *
 * Otherwise it finds the same fields as `RecordScanner`, whose loop stays free of these cases.
 */
export class LooseScanner extends RecordScanner {
  override lineEndAt(bytes: Buffer, at: number, isEnd: boolean): 0 | 1 | 2 {
    return looseLineEndLength(bytes, at, isEnd);
  }

  override scan(bytes: Buffer, isEnd: boolean): Scan {
    const { delimiter, start } = this;
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
        mode = bytes[at] === quote ? 'quoted' : 'unquoted';
        if (mode === 'quoted') at++;
      }
      if (mode === 'quoted') {
        let closing = -1;
        while (closing === -1) {
          while (at < length && (byte = bytes[at]!) !== quote) {
            if (byte === carriageReturn) {
              // A line feed may follow in the next chunk.
              if (at + 1 === length && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
              if (bytes[at + 1] !== lineFeed) this.lineBreaks++;
            } else if (byte === lineFeed) this.lineBreaks++;
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
        while (follows < length && isBlank(bytes[follows]!, delimiter)) follows++;
        if (follows === length && !isEnd) return this.pause(closing, fieldStart, mode, quoting, seen);
        if (bytes[follows] === delimiter) {
          this.addField(fieldStart + 1, closing, quoting);
          at = follows + 1;
          mode = 'start';
          continue;
        }
        const lineEnd = this.lineEndAt(bytes, follows, isEnd);
        if (lineEnd > 0 || follows === length) {
          this.addField(fieldStart + 1, closing, quoting);
          return this.endRecord(follows, follows + lineEnd, seen);
        }
        if (bytes[follows] === carriageReturn) return this.pause(closing, fieldStart, mode, quoting, seen);
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
      const lineEnd = at < length ? this.lineEndAt(bytes, at, isEnd) : 0;
      if (lineEnd === 0 && !isEnd) return this.pause(at, fieldStart, mode, quoting, seen);
      this.addField(fieldStart, at, quoting);
      return this.endRecord(at, at + lineEnd, seen);
    }
  }
}

/** Returns the length of the line end at `at`, which may be CR alone; 0 when there is none, or it may be incomplete. */
export function looseLineEndLength(bytes: Buffer, at: number, isEnd: boolean): 0 | 1 | 2 {
  const length = lineEndLength(bytes, at);
  if (length > 0 || bytes[at] !== carriageReturn) return length;
  return at + 1 < bytes.length || isEnd ? 1 : 0;
}

function isBlank(byte: number, delimiter: number): boolean {
  return (byte === space || byte === tab) && byte !== delimiter;
}
