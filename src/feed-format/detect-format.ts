import { findBuiltInFormat } from './built-in-formats';
import { columnFormat, type ProductColumn } from './columns';
import type { Encoding } from './decode-text';
import type { Delimiter } from './delimiter';
import { delimiterLineMax, findDelimiterLine } from './delimiter-line';
import { availabilityWords, detectColumns, type ColumnMatch } from './detect-columns';
import { detectDecimal } from './detect-decimal';
import { decodeBeginning, detectEncoding } from './detect-encoding';
import { detectTable, type Table, type TableRecord } from './detect-table';
import { fileHint } from './file-hint';
import type { FormatDefinition } from './format-definition';
import { comparable } from './format-reading';
import { trimText } from './text';

/** What a file seems to be. */
export interface FormatDetection {
  encoding: { value: Encoding | null; confidence: number };
  delimiter: { value: Delimiter | null; confidence: number };
  decimalSeparator: { value: '.' | ',' | null; confidence: number };
  skipLines: number;
  headers: { header: string; column: ProductColumn | null; confidence: number }[];
  /** How to read the file; null where no sku or no name is found. */
  definition: FormatDefinition | null;
  /** Beginning of the text as UTF-8; undefined where it is no text. */
  text: Buffer | undefined;
}

/** Splits the beginning of a text into its first records that are not blank. */
export type SplitText = (text: Buffer, delimiter: Delimiter) => TableRecord[];

const nothing: FormatDetection = {
  encoding: { value: null, confidence: 0 },
  delimiter: { value: null, confidence: 0 },
  decimalSeparator: { value: null, confidence: 0 },
  skipLines: 0,
  headers: [],
  definition: null,
  text: undefined,
};

/** Kinds of files that are text, and may be tables. */
const textHints = new Set<string | undefined>([undefined, 'utf_16', 'windows_1252']);

/** Text in which the records are sought. */
const tableBytes = 128 * 1024;

/**
 * Finds how to read a file.
 * @param bytes - the file, or its beginning
 */
export function detectFormat(bytes: Buffer, split: SplitText): FormatDetection {
  if (bytes.length === 0 || !textHints.has(fileHint(bytes)?.code)) return nothing;
  const { encoding, confidence } = detectEncoding(bytes);
  const decoded = decodeBeginning(bytes, encoding ?? 'utf-8') ?? (encoding === null ? bytes : undefined);
  if (!decoded || decoded.includes(0)) return nothing;
  const found = { ...nothing, encoding: { value: encoding, confidence }, text: decoded };
  const line = findDelimiterLine(decoded.toString('latin1', 0, delimiterLineMax));
  const start = decoded.subarray(line?.length ?? 0).subarray(0, tableBytes);
  const table = detectTable((delimiter) => split(start, delimiter), line?.stated);
  if (!table) return found;
  return { ...found, ...detectInTable(table, encoding) };
}

function detectInTable(table: Table, encoding: Encoding | null) {
  const { delimiter, names, rows, confidence, skipLines } = table;
  const builtIn = builtInFor(names);
  const matches = builtIn ? matchesOf(builtIn, names) : detectColumns(table);
  const price = matches.find(({ column }) => column === 'price');
  const cellsAt = (position: number) => rows.map((row) => trimText(row[position] ?? ''));
  const others = price
    ? names.flatMap((_, position) => (position === price.position ? [] : cellsAt(position)))
    : [];
  const decimal = detectDecimal(price ? cellsAt(price.position) : [], others);
  const of = (position: number) => matches.find((match) => match.position === position);
  const place = {
    ...(delimiter !== ',' && { delimiter }),
    ...(encoding !== null && encoding !== 'utf-8' && { encoding }),
    ...(skipLines > 0 && { skip_lines: skipLines }),
    ...(decimal.separator === ',' && { decimal_separator: ',' }),
  };
  return {
    delimiter: { value: names.length > 1 ? delimiter : null, confidence },
    decimalSeparator: { value: decimal.separator ?? ('.' as const), confidence: decimal.confidence },
    skipLines,
    headers: names.map((header, position) => ({
      header,
      column: of(position)?.column ?? null,
      confidence: of(position)?.confidence ?? 0,
    })),
    definition: builtIn ? { ...builtIn, ...place } : definitionOf(table, matches, place),
  };
}

/** Headers by which the export of a system is known. */
const marks: Record<string, readonly string[]> = {
  shopify: ['Handle', 'Title', 'Variant SKU', 'Variant Price'],
  woocommerce: ['SKU', 'Name', 'Regular price'],
  standard: ['sku', 'product_name'],
  'google-merchant': ['id', 'title', 'price', 'availability'],
};

function builtInFor(names: readonly string[]): FormatDefinition | undefined {
  const known = new Set(names.map((name) => comparable(name).replace(/^g:/, '')));
  const found = Object.entries(marks).find(([, headers]) =>
    headers.every((header) => known.has(comparable(header))),
  );
  const definition = found && findBuiltInFormat(found[0])!.definition;
  if (!definition) return undefined;
  // A header that occurs twice cannot be read.
  const used = Object.values(definition.columns).flatMap(({ from, join }) =>
    (from ?? join ?? []).map(comparable),
  );
  const isTwice = used.some((header) => names.filter((name) => comparable(name) === header).length > 1);
  return isTwice ? undefined : definition;
}

/** Confidence in the columns of a known system. */
const builtInConfidence = 0.98;

function matchesOf({ columns }: FormatDefinition, names: readonly string[]): ColumnMatch[] {
  const present = names.map(comparable);
  const columnNames = Object.keys(columns) as ProductColumn[];
  return columnNames.flatMap((column) => {
    const { from, join } = columns[column]!;
    const header = (from ?? join ?? []).find((each) => present.includes(comparable(each)));
    if (header === undefined) return [];
    const position = present.indexOf(comparable(header));
    const isOwn = columnFormat(column).name === comparable(header);
    return [{ position, column, confidence: isOwn ? 1 : builtInConfidence }];
  });
}

/** Words in place of a price. */
const nullWords = new Set(['n/a', 'na', '-', '--', 'null', 'none', '#n/a', 'k.a.', 'nan', '—', '–']);

function definitionOf(
  { names, rows }: Table,
  matches: readonly ColumnMatch[],
  place: Partial<FormatDefinition>,
): FormatDefinition | null {
  const isOnce = (position: number) =>
    names.filter((name) => comparable(name) === comparable(names[position]!)).length === 1;
  const usable = matches.filter(
    ({ position }) => isOnce(position) && names[position]!.length <= headerCharactersMax,
  );
  const columns: Partial<FormatDefinition['columns']> = {};
  for (const { column, position } of usable) columns[column] = { from: [names[position]!] };
  const { sku, product_name } = columns;
  if (!sku || !product_name) return null;
  const cellsOf = (wanted: ProductColumn) => {
    const position = usable.find(({ column }) => column === wanted)?.position;
    return position === undefined ? [] : rows.map((row) => trimText(row[position] ?? ''));
  };
  const empty = [...new Set(cellsOf('price').filter((cell) => nullWords.has(cell.toLowerCase())))];
  const availability = availabilityWords(cellsOf('availability'));
  return {
    ...place,
    ...(empty.length > 0 && { null_values: empty }),
    columns: { ...columns, sku },
    ...(availability && { availability }),
  };
}

/** Longer names are refused in a format. */
const headerCharactersMax = 255;
