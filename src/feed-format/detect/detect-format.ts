import { findBuiltInFormat } from '../built-in-formats';
import { columnsOfTable, type Column } from './column-cells';
import { columnFormat, productColumns, type ProductColumn } from '../columns';
import { currencyInHeader, currencyInPrice, minorDigitsOf } from '../currency';
import type { ColumnSource, Encoding, FeedFormat, FormatDefinition } from '../format-definition';
import { decodeBeginning } from '../read/decode-text';
import type { Delimiter } from '../delimiter';
import { delimiterLineMax, findDelimiterLine } from '../read/delimiter-line';
import { availabilityWords, detectColumns, type ColumnMatch } from './detect-columns';
import { detectDecimal, type PriceCell } from './detect-decimal';
import { detectEncoding } from './detect-encoding';
import { choosePrice, type PriceChoice } from './detect-price';
import { chooseSku } from './detect-sku';
import { detectTable, type Table } from './detect-table';
import { fileHint } from './file-hint';
import {
  currencyDoubt,
  damagedSkuDoubt,
  decimalDoubt,
  type FormatDoubt,
  type FormatDraft,
  priceDoubt,
  type PriceReading,
  quoteDoubt,
  skuDoubt,
} from './format-doubts';
import { comparable } from '../read/format-reading';
import { firstRecords } from '../read/first-records';
import { trimText } from '../text';

/** The detected properties of a file. */
export interface FormatDetection {
  encoding: { value: Encoding | null; confidence: number };
  delimiter: { value: Delimiter | null; confidence: number };
  /** Null if it is in doubt, or the file is no table. */
  decimalSeparator: '.' | ',' | null;
  skipLines: number;
  headers: { header: string; column: ProductColumn | null; confidence: number }[];
  /** How to read the file, without the parts in doubt; null without a sku or a name. */
  draft: FormatDraft | null;
  doubts: readonly FormatDoubt[];
  /** The draft, if nothing is in doubt. */
  definition: FormatDefinition | null;
  /** Beginning of the text as UTF-8; undefined if it is no text. */
  text: Buffer | undefined;
}

const nothing: FormatDetection = {
  encoding: { value: null, confidence: 0 },
  delimiter: { value: null, confidence: 0 },
  decimalSeparator: null,
  skipLines: 0,
  headers: [],
  draft: null,
  doubts: [],
  definition: null,
  text: undefined,
};

/** Kinds of text files, which may be tables. */
const textHints = new Set<string | undefined>([undefined, 'utf_16', 'windows_1252']);

/** Sample size for the records. */
const tableBytes = 128 * 1024;

interface DetectionOptions {
  /** Whether the bytes are the whole file; if not, the last record may be truncated. */
  complete: boolean;
  /** The currency in orders of products without one. */
  defaultCurrency: string;
}

/**
 * Finds how to read a file.
 * @param bytes - the file, or its beginning
 */
export function detectFormat(bytes: Buffer, options: DetectionOptions): FormatDetection {
  const { complete } = options;
  if (bytes.length === 0 || !textHints.has(fileHint(bytes)?.code)) return nothing;
  const { encoding, confidence } = detectEncoding(bytes);
  const decoded =
    decodeBeginning(bytes, { encoding: encoding ?? 'utf-8' }) ?? (encoding === null ? bytes : undefined);
  if (!decoded || decoded.includes(0)) return nothing;
  const found = { ...nothing, encoding: { value: encoding, confidence }, text: decoded };
  const line = findDelimiterLine(decoded.toString('latin1', 0, delimiterLineMax));
  const text = decoded.subarray(line?.length ?? 0);
  const start = text.subarray(0, tableBytes);
  const table = detectTable((delimiter) => firstRecords(start, delimiter), line?.stated);
  if (!table) return found;
  const records = firstRecords(text, table.delimiter, Infinity).slice(table.recordsBefore + 1);
  const whole = complete ? records : records.slice(0, -1);
  const rows = whole.map(({ fields }) => fields).filter((fields) => isSplit(fields, table.names.length));
  return { ...found, ...detectInTable({ ...table, rows }, encoding, options.defaultCurrency) };
}

/** Whether a run can split a record; a record with too many fields may have shifted fields. */
const isSplit = (fields: readonly string[], width: number) =>
  fields.length <= width || (fields.length === width + 1 && fields.at(-1) === '');

