import { columnsOfTable, isNumber, type Column } from './column-cells';
import type { ProductColumn } from '../columns';
import { currencyInHeader, currencyInPrice, minorDigitsOf } from '../currency';
import type { Encoding, FeedFormat, FormatDefinition } from '../format-definition';
import { decodeBeginning } from '../read/decode-text';
import type { Delimiter } from '../delimiter';
import { delimiterLineMax, findDelimiterLine } from '../read/delimiter-line';
import { detectColumns, type ColumnMatch } from './detect-columns';
import { detectDecimal, type PriceCell } from './detect-decimal';
import { detectEncoding } from './detect-encoding';
import { findGroup } from './detect-groups';
import { chooseName } from './detect-name';
import { choosePrice, type PriceChoice } from './detect-price';
import { conditionOfShown, findRowChoice } from './detect-rows';
import { chooseSku } from './detect-sku';
import { detectTable, type Table } from './detect-table';
import { draftOf } from './draft-format';
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
} from './format-doubts';
import { comparable } from '../read/format-reading';
import { trimText } from '../text';
import { firstRecords } from '../read/first-records';
import type { RecordSyntax } from '../read/record-syntax';
import { hasTextMarks, readRows } from './detect-quote';
import { nameDoubt, skuDoubt } from './key-doubts';
import { builtInConfidence, builtInFor, matchesOf } from './known-systems';

/** What a header means, and why. */
interface DetectedHeader {
  header: string;
  column: ProductColumn | null;
  confidence: number;
  /** Null without a column. */
  reason: string | null;
}

/** The detected properties of a file. */
export interface FormatDetection {
  encoding: { value: Encoding | null; confidence: number };
  delimiter: { value: Delimiter | null; confidence: number };
  /** Null if it is in doubt, or the file is no table. */
  decimalSeparator: '.' | ',' | null;
  skipLines: number;
  headers: DetectedHeader[];
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
  /** Whether the file may have no names: it updates products. */
  isUpdate?: boolean;
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
  const table = detectTable((delimiter) => firstRecords(start, delimiter, undefined, 'padded'), line?.stated);
  if (!table) return found;
  const builtIn = table.names && builtInFor(table.names);
  const read = (syntax: RecordSyntax) => {
    const records = firstRecords(text, table.delimiter, Infinity, syntax).slice(
      table.recordsBefore + (table.names ? 1 : 0),
    );
    return (complete ? records : records.slice(0, -1)).map(({ fields }) => fields);
  };
  const { rows, quote } = readRows(read, { isStandard: builtIn?.name === 'standard', width: table.width });
  const isHeader = (fields: readonly string[]) =>
    table.names?.every((name, position) => trimText(fields[position] ?? '') === name) ?? false;
  const whole = differentRows(rows.filter((fields) => isSplit(fields, table.width) && !isHeader(fields)));
  return { ...found, ...detectInTable({ ...table, builtIn, quote, rows: whole }, encoding, options) };
}

/** Whether a run can split a record; a record with too many fields may have shifted fields. */
const isSplit = (fields: readonly string[], width: number) =>
  fields.length <= width || (fields.length === width + 1 && fields.at(-1) === '');

