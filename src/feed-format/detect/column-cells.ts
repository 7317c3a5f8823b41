import { parseUnit } from '../currency-signs';
import { comparable, trimText } from '../text';
import { reportColumns } from '../report-columns';
import { meaningOf, type HeaderMeaning } from './header-meaning';

/** A column of a table with its cells, one for each row, trimmed. */
export interface Column {
  /** From 0. */
  position: number;
  /** Empty in a file without header row. */
  header: string;
  cells: readonly string[];
  /** Number of cells that are not empty. */
  filled: number;
  /** What its header means, or the kind of its cells. */
  meaning: HeaderMeaning | undefined;
}

/** Share of cells from which a rule counts for a column. */
const nearlyAll = 0.9;

/**
 * Lists the columns of a table that a format can name: their header is unique and short enough.
 * @param names - the headers; empty without a header row, when positions count
 * @param rows - without equal ones
 */
export function columnsOfTable(
  names: readonly string[] | undefined,
  width: number,
  rows: readonly (readonly string[])[],
): Column[] {
  const counts = new Map<string, number>();
  for (const name of names?.map(comparable) ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  return Array.from({ length: Math.min(width, columnsMax) }, (_, position) => position).flatMap(
    (position) => {
      const header = names?.[position] ?? '';
      const isUsable =
        !names ||
        (header !== '' &&
          !isGenerated(header) &&
          header.length <= headerCharactersMax &&
          counts.get(comparable(header)) === 1);
      if (!isUsable) return [];
      const cells = rows.map((row) => trimText(row[position] ?? ''));
      const filled = cells.filter((cell) => cell !== '').length;
      return [{ position, header, cells, filled, meaning: meaningIn(meaningOf(header), cells) }];
    },
  );
}

const isGenerated = (header: string) => (reportColumns as readonly string[]).includes(header);

const columnsMax = 500;

/** Longer names are refused in a format. */
export const headerCharactersMax = 255;

/** Corrects what a header means by the cells under it. */
function meaningIn(named: HeaderMeaning | undefined, cells: readonly string[]): HeaderMeaning | undefined {
  if (!named) return meaningOfCells(cells);
  const isText = named.field === 'sku' || named.field === 'product_name';
  // Under "name (URL)", addresses are no names.
  if (isText && shareOf(cells, isAddress) >= nearlyAll)
    return { field: 'url', strength: 0.7, reason: 'its cells are addresses' };
  const isProduct = named.field === 'product_name' && named.strength < 0.6;
  // Under "article", numbers are no names.
  if (!isProduct || shareOf(cells, (cell) => codeText.test(cell)) < nearlyAll) return named;
  return { field: 'sku', strength: 0.7, reason: `${named.reason}, and its cells are numbers` };
}

/** What programs write for a missing value. */
export const isMissing = (cell: string) => /^(?:\\n|null|none|nan?|n\/a|#n\/a|-+)$/i.test(cell);

/** An address, or the name of an image. */
export const isAddress = (cell: string) => /^(?:https?:\/\/|www\.)|\.(?:jpe?g|png|webp|gif)$/i.test(cell);

/** A text that may be a number of a product: one word with a digit, and no price. */
export const codeText = /^(?!\d+[.,]\d{1,2}$)(?=\D*\d)[^\s]{1,40}$/;

/** Recognizes trade item numbers by their check digits, whatever their header. */
function meaningOfCells(cells: readonly string[]): HeaderMeaning | undefined {
  const filled = cells.filter((cell) => cell !== '');
  if (filled.length < 3 || new Set(filled).size < filled.length / 2) return undefined;
  if (shareOf(cells, isTradeItemNumber) < nearlyAll) return undefined;
  return { field: 'ean', strength: 0.9, reason: 'its cells are numbers with the check digit of GTINs' };
}

/** Tells whether a text is a GTIN of 8, 12, 13 or 14 digits with a right check digit (GS1 General Specifications). */
function isTradeItemNumber(text: string): boolean {
  if (!/^(?:\d{8}|\d{12,14})$/.test(text) || /^0+$/.test(text)) return false;
  const digits = Array.from(text, Number).reverse();
  return digits.reduce((sum, digit, at) => sum + digit * (at % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

/** Returns the share of the non-empty cells that pass a test; 0 if all are empty. */
export function shareOf(cells: readonly string[], test: (cell: string) => boolean): number {
  let filled = 0;
  let passed = 0;
  for (const cell of cells) {
    if (cell === '') continue;
    filled++;
    if (test(cell)) passed++;
  }
  return filled === 0 ? 0 : passed / filled;
}

/** A number between texts that may be its unit. */
const numberWithUnit = /^([^\d-]{0,12})-?(?:\d[\d.,'’\s]{0,30})([^\d]{0,12})$/;
const plainNumber = /^-?\d+(?:[.,]\d+)?$/;

/** Tells a number, perhaps with sign or code of its currency. */
export function isNumber(cell: string): boolean {
  if (plainNumber.test(cell)) return true;
  const found = numberWithUnit.exec(cell);
  return (
    found !== null &&
    [found[1]!, found[2]!.replace(/^[-–]{1,2}/, '')].every((unit) => parseUnit(unit) !== undefined)
  );
}

/** Returns the share of the non-empty cells that differ from all others; 1 if all are empty. */
export function distinctShare(cells: readonly string[]): number {
  const filled = cells.filter((cell) => cell !== '');
  return filled.length === 0 ? 1 : new Set(filled).size / filled.length;
}

/** Minimum share of distinct cells in a key. */
const distinctMin = 0.95;

/** Tells whether nearly all cells of a key differ. */
export const isKey = (cells: readonly string[]) => distinctShare(cells) >= distinctMin;

/** Tells whether any row has different texts in the two columns. */
export const differ = (one: Column, other: Column) => one.cells.some((cell, at) => cell !== other.cells[at]);

export const isEmptyColumn = ({ filled }: Column) => filled === 0;

/** Returns the share of all rows in which a column has a text. */
export const filledShare = ({ cells, filled }: Column) => (cells.length === 0 ? 0 : filled / cells.length);

/** Tells the numbers of rows: 0 or 1, 2, 3 … */
export function hasRowNumbers({ cells }: Column): boolean {
  if (cells.length < 3 || cells[0] === '') return false;
  const first = Number(cells[0]);
  return [0, 1].includes(first) && cells.every((cell, at) => cell === '' || Number(cell) === first + at);
}

/** Lists the columns that tell variants of a product apart, such as size and colour; not those with the names of options. */
export function optionsOf(columns: readonly Column[]): Column[] {
  return columns.filter(
    ({ meaning, cells }) =>
      meaning?.field === 'option' &&
      meaning.kind !== 'label' &&
      new Set(cells.filter((cell) => cell !== '')).size > 1,
  );
}

/** Formats a column for a question. */
export const labelOf = ({ header, position }: Column) =>
  header === '' ? `column ${position + 1}` : `"${header}"`;

/** Returns the source of a column in a format. */
export const sourceOf = ({ header, position }: Column) =>
  header === '' ? { position: position + 1 } : { from: [header] };