function detectInTable(table: Table, encoding: Encoding | null, defaultCurrency: string) {
  const { delimiter, names, rows, confidence, skipLines } = table;
  const builtIn = builtInFor(names);
  const columns = columnsOfTable(table);
  const known = builtIn ? matchesOf(builtIn.definition, names) : [];
  const knownAs = (column: ProductColumn) => {
    const match = known.find((each) => each.column === column);
    return match && columns.find(({ position }) => position === match.position);
  };
  const sku = chooseSku(columns, rows, knownAs('sku'));
  const found = choosePrice(columns, knownAs('price'));
  // The prices have another name than in the export of this system.
  const isForeign = builtIn && found.chosen && !knownAs('price');
  const price: PriceChoice = isForeign
    ? { ...found, chosen: undefined, rivals: [found.chosen!], doubt: 'unsure' }
    : found;
  const taken = new Set(
    [...sku.rivals, ...price.rivals, sku.chosen, price.chosen].map((each) => each?.position),
  );
  const matches = [
    ...(builtIn ? known : detectColumns(columns, taken)).filter(
      ({ column }) => column !== 'sku' && column !== 'price',
    ),
    ...matchOf(sku.chosen, 'sku', builtIn ? builtInConfidence : sku.confidence),
    ...matchOf(price.chosen, 'price', builtIn ? builtInConfidence : price.confidence),
  ];
  const currencies = matches.find(({ column }) => column === 'currency');
  const currencyCells = columns.find(({ position }) => position === currencies?.position)?.cells;
  const readingOf = (column: Column): PriceReading => ({
    ...detectDecimal(priceCells(column, currencyCells)),
    currency: currencyOf(column, currencyCells),
  });
  const reading = price.chosen && readingOf(price.chosen);
  const draftedPrice = reading?.doubt ? undefined : price.chosen;
  const guesses = [
    ...matchOf(sku.rivals[0], 'sku', guessConfidence),
    ...matchOf(price.rivals[0], 'price', guessConfidence),
  ];
  const of = (position: number) => [...matches, ...guesses].find((match) => match.position === position);
  const place = {
    ...(delimiter !== ',' && { delimiter }),
    ...(encoding !== null && encoding !== 'utf-8' && { encoding }),
    ...(skipLines > 0 && { skip_lines: skipLines }),
    ...(reading?.separator === ',' && { decimal_separator: ',' }),
  };
  const hasName = matches.some(({ column }) => column === 'product_name');
  const hasSku = sku.chosen !== undefined || sku.rivals.length > 0;
  const drafted = matches.filter(
    ({ column, position }) => column !== 'price' || position === draftedPrice?.position,
  );
  const isRead = ({ position }: Column) =>
    taken.has(position) || matches.some((match) => match.position === position);
  const doubts = [
    skuDoubt(sku),
    damagedSkuDoubt([sku.chosen ?? sku.rivals].flat()),
    quoteDoubt(columns.filter(isRead)),
    // Before the price: its answer may name the currency of one column.
    builtIn?.name === 'standard'
      ? undefined
      : currencyDoubt([price.chosen ?? price.rivals].flat(), readingOf, defaultCurrency),
    priceDoubt(price, readingOf),
    price.chosen && decimalDoubt(price.chosen, reading!),
  ].filter((doubt) => doubt !== undefined);
  const constant = draftedPrice && typeof reading!.currency === 'object' ? reading!.currency : undefined;
  const draft =
    hasName && hasSku
      ? draftOf(table, { builtIn: builtIn?.definition, matches: drafted, place, currency: constant })
      : null;
  const isOpen = draft === null || doubts.length > 0;
  return {
    delimiter: { value: names.length > 1 ? delimiter : null, confidence },
    decimalSeparator: reading?.doubt || price.doubt ? null : (reading?.separator ?? ('.' as const)),
    skipLines,
    headers: names.map((header, position) => ({
      header,
      column: of(position)?.column ?? null,
      confidence: of(position)?.confidence ?? 0,
    })),
    draft,
    doubts: draft === null ? [] : doubts,
    definition: isOpen ? null : (draft as unknown as FormatDefinition),
  };
}

/** Confidence in the likeliest of several columns. */
const guessConfidence = 0.5;