/** Drops rows that equal a previous one. */
function differentRows(rows: readonly (readonly string[])[]): (readonly string[])[] {
  const seen = new Set<string>();
  return rows.filter((row) => {
    const text = JSON.stringify(row);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** A table with its rows, without equal ones, and how they are written. */
interface DetectedTable extends Table {
  builtIn: FeedFormat | undefined;
  quote: 'none' | undefined;
  rows: readonly (readonly string[])[];
}

function detectInTable(
  table: DetectedTable,
  encoding: Encoding | null,
  { defaultCurrency, isUpdate = false }: DetectionOptions,
) {
  const { delimiter, names, width, confidence, skipLines, builtIn, quote } = table;
  const columns = columnsOfTable(names, width, rowsOf(table));
  const known = builtIn && names ? matchesOf(builtIn.definition, names) : [];
  const knownAs = (column: ProductColumn) => {
    const match = known.find((each) => each.column === column);
    return match && columns.find(({ position }) => position === match.position);
  };
  const sku = chooseSku(columns, knownAs('sku'));
  const found = choosePrice(columns, knownAs('price'));
  // The prices have another name than in the export of this system.
  const isForeign = builtIn && found.chosen && !knownAs('price');
  const price: PriceChoice = isForeign
    ? { ...found, chosen: undefined, rivals: [found.chosen!], doubt: 'unsure' }
    : found;
  const taken = positionsOf([...sku.rivals, ...price.rivals, sku.chosen, price.chosen]);
  const name = chooseName(columns, taken, knownAs('product_name'));
  const notOther = new Set([...taken, ...positionsOf([...name.rivals, name.chosen])]);
  const others = builtIn
    ? known.filter(({ column }) => !keyColumns.includes(column))
    : detectColumns(columns, notOther);
  const matches = [
    ...others,
    ...matchOf(sku.chosen, 'sku', builtIn ? { ...sku, confidence: builtInConfidence } : sku),
    ...matchOf(name.chosen, 'product_name', builtIn ? { ...name, confidence: builtInConfidence } : name),
    ...matchOf(price.chosen, 'price', builtIn ? { ...price, confidence: builtInConfidence } : price),
  ];
  const columnAt = (position: number | undefined) => columns.find((each) => each.position === position);
  const currencyCells = columnAt(matches.find(({ column }) => column === 'currency')?.position)?.cells;
  const readingOf = (column: Column): PriceReading => ({
    ...detectDecimal(priceCells(column, currencyCells)),
    currency: currencyOf(column, currencyCells),
  });
  const reading = price.chosen && readingOf(price.chosen);
  const draftedPrice = reading?.doubt ? undefined : price.chosen;
  const guess = { confidence: guessConfidence, reason: 'it is one of several columns' };
  const guesses = [
    ...matchOf(sku.rivals[0], 'sku', guess),
    ...matchOf(price.rivals[0], 'price', guess),
    ...matchOf(name.rivals[0], 'product_name', guess),
  ];
  const of = (position: number) => [...matches, ...guesses].find((match) => match.position === position);
  const shown = conditionOfShown(columns);
  const isMarked = hasTextMarks(
    [sku.chosen ?? sku.rivals].flat().map(({ cells }) => cells),
    columns.map(({ cells }) => cells),
  );
  const place = {
    ...(delimiter !== ',' && { delimiter }),
    ...(encoding !== null && encoding !== 'utf-8' && { encoding }),
    ...(skipLines > 0 && { skip_lines: skipLines }),
    ...(!names && { header: false, fields: width }),
    ...(quote && { quote }),
    ...(!builtIn && shown && { only_rows_where: shown }),
    ...(isMarked && { text_marks: 'strip' as const }),
    ...(reading?.separator === ',' && { decimal_separator: ',' }),
    ...(reading?.currency === 'signs' && { currency_from_sign: true }),
  };
  const hasName = isUpdate || name.chosen !== undefined || name.rivals.length > 0;
  const hasSku = sku.chosen !== undefined || sku.rivals.length > 0;
  const drafted = matches.filter(
    ({ column, position }) => column !== 'price' || position === draftedPrice?.position,
  );
  const isRead = ({ position }: Column) =>
    notOther.has(position) || matches.some((match) => match.position === position);
  const doubts = [
    skuDoubt(sku, sku.doubt === 'repeated' ? findRowChoice(columns, sku.rivals[0]!) : undefined),
    damagedSkuDoubt([sku.chosen ?? sku.rivals].flat(), isMarked),
    nameDoubt(name),
    builtIn?.name === 'standard' ? quoteDoubt(columns.filter(isRead)) : undefined,
    // Before the price: its answer may name the currency of one column.
    builtIn?.name === 'standard'
      ? undefined
      : currencyDoubt([price.chosen ?? price.rivals].flat(), readingOf, defaultCurrency),
    priceDoubt(price, readingOf),
    price.chosen && decimalDoubt(price.chosen, reading!),
  ].filter((doubt) => doubt !== undefined);
  const constant = draftedPrice && typeof reading!.currency === 'object' ? reading!.currency : undefined;
  const isGrouped = !builtIn && name.chosen;
  const group = isGrouped
    ? findGroup(
        columns,
        name.chosen!,
        others.filter(isFillable).map(({ position }) => columnAt(position)!),
      )
    : undefined;
  const draft =
    hasName && hasSku
      ? draftOf({ builtIn: builtIn?.definition, columns, matches: drafted, group, place, currency: constant })
      : null;
  const isOpen = draft === null || doubts.length > 0;
  return {
    delimiter: { value: width > 1 ? delimiter : null, confidence },
    decimalSeparator: reading?.doubt || price.doubt ? null : (reading?.separator ?? ('.' as const)),
    skipLines,
    headers: (names ?? Array.from({ length: width }, () => '')).map((header, position) => ({
      header,
      column: of(position)?.column ?? null,
      confidence: of(position)?.confidence ?? 0,
      reason: of(position)?.reason ?? null,
    })),
    draft,
    doubts: draft === null ? [] : doubts,
    definition: isOpen ? null : (draft as unknown as FormatDefinition),
  };
}

/** Returns the rows that the built-in format reads. */
function rowsOf({ builtIn, names, rows }: DetectedTable): DetectedTable['rows'] {
  const needed = builtIn?.definition.ignore_rows_without;
  if (!needed || !names) return rows;
  const positions = needed.map((header) =>
    names.findIndex((name) => comparable(name) === comparable(header)),
  );
  if (positions.every((position) => position === -1)) return rows;
  return rows.filter((row) => positions.some((position) => trimText(row[position] ?? '') !== ''));
}

/** Columns that are chosen one by one. */
const keyColumns: readonly ProductColumn[] = ['sku', 'product_name', 'price'];

/** Texts of a product, which exports write once for all of its variants. */
const isFillable = ({ column }: ColumnMatch) => ['description', 'brand', 'category'].includes(column);

const positionsOf = (columns: readonly (Column | undefined)[]) =>
  new Set(columns.flatMap((column) => (column ? [column.position] : [])));

/** Confidence in the likeliest of several columns. */
const guessConfidence = 0.5;

function matchOf(
  column: Column | undefined,
  name: ProductColumn,
  { confidence, reason }: { confidence: number; reason: string },
): ColumnMatch[] {
  if (!column) return [];
  const isOwn = comparable(column.header) === name;
  return [{ position: column.position, column: name, ...(isOwn ? own : { confidence, reason }) }];
}

const own = { confidence: 1, reason: 'its name is ours' };

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
  const named = cells.filter(isNumber).map(currencyInPrice);
  const [first] = named;
  if (named.length > 0 && named.every((each) => each && !each.isSign)) return 'cells';
  const ofHeader = currencyInHeader(header);
  if (ofHeader !== undefined) return { value: ofHeader };
  const isAlike = first !== undefined && named.every((each) => each?.code === first.code);
  if (isAlike) return { value: first.code };
  return named.length > 0 && named.every((each) => each !== undefined) ? 'signs' : 'unknown';
}
