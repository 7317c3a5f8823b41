import { parse } from 'csv-parse/sync';
import { productColumns, requiredColumns, type ProductColumn } from './columns';
import { trimText } from './text';

/** The header row must end within this; it is held in memory while the upload is inspected. */
export const headerRowBytes = 256 * 1024;

/** A field separator that a feed may use, in the order in which they are tried. */
export type Delimiter = ',' | ';' | '\t';
export const delimiters: readonly Delimiter[] = [',', ';', '\t'];

/** What the header row of a feed says. */
export interface FeedHeader {
  delimiter: Delimiter;
  fieldCount: number;
  /** Where our columns stand, counted from 0; a column that the feed does not have is absent. */
  positions: Partial<Record<ProductColumn, number>>;
}

/** The same, with the names in the header row, trimmed: there may be hundreds of thousands, too many to keep for a run. */
export interface NamedHeader extends FeedHeader {
  names: string[];
}

/** csv-parse options that decide what a record is; the header and the rows are read alike. */
export const recordOptions = {
  bom: true,
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** Whether nothing stands in the record: such a line is no row, and not the header. */
export function isBlankRecord(fields: readonly string[]): boolean {
  return fields.every((field) => trimText(field) === '');
}

/**
 * Reads the header row, the first row in which anything stands, from the beginning of a file.
 * @param prefix - the whole file, or more than `headerRowBytes` of its beginning
 * @returns the header, or why the file is not acceptable (specification, section 7; the text is public)
 */
export function readHeader(prefix: Buffer): NamedHeader | { problem: string } {
  const candidates = delimiters.map((delimiter) => ({ delimiter, names: headerNames(prefix, delimiter) }));
  const found = candidates.find(({ names }) => {
    const lowerCase = names?.map((name) => name.toLowerCase());
    return requiredColumns.every((column) => lowerCase?.includes(column));
  });
  if (!found?.names) {
    const endless = candidates.every(({ names }) => names === undefined) && prefix.length > headerRowBytes;
    return {
      problem: endless
        ? `Invalid CSV file: The header row is longer than ${headerRowBytes} bytes.`
        : `Invalid CSV file: Missing required CSV headers: ${requiredColumns.join(', ')}`,
    };
  }
  const positions: FeedHeader['positions'] = {};
  for (const [position, name] of found.names.entries()) {
    const column = productColumns.find((known) => known === name.toLowerCase());
    if (!column) continue;
    if (column in positions) return { problem: `Invalid CSV file: Duplicate header: ${column}` };
    positions[column] = position;
  }
  return { delimiter: found.delimiter, names: found.names, fieldCount: found.names.length, positions };
}

/**
 * The names that the header row most likely has, where `readHeader` finds a problem: by the delimiter that splits it the
 * most.
 */
export function guessHeaderNames(prefix: Buffer): { delimiter: Delimiter; names: string[] } | undefined {
  return delimiters
    .flatMap((delimiter) => {
      const names = headerNames(prefix, delimiter);
      return names ? [{ delimiter, names }] : [];
    })
    .sort((a, b) => b.names.length - a.names.length)[0];
}

/** The names of the header row, trimmed; undefined when it does not end within the prefix or limit. */
export function headerNames(prefix: Buffer, delimiter: Delimiter): string[] | undefined {
  let records: { record: string[]; info: { bytes: number } }[];
  try {
    records = parse(prefix, {
      ...recordOptions,
      delimiter,
      info: true,
      skip_records_with_empty_values: true,
      to: 1,
    }) as unknown as typeof records;
  } catch {
    // A quote that is not closed: no header can be read.
    return undefined;
  }
  const [first] = records;
  if (!first || first.info.bytes > headerRowBytes) return undefined;
  return first.record.map(trimText);
}
