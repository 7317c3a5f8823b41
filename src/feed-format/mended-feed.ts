import type { components } from '../../generated/openapi';
import type { Delimiter } from './delimiter';
import { isSuperseded, reportColumns } from './report-columns';
import { RecordSplitter } from './split-records';

/** The beginning of a file of rejects. */
export interface RejectsHead {
  delimiter: Delimiter;
  /** Blank lines before the header row. */
  skippedLines: number;
  /** Generated columns, then those of the feed; positions as names where its format has no header row. */
  header: string[];
  /** Number of generated columns, which come first; more than those of one report in rejects of rejects. */
  generated: number;
}

/** What is read of a file to find its head. */
export const headBytes = 512 * 1024;

/** Whether the rejects of a feed are split as those of a format. */
export const isSplitLoosely = ({ format_name }: Pick<Feed, 'format_name'>): boolean => format_name !== null;

/**
 * Reads the head of a file of rejects, which says how the file is written.
 * @param beginning - its text without a byte order mark, whole or `headBytes` of it
 * @returns undefined for any other file
 */
export function readRejectsHead(beginning: string, isLoose: boolean): RejectsHead | undefined {
  const [blank] = /^[\r\n]*/.exec(beginning)!;
  const [, delimiter] = /^"?_line"?([,;\t|])/.exec(beginning.slice(blank.length)) ?? [];
  if (!delimiter) return undefined;
  const [header] = new RecordSplitter(delimiter as Delimiter, isLoose).split(beginning, false);
  if (!header || reportColumns.some((name, at) => header[at] !== name)) return undefined;
  let generated: number = reportColumns.length;
  while (reportColumns.every((name, at) => header[generated + at] === name))
    generated += reportColumns.length;
  const skippedLines = blank.split(/\r\n|\r|\n/).length - 1;
  return { delimiter: delimiter as Delimiter, skippedLines, header, generated };
}

/**
 * Writes corrected rows as a file that loads by the format of their feed, as UTF-8: a byte order mark precedes the encoding of a
 * format. A row that had lost against a later one of its sku is loaded, because it was corrected.
 */
export function mendedFile({ delimiter, skippedLines, header }: RejectsHead, rows: string[][]): string {
  const codes = reportColumns.indexOf('_codes');
  const records = rows.map((row) => {
    const cells = row.map((cell, at) => (at === codes && isSuperseded(cell) ? '' : cell));
    // Cells that were emptied because they were too many.
    while (cells.length > header.length && cells.at(-1) === '') cells.pop();
    return cells;
  });
  const lines = [header, ...records].map((cells) => `${recordText(cells, delimiter)}\n`);
  return `\u{feff}${'\n'.repeat(skippedLines)}${lines.join('')}`;
}

/** Writes a record without its line end; a line break of any kind is within quotes. */
export function recordText(cells: readonly string[], delimiter: string): string {
  const needsQuotes = (cell: string) => /["\r\n]/.test(cell) || cell.includes(delimiter);
  return cells.map((cell) => (needsQuotes(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(delimiter);
}

type Feed = components['schemas']['Feed'];

/**
 * Returns the fields with which corrected rows of a feed are uploaded: they are not the whole catalog. A collection that the feed
 * did not name is not named, so that no product moves.
 */
export function mendedFields({
  format_name,
  mode,
  collection,
}: Pick<Feed, 'format_name' | 'mode' | 'collection'>) {
  return {
    // The format that the partner has saved as its default since would read the rows in another way.
    format: format_name ?? 'standard',
    mode: mode === 'replace' ? ('upsert' as const) : mode,
    ...(collection !== null && { collection }),
  };
}
