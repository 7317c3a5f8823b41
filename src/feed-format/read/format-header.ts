import { requiredColumns, type ProductColumn } from '../columns';
import type { ColumnSource, FormatDefinition } from '../format-definition';
import {
  comparable,
  FormatReading,
  headersOf,
  needsFirst,
  resolveFormat,
  type Preamble,
  type ResolvedFormat,
} from './format-reading';
import type { TableRecord } from '../detect-table';
import { delimiters, type Delimiter } from '../delimiter';
import { delimiterLineMax, findDelimiterLine } from './delimiter-line';
import { headerRowBytes, isBlankRecord, type NamedHeader } from './header';
import type { LoadMode } from '../load-options';
import { codesPosition } from '../report-columns';
import { trimText } from '../text';
import { lineEndLength, RecordScanner } from './scan-record';

/**
 * Reads the header row of a feed with a format, and finds its columns.
 * @param text - the whole text as UTF-8, or its beginning, more than `headerRowBytes`
 * @returns the header, or the public error text with the names of the format
 */
export function readFormatHeader(
  text: Buffer,
  definition: FormatDefinition,
  mode: LoadMode = 'upsert',
): NamedHeader | { problem: string } {
  const preamble = measurePreamble(text, definition.skip_lines ?? 0);
  const rest = text.subarray(preamble.bytes);
  const limit = headerRowBytes - preamble.bytes;
  const hasHeader = definition.header !== false;
  const guessed = hasHeader ? delimiters : delimiters.slice(0, 1);
  const tried: readonly Delimiter[] = definition.delimiter ? [definition.delimiter as Delimiter] : guessed;
  const candidates = tried.map((delimiter) => ({ delimiter, names: firstRecord(rest, delimiter, limit) }));
  // Rejects of a file without header row have one, whose names are positions.
  if (!hasHeader && codesPosition(candidates[0]!.names ?? []) === undefined)
    return withoutHeaderRow(rest, definition, preamble, tried[0]!);

  const required = requiredColumnsOf(mode);
  const found = candidates.find(({ names }) => {
    const known = new Set(names?.map(comparable));
    return names && required.every((column) => isPresent(column, definition, known));
  });
  if (!found?.names) {
    const isEndless = candidates.every(({ names }) => names === undefined) && text.length > headerRowBytes;
    return {
      problem: isEndless
        ? `Invalid CSV file: The header row is longer than ${headerRowBytes} bytes.`
        : `Invalid CSV file: Missing required CSV headers: ${requiredNames(definition).join(', ')}`,
    };
  }
  const header = withColumns(found.names, definition, { delimiter: found.delimiter, preamble });
  if ('problem' in header) return header;
  const rows = firstRecords(rest.subarray(0, headerRowBytes), found.delimiter).slice(1);
  return { ...header, endsWithDelimiter: endWithDelimiter(rows, header.fieldCount) };
}

/** Tells whether most of the records have a delimiter at their end: a row that alone has one may have it within a cell. */
function endWithDelimiter(records: readonly TableRecord[], fieldCount: number): boolean {
  const ended = records.filter(({ fields }) => fields.length === fieldCount + 1 && fields.at(-1) === '');
  return 2 * ended.length > records.length;
}

/** Measures the line with the delimiter, and the lines to be skipped. CRLF, LF and CR end a line. */
function measurePreamble(text: Buffer, skippedLines: number): Preamble {
  let bytes = findDelimiterLine(text.toString('latin1', 0, delimiterLineMax))?.length ?? 0;
  let lines = bytes > 0 ? 1 : 0;
  for (let left = skippedLines; left > 0 && bytes < text.length; left--) {
    bytes = lineEndOf(text, bytes);
    lines++;
  }
  return { bytes, lines };
}

/** Returns where the line after the one at `at` begins. */
function lineEndOf(text: Buffer, at: number): number {
  let end = at;
  while (end < text.length) {
    const length = lineEndLength(text, end, true, true);
    if (length > 0) return end + length;
    end++;
  }
  return end;
}

