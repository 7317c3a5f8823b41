import type { Delimiter } from '../delimiter';
import { RecordScanner } from './scan-record';

/** Thrown for a text that ends within quotes. */
export class UnclosedQuote extends Error {}

/**
 * Splits a text into its records, as a run splits a feed; blank lines are left out.
 *
 * Texts can be long and come in pieces, so that nothing is kept but the record that is not complete yet.
 */
export class RecordSplitter {
  private readonly scanner: RecordScanner<Uint16Array>;
  /** The record that is not complete yet, and a piece. */
  private text = '';

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
    const units = new Uint16Array(this.text.length + piece.length);
    // One by one: joined texts are slow to read by their characters.
    copyUnits(this.text, units, 0);
    copyUnits(piece, units, this.text.length);
    this.text += piece;
    const records: string[][] = [];
    let at = 0;
    for (; at < units.length; at = scanner.next) {
      scanner.begin(at);
      const found = scanner.scan(units, isEnd);
      if (found === 'unclosed') throw new UnclosedQuote();
      if (found === 'incomplete') break;
      const cells: string[] = [];
      for (let position = 0; position < scanner.fieldCount; position++) cells.push(scanner.field(position)!);
      if (cells.length > 1 || cells[0]!.trim() !== '') records.push(cells);
    }
    this.text = this.text.slice(at);
    return records;
  }
}

function copyUnits(text: string, units: Uint16Array, start: number): void {
  for (let at = 0; at < text.length; at++) units[start + at] = text.charCodeAt(at);
}
