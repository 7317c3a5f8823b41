import type { Delimiter } from '../delimiter';
import { trimText } from '../text';
import type { RecordSyntax } from './record-syntax';
import { RecordScanner, UnclosedQuote } from './scan-record';

/** Initial capacity for the incomplete record, in units. */
const unitsAtFirst = 64 * 1024;

/**
 * Splits a text into its records, with the scanner of a run. Omits lines of white space.
 * Texts can be long, and arrive in chunks: only the incomplete record is kept.
 */
export class RecordSplitter {
  private readonly scanner: RecordScanner<Uint16Array>;
  /** The incomplete record, and a chunk. */
  private text = '';
  /** Its UTF-16 code units; the array is reused, and may be longer. */
  private units = new Uint16Array(unitsAtFirst);
  private isWithinRecord = false;

  constructor(
    readonly delimiter: Delimiter,
    syntax: RecordSyntax,
  ) {
    const decode = (_: Uint16Array, from: number, to: number) => this.text.slice(from, to);
    this.scanner = new RecordScanner(delimiter, Infinity, syntax, decode);
  }

  /** Returns the cells of the records that this chunk completes. @throws UnclosedQuote at the end of the text */
  split(piece: string, isEnd: boolean): string[][] {
    const { scanner } = this;
    const units = this.append(piece);
    const records: string[][] = [];
    let start = 0;
    while (this.isWithinRecord || start < units.length) {
      if (!this.isWithinRecord) scanner.begin(start);
      const found = scanner.scan(units, isEnd);
      if (found === 'unclosed') throw new UnclosedQuote();
      this.isWithinRecord = found === 'incomplete';
      if (this.isWithinRecord) break;
      start = scanner.next;
      const cells: string[] = [];
      for (let position = 0; position < scanner.fieldCount; position++) cells.push(scanner.field(position)!);
      if (cells.length > 1 || trimText(cells[0]!) !== '') records.push(cells);
    }
    this.text = this.text.slice(start);
    this.units.copyWithin(0, start, units.length);
    scanner.start -= start;
    return records;
  }

  /** Appends a chunk to the incomplete record. */
  private append(piece: string): Uint16Array {
    const kept = this.text.length;
    this.text += piece;
    const { length } = this.text;
    if (length > this.units.length) {
      const larger = new Uint16Array(2 * length);
      larger.set(this.units.subarray(0, kept));
      this.units = larger;
    }
    // The chunk only: a joined text is slow to read by its characters.
    for (let at = 0; at < piece.length; at++) this.units[kept + at] = piece.charCodeAt(at);
    return this.units.subarray(0, length);
  }
}