/** Splits the first record that is not blank. @returns undefined when it does not end within the text and the limit */
export function firstRecord(text: Buffer, delimiter: Delimiter, limit = Infinity): string[] | undefined {
  const scanner = new RecordScanner(delimiter, Infinity, true);
  scanner.next = 0;
  while (scanner.next < text.length) {
    scanner.begin(scanner.next);
    if (scanner.scan(text, true) !== 'complete' || scanner.next > limit) return undefined;
    const fields = Array.from({ length: scanner.fieldCount }, (_, position) => scanner.field(position)!);
    if (!isBlankRecord(fields)) return fields.map(trimText);
  }
  return undefined;
}

/** Splits the first records that are not blank, each with the number of lines before it. */
export function firstRecords(
  text: Buffer,
  delimiter: Delimiter,
  recordsMax = firstRecordsMax,
): TableRecord[] {
  const scanner = new RecordScanner(delimiter, Infinity, true);
  const records: TableRecord[] = [];
  let linesBefore = 0;
  scanner.next = 0;
  while (scanner.next < text.length && records.length < recordsMax) {
    scanner.begin(scanner.next);
    if (scanner.scan(text, true) !== 'complete') break;
    const fields = Array.from({ length: Math.min(scanner.fieldCount, firstFieldsMax) }, (_, position) =>
      scanner.field(position)!,
    );
    if (!isBlankRecord(fields)) records.push({ fields, linesBefore });
    linesBefore += scanner.lineBreaks + 1;
  }
  return records;
}

const firstRecordsMax = 250;

const firstFieldsMax = 2_000;

function withoutHeaderRow(
  rest: Buffer,
  definition: FormatDefinition,
  preamble: Preamble,
  delimiter: Delimiter,
): NamedHeader {
  const place = { delimiter, preamble, hasHeaderRow: false };
  const reading = new FormatReading(resolveFormat(definition, place, (name) => Number(name) - 1));
  const wanted = (reading.positions.at(-1) ?? -1) + 1;
  const records = firstRecords(rest.subarray(0, headerRowBytes), delimiter);
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

/** Returns the number of fields that most of the records have; not fewer than the first one. */
function usualWidth(records: readonly TableRecord[]): number {
  const counts = new Map<number, number>();
  for (const { fields } of records) {
    // A delimiter at the end is no field.
    const width = fields.at(-1) === '' ? fields.length - 1 : fields.length;
    counts.set(width, (counts.get(width) ?? 0) + 1);
  }
  const widths = [...counts].sort(([a, many], [b, more]) => more - many || a - b);
  return Math.max(records[0]?.fields.length ?? 0, widths[0]?.[0] ?? 0);
}

function withColumns(
  names: string[],
  definition: FormatDefinition,
  place: Pick<ResolvedFormat, 'delimiter' | 'preamble'>,
): NamedHeader | { problem: string } {
  const positions = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [position, name] of names.map(comparable).entries()) {
    if (positions.has(name)) repeated.add(name);
    else positions.set(name, position);
  }
  const used = new Map<number, string>();
  const resolved = resolveFormat(definition, { ...place, hasHeaderRow: true }, (header) => {
    const position = positions.get(comparable(header));
    if (position !== undefined) used.set(position, header);
    return position;
  });
  const codes = codesPosition(names);
  const reading = new FormatReading(resolved, codes);
  const duplicate = [...used.keys()]
    .sort((a, b) => a - b)
    .find((position) => repeated.has(comparable(names[position]!)));
  if (duplicate !== undefined) {
    return { problem: `Invalid CSV file: Duplicate header: ${used.get(duplicate)}` };
  }
  return {
    delimiter: place.delimiter,
    names,
    fieldCount: names.length,
    positions: reading.firstPositions,
    codes,
    reading,
  };
}

/** Lists the columns without which a file is not accepted. */
const requiredColumnsOf = (mode: LoadMode): readonly ProductColumn[] =>
  mode === 'update' ? ['sku'] : requiredColumns;

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
  return requiredColumns.map((column) => nameOf(columns[column], column));
}

function nameOf(source: ColumnSource | undefined, column: ProductColumn): string {
  return (source && headersOf(source)[0]) ?? column;
}
