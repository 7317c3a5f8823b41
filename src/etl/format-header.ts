import type { ProductColumn } from '../feed-format/columns';
import type { ColumnSource, FormatDefinition } from '../feed-format/format-definition';
import { comparable, FormatReading, resolveFormat, type Preamble } from '../feed-format/format-reading';
import type { TableRecord } from '../feed-format/detect-table';
import { delimiters, type Delimiter } from '../feed-format/delimiter';
import { delimiterLineMax, findDelimiterLine } from '../feed-format/delimiter-line';
import { headerRowBytes, isBlankRecord, type NamedHeader } from '../feed-format/header';
import type { LoadMode } from '../feed-format/load-options';
import { trimText } from '../feed-format/text';
import { LooseScanner, looseLineEndLength } from './scan-loosely';

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
  const tried: readonly Delimiter[] = definition.delimiter ? [definition.delimiter as Delimiter] : delimiters;
  if (definition.header === false) return withoutHeaderRow(rest, definition, preamble, tried[0]!);

  const candidates = tried.map((delimiter) => ({ delimiter, names: firstRecord(rest, delimiter, limit) }));
  const required = requiredSources(definition, mode);
  const found = candidates.find(({ names }) => {
    const known = new Set(names?.map(comparable));
    return names && required.every((source) => isPresent(source, known));
  });
  if (!found?.names) {
    const isEndless = candidates.every(({ names }) => names === undefined) && text.length > headerRowBytes;
    return {
      problem: isEndless
        ? `Invalid CSV file: The header row is longer than ${headerRowBytes} bytes.`
        : `Invalid CSV file: Missing required CSV headers: ${requiredNames(definition).join(', ')}`,
    };
  }
  return withColumns(found.names, definition, { delimiter: found.delimiter, preamble });
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
    const length = looseLineEndLength(text, end, true);
    if (length > 0) return end + length;
    end++;
  }
  return end;
}

/** Splits the first record that is not blank. @returns undefined when it does not end within the text and the limit */
export function firstRecord(text: Buffer, delimiter: Delimiter, limit = Infinity): string[] | undefined {
  const scanner = new LooseScanner(delimiter, Infinity);
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
export function firstRecords(text: Buffer, delimiter: Delimiter): TableRecord[] {
  const scanner = new LooseScanner(delimiter, Infinity);
  const records: TableRecord[] = [];
  let linesBefore = 0;
  scanner.next = 0;
  while (scanner.next < text.length && records.length < firstRecordsMax) {
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
  const reading = new FormatReading(resolveFormat(definition, { delimiter, preamble }, () => undefined));
  const wanted = (reading.positions.at(-1) ?? -1) + 1;
  return {
    delimiter,
    names: [],
    fieldCount: Math.max(definition.fields ?? usualWidth(firstRecords(rest, delimiter)), wanted),
    positions: reading.firstPositions,
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
  place: { delimiter: Delimiter; preamble: Preamble },
): NamedHeader | { problem: string } {
  const positions = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [position, name] of names.map(comparable).entries()) {
    if (positions.has(name)) repeated.add(name);
    else positions.set(name, position);
  }
  const used = new Map<number, string>();
  const resolved = resolveFormat(definition, place, (header) => {
    const position = positions.get(comparable(header));
    if (position !== undefined) used.set(position, header);
    return position;
  });
  const reading = new FormatReading(resolved);
  const duplicate = reading.positions.find((position) => repeated.has(comparable(names[position]!)));
  if (duplicate !== undefined) {
    return { problem: `Invalid CSV file: Duplicate header: ${used.get(duplicate)}` };
  }
  return {
    delimiter: place.delimiter,
    names,
    fieldCount: names.length,
    positions: reading.firstPositions,
    reading,
  };
}

/** Sources without which a file is not accepted. */
function requiredSources({ columns }: FormatDefinition, mode: LoadMode): (ColumnSource | undefined)[] {
  return mode === 'update' ? [columns.sku] : [columns.product_name, columns.sku];
}

function isPresent(source: ColumnSource | undefined, known: ReadonlySet<string>): boolean {
  if (!source) return false;
  if (source.value !== undefined) return true;
  return (source.from ?? source.join ?? []).some((header) => known.has(comparable(header)));
}

/** Headers of the required columns, in the order of the specification's text. */
function requiredNames({ columns }: FormatDefinition): string[] {
  return (['product_name', 'sku'] as const).map((column) => nameOf(columns[column], column));
}

function nameOf(source: ColumnSource | undefined, column: ProductColumn): string {
  return (source?.from ?? source?.join)?.[0] ?? column;
}
