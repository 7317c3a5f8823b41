import { isKnownAvailability } from '../availability';
import { productColumns, type ProductColumn } from '../columns';
import type { FormatDefinition } from '../format-definition';
import { availabilityOfQuantity } from '../quantity';
import { trimText } from '../text';
import { differ, isNumber, shareOf, type Column } from './column-cells';
import { valueMeant } from './known-words';

type KnownAvailability = NonNullable<FormatDefinition['availability']>[string];

/** The column that a header means. */
export interface ColumnMatch {
  /** Position of the header, from 0. */
  position: number;
  column: ProductColumn;
  confidence: number;
  reason: string;
  /** Whether the cells are a quantity in stock. */
  isQuantity?: boolean;
}

/** Columns that one header each means, besides sku, name and price. */
const others = ['description', 'brand', 'category', 'currency', 'availability'] as const;
type Other = (typeof others)[number];

/** Below this, nothing is said. */
const confidenceMin = 0.5;

/**
 * Finds the columns that headers mean, except for sku, name and price: by names and by cells. Each column has one header.
 * @param taken - positions that are sku, name or price, or may be
 */
export function detectColumns(columns: readonly Column[], taken: ReadonlySet<number>): ColumnMatch[] {
  const candidates = columns
    .filter(({ position }) => !taken.has(position))
    .flatMap(candidatesOf)
    .filter(({ confidence }) => confidence >= confidenceMin)
    .filter((each, _, all) => !isOneOfSeveral(each, all, columns))
    .sort(
      (a, b) =>
        b.confidence - a.confidence || Number(a.isQuantity) - Number(b.isQuantity) || a.position - b.position,
    );
  const matches: ColumnMatch[] = [];
  for (const candidate of candidates) {
    const { position, column, confidence } = candidate;
    if (matches.some((each) => each.position === position || each.column === column)) continue;
    const hasRival = candidates.some(
      (each) => each.column === column && each.position !== position && each.confidence >= rivalMin,
    );
    matches.push({ ...candidate, confidence: round(hasRival ? Math.min(confidence, disputed) : confidence) });
  }
  return matches;
}

/** Tells quantities in several places, none of which is the stock of the product. */
function isOneOfSeveral(
  match: ColumnMatch,
  all: readonly ColumnMatch[],
  columns: readonly Column[],
): boolean {
  const columnAt = (position: number) => columns.find((each) => each.position === position)!;
  return all.some(
    ({ isQuantity, confidence, position }) =>
      match.isQuantity === true &&
      isQuantity === true &&
      position !== match.position &&
      confidence === match.confidence &&
      differ(columnAt(position), columnAt(match.position)),
  );
}

/** The choice is a guess if another header names the same column at least this well. */
const rivalMin = 0.75;
const disputed = 0.8;

const round = (number: number) => Math.round(100 * number) / 100;

function candidatesOf({ position, header, cells, filled, meaning }: Column): ColumnMatch[] {
  const own = productColumns.find((column) => column === header.toLowerCase());
  const field = own ?? meaning?.field;
  const strength = own ? 1 : (meaning?.strength ?? 0);
  const reason = meaning?.reason ?? 'its name is ours';
  if (field === 'quantity' || field === 'availability') {
    if (strength < stockMin || valueMeant(header) === 'out_of_stock') return [];
    const column = 'availability';
    if (filled === 0)
      return field === 'availability' ? [{ position, column, confidence: strength - 0.1, reason }] : [];
    const kind = stockKindOf(cells, field === 'quantity');
    if (own) return [{ position, column, confidence: 1, reason, isQuantity: kind === 'numbers' }];
    if (kind === undefined) return [];
    const isWords = kind === 'words';
    const what = isWords ? 'words for availability' : 'numbers';
    return [
      {
        position,
        column,
        confidence: isWords ? strength : strength - 0.02,
        reason: `${reason}, and its cells are ${what}`,
        // Later rows may have numbers.
        isQuantity: !isWords || field === 'quantity',
      },
    ];
  }
  const column = others.find((each) => each === field);
  if (!column) return [];
  const confidence = own ? 1 : Math.max(0, strength + contentCheck(column, cells));
  return [{ position, column, confidence, reason }];
}

/** Below this, numbers and yes or no are about something else than the stock. */
const stockMin = 0.7;

/** Share of cells that must agree with a column. */
const agreeingMin = 0.8;

/**
 * Tells what the cells about the stock are; undefined: something else. Numbers may have words beside them.
 * @param isCounted - whether 0 and 1 are numbers by the name of the column
 */
function stockKindOf(cells: readonly string[], isCounted: boolean): 'words' | 'numbers' | undefined {
  const isWord = (cell: string) => availabilityOf(cell) !== undefined;
  const words = shareOf(cells, isWord);
  const numbers = shareOf(cells, isQuantity);
  const hasNumbers = cells.some((cell) => isQuantity(cell) && !['0', '1'].includes(cell));
  if (numbers >= agreeingMin) return hasNumbers || isCounted || words < agreeingMin ? 'numbers' : 'words';
  // "No" in all rows says as little about the stock as an empty column.
  if (isCounted && new Set(cells).size === 1) return undefined;
  if (shareOf(cells, (cell) => isWord(cell) || isQuantity(cell)) < agreeingMin) return undefined;
  return numbers > 0 ? 'numbers' : 'words';
}

const isQuantity = (cell: string) => availabilityOfQuantity(cell, () => null) !== undefined;

/** Returns by how much the cells change the confidence in a column. */
function contentCheck(column: Other, cells: readonly string[]): number {
  const filled = cells.filter((cell) => cell !== '');
  if (cells.length === 0) return 0;
  if (filled.length === 0) return -0.1;
  switch (column) {
    case 'currency':
      return shareOf(cells, (cell) => /^[A-Za-z]{3}$|^\p{Sc}$/u.test(cell)) > agreeingMin ? 0.02 : -0.7;
    case 'category':
      // More likely a kind of product.
      if (filled.length >= 10 && new Set(filled).size === 1) return -0.2;
      return shareOf(cells, isNumber) > agreeingMin ? -0.4 : 0;
    default:
      return shareOf(cells, isNumber) > agreeingMin ? -0.5 : 0;
  }
}

const cleaned = (word: string) => word.trim().toLowerCase().replaceAll(/[ -]/g, '_');

/** Finds the standard word for a partner's word; undefined for an unknown one. */
function availabilityOf(word: string): string | undefined {
  const known = cleaned(word);
  if (isKnownAvailability(known)) return known;
  return known === 'instock' ? 'in_stock' : known === 'outofstock' ? 'out_of_stock' : standardWord(word);
}

function standardWord(word: string): KnownAvailability | undefined {
  const value = valueMeant(word);
  return value === 'no_price' ? undefined : value;
}

/** Lists the words of a file that need a translation. @param hasQuantities - whether numbers are quantities */
export function availabilityWords(
  cells: readonly string[],
  hasQuantities: boolean,
): FormatDefinition['availability'] {
  const words = new Map<string, KnownAvailability>();
  for (const cell of cells) {
    const word = trimText(cell).toLowerCase();
    const standard = standardWord(word);
    if (standard && !(hasQuantities && isQuantity(word))) words.set(word, standard);
  }
  return words.size > 0 ? Object.fromEntries(words) : undefined;
}
