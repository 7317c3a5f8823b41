import { parse } from 'csv-parse/sync';
import { productColumns, requiredColumns, type ProductColumn } from '../columns';
import { delimiters, type Delimiter } from '../delimiter';
import type { FormatReading } from './format-reading';
import type { LoadMode } from '../load-options';
import { codesPosition } from '../report-columns';
import { trimText } from '../text';

/** Maximum size of the header row, which is in memory while an upload is inspected. */
export const headerRowBytes = 256 * 1024;

export interface FeedHeader {
  delimiter: Delimiter;
  fieldCount: number;
  /** Positions of the product columns, from 0; missing columns are absent. */
  positions: Partial<Record<ProductColumn, number>>;
  /** Position of the codes, from 0, in a file of rejects; absent in any other one. */
  codes?: number;
  /** Whether the records of a file with a format end in a delimiter, which is no field. */
  endsWithDelimiter?: boolean;
  /** How the records are read; absent without a format. */
  reading?: FormatReading;
}

/** Lists the product columns that a feed has. */
export function columnsOf({ positions, reading }: FeedHeader): ReadonlySet<ProductColumn> {
  return reading?.columns ?? new Set(Object.keys(positions) as ProductColumn[]);
}

/** Header with its trimmed names: there may be hundreds of thousands, too many to keep during a run. */
export interface NamedHeader extends FeedHeader {
  names: string[];
}

/** csv-parse options that define a record, for the header and the rows. */
export const recordOptions = {
  bom: true,
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** Tells a record of blank fields, which is neither a row nor the header. */
export function isBlankRecord(fields: readonly string[]): boolean {
  return fields.every((field) => trimText(field) === '');
}

/**
 * Reads the header row, which is the first row that is not blank.
 * @param prefix - the whole file, or its first bytes, more than `headerRowBytes`
 * @param mode - in mode `update`, only the sku is required
 * @returns the header, or the public error text (specification, section 7)
 */
export function readHeader(prefix: Buffer, mode: LoadMode = 'upsert'): NamedHeader | { problem: string } {
  const required = mode === 'update' ? (['sku'] as const) : requiredColumns;
  const candidates = delimiters.map((delimiter) => ({ delimiter, names: headerNames(prefix, delimiter) }));
  const found = candidates.find(({ names }) => {
    const lowerCase = names?.map((name) => name.toLowerCase());
    return required.every((column) => lowerCase?.includes(column));
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
  const { delimiter, names } = found;
  return { delimiter, names, fieldCount: names.length, positions, codes: codesPosition(names) };
}

/** Guesses the names of an invalid header row, by the delimiter that yields the most columns. */
export function guessHeaderNames(prefix: Buffer): { delimiter: Delimiter; names: string[] } | undefined {
  return delimiters
    .flatMap((delimiter) => {
      const names = headerNames(prefix, delimiter);
      return names ? [{ delimiter, names }] : [];
    })
    .sort((a, b) => b.names.length - a.names.length)[0];
}

/** Parses the trimmed names of the header row; undefined when it does not end within prefix and limit. */
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
    // An unclosed quote.
    return undefined;
  }
  const [first] = records;
  if (!first || first.info.bytes > headerRowBytes) return undefined;
  return first.record.map(trimText);
}
