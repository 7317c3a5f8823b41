import type { Delimiter } from '../delimiter';

/** Thrown for a text that ends within quotes. */
export class UnclosedQuote extends Error {}

/**
 * Splits a text into its records, as a run splits a feed; blank lines are left out.
 *
 * Texts can be long and come in pieces, so that nothing is kept but the record that is not complete yet.
 */
export class RecordSplitter {
  private rest = '';
  private readonly plainEnd: RegExp;

  /** @param isLoose - as of a feed with a format: lines also end in CR alone, and blanks may follow a closing quote */
  constructor(
    readonly delimiter: Delimiter,
    private readonly isLoose: boolean,
  ) {
    const ends = isLoose ? String.raw`\r\n` : String.raw`\n`;
    this.plainEnd = new RegExp(`[${delimiter}${ends}]`, 'g');
  }

  /** Returns the cells of the records that are complete with this piece. @throws UnclosedQuote at the end of the text */
  split(piece: string, isEnd: boolean): string[][] {
    const text = this.rest + piece;
    const records: string[][] = [];
    let at = 0;
    while (at < text.length) {
      const record = this.recordAt(text, at, isEnd);
      if (!record) break;
      at = record.next;
      const [only = ''] = record.cells;
      if (record.cells.length > 1 || only.trim() !== '') records.push(record.cells);
    }
    this.rest = text.slice(at);
    return records;
  }

  /** Returns the record that begins at `start`; undefined if it is not complete. */
  private recordAt(
    text: string,
    start: number,
    isEnd: boolean,
  ): { cells: string[]; next: number } | undefined {
    const cells: string[] = [];
    for (let at = start; ;) {
      const cell = this.cellAt(text, at, isEnd);
      if (!cell) return undefined;
      cells.push(cell.value);
      if (text[cell.end] === this.delimiter) {
        at = cell.end + 1;
        if (at < text.length) continue;
        if (!isEnd) return undefined;
        cells.push('');
        return { cells, next: at };
      }
      const lineEnd = this.lineEndAt(text, cell.end);
      const next = cell.end + lineEnd;
      // A line feed may follow in the next piece.
      if (!isEnd && (lineEnd === 0 || (next === text.length && text[next - 1] === '\r'))) return undefined;
      return { cells, next };
    }
  }

  private cellAt(text: string, start: number, isEnd: boolean): { value: string; end: number } | undefined {
    if (text[start] !== '"') {
      const end = this.plainEndAt(text, start);
      return { value: text.slice(start, end), end };
    }
    let closing = text.indexOf('"', start + 1);
    while (closing !== -1 && text[closing + 1] === '"') closing = text.indexOf('"', closing + 2);
    if (closing === -1) {
      if (isEnd) throw new UnclosedQuote();
      return undefined;
    }
    const value = text.slice(start + 1, closing).replaceAll('""', '"');
    const end = this.afterBlanks(text, closing + 1);
    if (end === text.length) return isEnd ? { value, end } : undefined;
    if (text[end] === this.delimiter || this.lineEndAt(text, end) > 0) return { value, end };
    if (text[end] === '\r' && end + 1 === text.length && !isEnd) return undefined;
    // Text follows the closing quote: the cell is read with its quotes.
    const restEnd = this.plainEndAt(text, closing + 1);
    const rest = text.slice(closing + 1, restEnd);
    return { value: rest.startsWith('\0') ? value + rest : `"${value}"${rest}`, end: restEnd };
  }

  private afterBlanks(text: string, start: number): number {
    let at = start;
    while (this.isLoose && (text[at] === ' ' || text[at] === '\t') && text[at] !== this.delimiter) at++;
    return at;
  }

  /** Finds the end of a cell without quotes: a delimiter, a line end or the end of the text. */
  private plainEndAt(text: string, start: number): number {
    this.plainEnd.lastIndex = start;
    const end = this.plainEnd.exec(text)?.index ?? text.length;
    return text[end] === '\n' && end > start && text[end - 1] === '\r' ? end - 1 : end;
  }

  private lineEndAt(text: string, at: number): 0 | 1 | 2 {
    if (text[at] === '\n') return 1;
    if (text[at] !== '\r') return 0;
    if (text[at + 1] === '\n') return 2;
    return this.isLoose ? 1 : 0;
  }
}
