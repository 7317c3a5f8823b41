import { productColumns, type ProductColumn } from '../columns';
import type { Encoding, FormatDefinition } from '../format-definition';
import type { Delimiter } from '../delimiter';
import { decodeBeginning } from '../read/decode-text';
import { delimiterLineMax, findDelimiterLine } from '../read/delimiter-line';
import { firstRecords } from '../read/first-records';
import type { RecordSyntax } from '../read/record-syntax';
import { comparable, trimText } from '../text';
import { chooseColumns, type ChosenColumns, type DetectedTable } from './choose-columns';
import type { Column } from './column-cells';
import { detectEncoding } from './detect-encoding';
import { hasTextMarks, readRows } from './detect-quote';
import { conditionOfShown, findRowChoice } from './detect-rows';
import { detectTable } from './detect-table';
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
import { nameDoubt, skuDoubt } from './key-doubts';
import { builtInFor } from './known-systems';
import { readPriceColumn } from './price-column';

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
  const { rows, quote } = readRows(read, {
    isStandard: builtIn?.name === 'standard',
    width: table.width,
    hasQuotes: text.includes('"'),
  });
  const isHeader = (fields: readonly string[]) =>
    table.names?.every((name, position) => trimText(fields[position] ?? '') === name) ?? false;
  const whole = differentRows(rows.filter((fields) => isSplit(fields, table.width) && !isHeader(fields)));
  const hasBlankRows = builtIn?.name === 'standard' && blankRow.test(text.toString('latin1'));
  return {
    ...found,
    ...detectInTable({ ...table, builtIn, quote, hasBlankRows, rows: whole }, encoding, options),
  };
}

/** Rows of empty cells one after the other, as spreadsheets write them. */
const blankRow = /\n,+\r?\n,+\r?(?:\n|$)/;

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

function detectInTable(
  table: DetectedTable,
  encoding: Encoding | null,
  { defaultCurrency, isUpdate = false }: DetectionOptions,
) {
  const { delimiter, names, width, confidence, skipLines, builtIn } = table;
  const chosen = chooseColumns(table);
  const { columns, sku, name, price, matches, guesses, group } = chosen;
  const currencies = matches.find(({ column }) => column === 'currency');
  const currencyCells = columns.find(({ position }) => position === currencies?.position)?.cells;
  const readingOf = (column: Column) => readPriceColumn(column, currencyCells);
  const reading = price.chosen && readingOf(price.chosen);
  const skus = [sku.chosen ?? sku.rivals].flat();
  const prices = [price.chosen ?? price.rivals].flat();
  const isMarked = hasTextMarks(cellsOf(skus), cellsOf(columns));
  const hasName = isUpdate || name.chosen !== undefined || name.rivals.length > 0;
  const draft =
    hasName && skus.length > 0
      ? draftOf({
          builtIn: builtIn?.definition,
          columns,
          prices,
          texts: [...skus, ...[name.chosen ?? name.rivals].flat()],
          // A price of doubtful notation is left out.
          matches: matches.filter(({ column }) => column !== 'price' || !reading?.doubt),
          group,
          place: placeOf(table, encoding, { isMarked, reading, columns }),
          currency: typeof reading?.currency === 'object' && !reading.doubt ? reading.currency : undefined,
        })
      : null;
  const isStandard = builtIn?.name === 'standard';
  const doubts = [
    skuDoubt(
      sku,
      sku.doubt === 'repeated' ? findRowChoice(columns, sku.rivals[0]!) : undefined,
      builtIn?.definition.ignore_rows_without,
    ),
    damagedSkuDoubt(skus, isMarked),
    nameDoubt(name),
    isStandard ? quoteDoubt(readColumns(chosen)) : undefined,
    // Before the price: its answer may name the currency of one column.
    isStandard ? undefined : currencyDoubt(prices, readingOf, defaultCurrency),
    priceDoubt(price, readingOf),
    price.chosen && decimalDoubt(price.chosen, reading!),
  ].filter((doubt) => doubt !== undefined);
  const isOpen = draft === null || doubts.length > 0 || encoding === null;
  const of = (position: number) => [...matches, ...guesses].find((match) => match.position === position);
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

const cellsOf = (columns: readonly Column[]) => columns.map(({ cells }) => cells);

/** Lists the columns that are read, or may be. */
const readColumns = ({ columns, sku, name, price, matches }: ChosenColumns): Column[] =>
  columns.filter(
    (column) =>
      [sku, name, price].some(({ rivals }) => rivals.includes(column)) ||
      matches.some(({ position }) => position === column.position),
  );

interface Notation {
  isMarked: boolean;
  reading: PriceReading | undefined;
  columns: readonly Column[];
}

/** Lists the members of the format besides the columns. */
function placeOf(
  { delimiter, names, width, skipLines, builtIn, quote, hasBlankRows }: DetectedTable,
  encoding: Encoding | null,
  { isMarked, reading, columns }: Notation,
): Partial<FormatDefinition> {
  const shown = builtIn ? undefined : conditionOfShown(columns);
  return {
    ...(delimiter !== ',' && { delimiter }),
    ...(encoding !== null && encoding !== 'utf-8' && { encoding }),
    ...(skipLines > 0 && { skip_lines: skipLines }),
    ...(!names && { header: false, fields: width }),
    ...(quote && { quote }),
    // By the specification, a row of empty cells has no sku.
    ...(hasBlankRows && {
      ignore_rows_without: productColumns.filter((column) =>
        names?.some((name) => comparable(name) === column),
      ),
    }),
    ...(shown && { only_rows_where: shown }),
    ...(isMarked && { text_marks: 'strip' }),
    ...(reading?.separator === ',' && { decimal_separator: ',' }),
    ...(reading?.currency === 'signs' && { currency_from_sign: true }),
  };
}
