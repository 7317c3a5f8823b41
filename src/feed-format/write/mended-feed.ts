import type { components } from '../../../generated/openapi';
import type { Delimiter } from '../delimiter';
import type { ReadDefinition } from '../format-definition';
import { isSuperseded, reportColumns } from '../report-columns';
import { markCharacter, withoutMark } from '../read/byte-order-mark';
import { isWritable, recordText } from './record-text';
import { syntaxOf } from '../read/record-syntax';
import { RecordSplitter } from '../read/split-records';

/** The beginning of a file of rejects. */
export interface RejectsHead {
  delimiter: Delimiter;
  /** Blank lines before the header row. */
  skippedLines: number;
  /** Generated columns, then the columns of the feed; positions as names if its format has no header row. */
  header: string[];
  /** Number of generated columns at the beginning; rejects of rejects have more than one report's. */
  generated: number;
}

/** The file is no file of rejects. */
export class NotRejects extends Error {}

/** Reads a file of rejects in chunks of text, and detects its notation. */
export class RejectsReader {
  /** Known with the first row. */
  head: RejectsHead | undefined;
  private beginning = '';
  private splitter: RecordSplitter | undefined;
  private skippedLines = 0;

  /** @param definition - how the feed was read */
  constructor(private readonly definition: ReadDefinition) {}

  /** Returns the rows that this chunk completes. @throws NotRejects; UnclosedQuote at the end */
  read(piece: string, isEnd: boolean): string[][] {
    const records = this.splitter ? this.splitter.split(piece, isEnd) : this.begin(piece, isEnd);
    if (!this.head && records.length > 0) this.head = this.headOf(records.shift()!);
    if (isEnd && !this.head) throw new NotRejects();
    return records;
  }

  private begin(piece: string, isEnd: boolean): string[][] {
    this.beginning += piece;
    const text = withoutMark(this.beginning);
    const [opening, blank = '', delimiter] = openingPattern.exec(text) ?? [];
    if (opening === undefined) {
      if (isEnd || text.trimStart().length > openingMax) throw new NotRejects();
      return [];
    }
    this.skippedLines = blank.split(/\r\n|\r|\n/).length - 1;
    this.splitter = new RecordSplitter(delimiter as Delimiter, syntaxOf(this.definition));
    return this.splitter.split(text, isEnd);
  }

  private headOf(header: string[]): RejectsHead {
    const { delimiter } = this.splitter!;
    const isReport = (from: number) => reportColumns.every((name, at) => header[from + at] === name);
    if (!isReport(0)) throw new NotRejects();
    let generated: number = reportColumns.length;
    while (isReport(generated)) generated += reportColumns.length;
    return { delimiter, skippedLines: this.skippedLines, header, generated };
  }
}

/** Returns the charset that the content type of a file of rejects states; UTF-8 if it states none. */
export const statedCharset = (contentType = '') => /charset=([^;]+)/i.exec(contentType)?.[1] ?? 'utf-8';

const openingPattern = /^([\r\n]*)"?_line"?([,;\t|])/;
/** Length of the first name with quotes and its delimiter. */
const openingMax = 8;

/** A corrected cell has a delimiter or line break, which its format cannot express: it has no quotes. */
export class UnwritableCell extends Error {
  constructor(
    readonly line: string,
    readonly header: string,
  ) {
    super(
      `The cell ${header} of line ${line} contains a delimiter or a line break, and the format has no quotes. Remove it.`,
    );
  }
}

/**
 * Formats corrected rows as a file that loads by the format of their feed, as UTF-8: a byte order mark overrides the encoding of a
 * format. A row that a later one of its sku had superseded is loaded, because it was corrected.
 * @param quote - of the format
 * @throws UnwritableCell
 */
export function mendedFile(
  { delimiter, skippedLines, header, generated }: RejectsHead,
  rows: string[][],
  { quote }: Pick<ReadDefinition, 'quote'>,
): string {
  const syntax = { delimiter, quote };
  const records = rows.map((row) => {
    const cells = loadedCells(row, header.length);
    const unwritable = cells.findIndex((cell, at) => at >= generated && !isWritable(cell, syntax));
    if (unwritable !== -1) throw new UnwritableCell(row[0]!, header[unwritable] ?? String(unwritable + 1));
    return cells;
  });
  const lines = [header, ...records].map((cells) => `${recordText(cells, syntax)}\n`);
  return `${markCharacter}${'\n'.repeat(skippedLines)}${lines.join('')}`;
}

/**
 * Returns a corrected row as it is sent: loaded although a later row had superseded it, and without surplus cells that were emptied.
 * @param width - number of columns of the header
 */
export function loadedCells(row: readonly string[], width: number): string[] {
  const cells = row.map((cell, at) => (at === codesAt && isSuperseded(cell) ? '' : cell));
  while (cells.length > width && cells.at(-1) === '') cells.pop();
  return cells;
}

const codesAt = reportColumns.indexOf('_codes');

type Feed = components['schemas']['Feed'];
type Format = components['schemas']['Format'];

/** Why corrected rows may be read differently from their feed: its format was saved again, or is gone. */
export type FormatChange = 'saved' | 'gone';

/**
 * Tells whether the format of a feed, which its corrected rows name, has changed.
 * @param format - of this name, if there is one
 */
export function formatChange(
  { format_name, uploaded_at }: Pick<Feed, 'format_name' | 'uploaded_at'>,
  format: Pick<Format, 'updated_at'> | undefined,
): FormatChange | undefined {
  if (format_name === null) return undefined;
  if (!format) return 'gone';
  // A partner's format has a time; a built-in one has none.
  return format.updated_at !== null && format.updated_at > uploaded_at ? 'saved' : undefined;
}

/**
 * Returns the form fields for an upload of a feed's corrected rows: they are not the whole catalog. Names no collection that the feed
 * did not name, so that no product moves.
 */
export function mendedFields({
  format_name,
  mode,
  collection,
}: Pick<Feed, 'format_name' | 'mode' | 'collection'>) {
  return {
    // A default format that the partner has saved since would read the rows differently.
    format: format_name ?? 'standard',
    mode: mode === 'replace' ? ('upsert' as const) : mode,
    ...(collection !== null && { collection }),
  };
}