function matchOf(column: Column | undefined, name: ProductColumn, confidence: number): ColumnMatch[] {
  if (!column) return [];
  const isOwn = comparable(column.header) === name;
  return [{ position: column.position, column: name, confidence: isOwn ? 1 : confidence }];
}

/** Adds the known currency to prices: from cell, row or header. */
function priceCells({ header, cells }: Column, currencyCells: readonly string[] | undefined): PriceCell[] {
  const ofHeader = currencyInHeader(header);
  return cells.map((text, at) => {
    const code = currencyInPrice(text)?.code ?? (currencyCells?.[at] || undefined)?.toUpperCase() ?? ofHeader;
    return { text, minorDigits: code === undefined ? undefined : minorDigitsOf(code) };
  });
}

/** Finds the source of the currency of a column of prices. */
function currencyOf(
  { header, cells }: Column,
  currencyCells: readonly string[] | undefined,
): PriceReading['currency'] {
  if (currencyCells?.some((cell) => cell !== '')) return 'cells';
  const named = cells.filter((cell) => /\d/.test(cell)).map(currencyInPrice);
  const [first] = named;
  if (named.length > 0 && named.every((each) => each && !each.isSign)) return 'cells';
  const ofHeader = currencyInHeader(header);
  if (ofHeader !== undefined) return { value: ofHeader };
  const isAlike = first !== undefined && named.every((each) => each?.code === first.code);
  return isAlike ? { value: first.code } : 'unknown';
}

/** Headers that identify the export of a system. */
const marks: Record<string, readonly string[]> = {
  shopify: ['Handle', 'Title', 'Variant SKU', 'Variant Price'],
  woocommerce: ['SKU', 'Name', 'Regular price'],
  standard: ['sku', 'product_name'],
  'google-merchant': ['id', 'title', 'price', 'availability'],
};

function builtInFor(names: readonly string[]): FeedFormat | undefined {
  const known = new Set(names.map((name) => comparable(name).replace(/^g:/, '')));
  const found = Object.entries(marks).find(([, headers]) =>
    headers.every((header) => known.has(comparable(header))),
  );
  const format = found && findBuiltInFormat(found[0]);
  if (!format) return undefined;
  // A repeated header cannot be read.
  const used = Object.values(format.definition.columns).flatMap(({ from, join }) =>
    (from ?? join ?? []).map(comparable),
  );
  const isTwice = used.some((header) => names.filter((name) => comparable(name) === header).length > 1);
  return isTwice ? undefined : format;
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

interface DraftParts {
  builtIn: FormatDefinition | undefined;
  matches: readonly ColumnMatch[];
  place: Partial<FormatDefinition>;
  /** The currency of all prices. */
  currency: { value: string } | undefined;
}

function draftOf(table: Table, { builtIn, matches, place, currency }: DraftParts): FormatDraft {
  const { names, rows } = table;
  const constant = currency && { currency };
  if (builtIn) {
    const { sku, price, ...columns } = builtIn.columns;
    const has = (wanted: ProductColumn) => matches.some(({ column }) => column === wanted);
    const kept = {
      ...(has('sku') && { sku }),
      ...columns,
      ...(has('price') && price && { price }),
      ...constant,
    };
    return { ...builtIn, ...place, columns: inOrder(kept) };
  }
  const columns = Object.fromEntries(
    matches.map(({ column, position }) => [column, { from: [names[position]!] }]),
  );
  const cellsOf = (wanted: ProductColumn) => {
    const position = matches.find(({ column }) => column === wanted)?.position;
    return position === undefined ? [] : rows.map((row) => trimText(row[position] ?? ''));
  };
  const empty = [...new Set(cellsOf('price').filter((cell) => nullWords.has(cell.toLowerCase())))];
  const availability = availabilityWords(cellsOf('availability'));
  return {
    ...place,
    ...(empty.length > 0 && { null_values: empty.slice(0, nullValuesMax) }),
    columns: inOrder({ ...columns, ...constant }),
    ...(availability && { availability }),
  };
}

const nullValuesMax = 100;

/** Sorts columns as the template has them. */
const inOrder = (columns: Partial<Record<ProductColumn, ColumnSource>>) =>
  Object.fromEntries(
    productColumns.flatMap((column) => {
      const source = columns[column];
      return source ? [[column, source] as const] : [];
    }),
  );
