import type { Delimiter } from '../delimiter';
import { trimText } from '../text';
import { RecordScanner, UnclosedQuote } from './scan-record';

/** Units that are kept at first, of the record that is not complete. */
const unitsAtFirst = 64 * 1024;

/**
 * Splits a text into its records, by the scanner that a run splits a feed by. Lines of white space are left out.
 *
 * Texts can be long and come in pieces, so that nothing is kept but the record that is not complete yet.
 */
export class RecordSplitter {
  private readonly scanner: RecordScanner<Uint16Array>;
  /** The record that is not complete yet, and a piece. */
  private text = '';
  /** Its UTF-16 code units; the array is reused, and longer. */
  private units = new Uint16Array(unitsAtFirst);
  private isWithinRecord = false;

  /** @param isLoose - as of a feed with a format: lines also end in CR alone, and blanks may follow a closing quote */
  constructor(
    readonly delimiter: Delimiter,
    isLoose: boolean,
  ) {
    const decode = (_: Uint16Array, from: number, to: number) => this.text.slice(from, to);
    this.scanner = new RecordScanner(delimiter, Infinity, isLoose, decode);
  }

  /** Returns the cells of the records that are complete with this piece. @throws UnclosedQuote at the end of the text */
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

  /** Appends a piece to the record that is not complete. */
  private append(piece: string): Uint16Array {
    const kept = this.text.length;
    this.text += piece;
    const { length } = this.text;
    if (length > this.units.length) {
      const larger = new Uint16Array(2 * length);
      larger.set(this.units.subarray(0, kept));
      this.units = larger;
    }
    // The piece only: a joined text is slow to read by its characters.
    for (let at = 0; at < piece.length; at++) this.units[kept + at] = piece.charCodeAt(at);
    return this.units.subarray(0, length);
  }
}
