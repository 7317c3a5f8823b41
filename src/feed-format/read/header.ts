import { requiredColumns, requiredIn, type ProductColumn } from '../columns';
import { delimiters, type Delimiter } from '../delimiter';
import type { FormatDefinition, ReadDefinition } from '../format-definition';
import type { LoadMode } from '../load-options';
import { codesPosition } from '../report-columns';
import { delimiterLineMax, findDelimiterLine } from './delimiter-line';
import { firstRecords, type TableRecord } from './first-records';
import { FormatReading } from './format-reading';
import { findHeaderColumns, type HeaderProblem, type NamedHeader } from './header-columns';
import { headersOf, needsFirst, resolveFormat, type Preamble } from './resolve-format';
import { comparable } from '../text';
import { headerNames, headerRowBytes } from './header-names';
import { syntaxOf } from './record-syntax';
import { lineEndLength } from './scan-record';

/**
 * Reads the header row of a feed, and finds its columns.
 * @param text - the whole text as UTF-8, or its beginning, more than `headerRowBytes`
 * @param mode - in mode `update`, only the sku is required
 * @returns the header, or its problem with the names of the format
 */
export function readHeader(
  text: Buffer,
  definition: ReadDefinition,
  mode: LoadMode = 'upsert',
): NamedHeader | HeaderProblem {
  const { strict: isStrict = false } = definition;
  const syntax = syntaxOf(definition);
  const preamble = isStrict ? noPreamble : measurePreamble(text, definition.skip_lines ?? 0);
  const rest = text.subarray(preamble.bytes);
  const bytesMax = headerRowBytes - preamble.bytes;
  const hasHeader = definition.header !== false;
  const guessed = hasHeader ? delimiters : delimiters.slice(0, 1);
  const tried: readonly Delimiter[] = definition.delimiter ? [definition.delimiter as Delimiter] : guessed;
  const candidates = tried.map((delimiter) => ({
    delimiter,
    names: headerNames(rest, { delimiter, syntax, bytesMax }),
  }));
  // Rejects of a file without header row have one with positions as names.
  if (!hasHeader && codesPosition(candidates[0]!.names ?? []) === undefined)
    return withoutHeaderRow(rest, definition, preamble, tried[0]!);

  const required = requiredIn(mode);
  const found = candidates.find(({ names }) => {
    const known = new Set(names?.map(comparable));
    return names && required.every((column) => isPresent(column, definition, known));
  });
  if (!found?.names) {
    const isEndless = candidates.every(({ names }) => names === undefined) && text.length > headerRowBytes;
    if (isEndless) {
      const problem = `Invalid CSV file: The header row is longer than ${headerRowBytes} bytes.`;
      return { problem, code: 'header_too_long' };
    }
    const missing = requiredNames(definition).join(', ');
    const problem = `Invalid CSV file: Missing required CSV headers: ${missing}`;
    return { problem, code: 'missing_columns' };
  }
  const header = findHeaderColumns(found.names, definition, { delimiter: found.delimiter, preamble });
  if ('problem' in header || isStrict) return header;
  const rows = firstRecordsOf(rest, found.delimiter, definition).slice(1);
  return { ...header, endsWithDelimiter: endWithDelimiter(rows, header.fieldCount) };
}

const firstRecordsOf = (rest: Buffer, delimiter: Delimiter, definition: ReadDefinition) =>
  firstRecords(rest.subarray(0, headerRowBytes), delimiter, undefined, syntaxOf(definition));

const noPreamble: Preamble = { lines: 0, bytes: 0 };

/** Tells whether most records end in a delimiter: in a single such row, it may be part of a cell. */
function endWithDelimiter(records: readonly TableRecord[], fieldCount: number): boolean {
  const ended = records.filter(({ fields }) => fields.length === fieldCount + 1 && fields.at(-1) === '');
  return 2 * ended.length > records.length;
}

/** Measures the delimiter line and the skipped lines. CRLF, LF and CR end a line. */
function measurePreamble(text: Buffer, skippedLines: number): Preamble {
  let bytes = findDelimiterLine(text.toString('latin1', 0, delimiterLineMax))?.length ?? 0;
  let lines = bytes > 0 ? 1 : 0;
  for (let left = skippedLines; left > 0 && bytes < text.length; left--) {
    bytes = lineEndOf(text, bytes);
    lines++;
  }
  return { bytes, lines };
}

/** Returns the beginning of the line after the one at `at`. */
function lineEndOf(text: Buffer, at: number): number {
  let end = at;
  while (end < text.length) {
    const length = lineEndLength(text, end, true, true);
    if (length > 0) return end + length;
    end++;
  }
  return end;
}

function withoutHeaderRow(
  rest: Buffer,
  definition: FormatDefinition,
  preamble: Preamble,
  delimiter: Delimiter,
): NamedHeader {
  const place = { delimiter, preamble, hasHeaderRow: false };
  const reading = new FormatReading(resolveFormat(definition, place, (name) => Number(name) - 1));
  const wanted = (reading.positions.at(-1) ?? -1) + 1;
  const records = firstRecordsOf(rest, delimiter, definition);
  const fieldCount = Math.max(definition.fields ?? usualWidth(records), wanted);
  return {
    delimiter,
    names: [],
    fieldCount,
    positions: reading.firstPositions,
    endsWithDelimiter: endWithDelimiter(records, fieldCount),
    reading,
  };
}

/** Returns the most frequent number of fields of the records; at least the first one's. */
function usualWidth(records: readonly TableRecord[]): number {
  const counts = new Map<number, number>();
  for (const { fields } of records) {
    // A trailing delimiter is no field.
    const width = fields.at(-1) === '' ? fields.length - 1 : fields.length;
    counts.set(width, (counts.get(width) ?? 0) + 1);
  }
  const widths = [...counts].sort(([a, many], [b, more]) => more - many || a - b);
  return Math.max(records[0]?.fields.length ?? 0, widths[0]?.[0] ?? 0);
}

function isPresent(column: ProductColumn, definition: FormatDefinition, known: ReadonlySet<string>): boolean {
  const source = definition.columns[column];
  if (!source) return false;
  if (source.value !== undefined) return true;
  const headers = headersOf(source);
  const needed = needsFirst(column, definition) ? headers.slice(0, 1) : headers;
  return needed.some((header) => known.has(comparable(header)));
}

/** Headers of the required columns, in the order of the specification's text. */
function requiredNames({ columns }: FormatDefinition): string[] {
  return requiredColumns.map((column) => headersOf(columns[column] ?? {})[0] ?? column);
}
