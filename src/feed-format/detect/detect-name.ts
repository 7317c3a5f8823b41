import {
  differ,
  distinctShare,
  filledShare,
  isAddress,
  isEmptyColumn,
  isNumber,
  shareOf,
  type Column,
} from './column-cells';

/** The column of names, or several if the file does not show which. */
export interface NameChoice {
  chosen: Column | undefined;
  confidence: number;
  reason: string;
  /** Columns that may have the names, the likeliest first. */
  rivals: readonly Column[];
  doubt: 'several' | 'unnamed' | null;
}

const none: NameChoice = { chosen: undefined, confidence: 0, reason: '', rivals: [], doubt: null };

/** Strengths that differ less are the same. */
const sameStrength = 0.05;
/** Share of rows in which two equally good names differ: in others, one is only more detailed. */
const differingMin = 0.5;
const filledMin = 0.8;
/** Characters on average; longer texts are descriptions. */
const nameCharactersMax = 160;

/**
 * Chooses the column of product names.
 * @param taken - positions that are sku or price
 * @param known - the column, if the system that wrote the file is known
 */
export function chooseName(
  columns: readonly Column[],
  taken: ReadonlySet<number>,
  known?: Column,
): NameChoice {
  if (known)
    return { ...none, chosen: known, confidence: 1, reason: 'the system that wrote the file is known' };
  const free = columns.filter(({ position }) => !taken.has(position));
  const mayHaveTexts = ({ meaning }: Column) =>
    meaning === undefined || ['description', 'product_name'].includes(meaning.field);
  const isFilled = free.some(
    (column) => mayHaveTexts(column) && isWordy(column) && filledShare(column) >= filledMin,
  );
  const named = free
    .filter((column) => column.meaning?.field === 'product_name' && mayBeName(column))
    .filter((column) => !isFilled || !isEmptyColumn(column))
    .sort((a, b) => scoreOf(b) - scoreOf(a));
  const [first, ...further] = named;
  if (first) {
    const rivals = further.filter((other) => isRival(first, other));
    if (rivals.length > 0) return { ...none, rivals: [first, ...rivals], doubt: 'several' };
    const { strength, reason } = first.meaning!;
    return { ...none, chosen: first, confidence: strength, reason };
  }
  const others = free.filter(
    (column) => ['other', undefined].includes(column.meaning?.field) && !isAddressColumn(column),
  );
  const texts = others.filter((column) => column.meaning === undefined && isText(column));
  const described = free.filter(
    ({ meaning, cells }) => meaning?.field === 'description' && shareOf(cells, hasLetters) > 0.5,
  );
  const [description] = described;
  if (description && texts.length === 0)
    return { ...none, chosen: description, confidence: 0.75, reason: 'there is no other text' };
  const rivals = [...described, ...texts];
  // Short names are single words, and variants share a name.
  if (rivals.length === 0)
    return {
      ...none,
      ...open(others.filter((column) => isWordy(column) && filledShare(column) >= filledMin)),
    };
  const [only] = rivals as [Column];
  if (rivals.length === 1)
    return { ...none, chosen: only, confidence: 0.75, reason: 'there is no other text' };
  return { ...none, ...open(rivals) };
}

const open = (rivals: readonly Column[]) =>
  rivals.length > 0 ? ({ rivals, doubt: 'unnamed' } as const) : {};

function mayBeName(column: Column): boolean {
  return isEmptyColumn(column) || shareOf(column.cells, isNumber) <= 0.8;
}

const scoreOf = ({ meaning, cells, filled }: Column) =>
  meaning!.strength +
  (filled === 0 ? -0.2 : 0.04 * distinctShare(cells) - (shareOf(cells, hasLetters) < 0.5 ? 0.2 : 0));

function isRival(first: Column, other: Column): boolean {
  if (first.header.toLowerCase() === 'product_name') return false;
  if (Math.abs(first.meaning!.strength - other.meaning!.strength) >= sameStrength) return false;
  if ([first, other].some((column) => filledShare(column) < filledMin) || !differ(first, other)) return false;
  const differing = first.cells.filter((cell, at) => cell !== other.cells[at]).length;
  const [one, two] = [distinctShare(first.cells), distinctShare(other.cells)];
  return differing > differingMin * first.cells.length && Math.min(one, two) > 0.5 * Math.max(one, two);
}

/** Tells a column of texts that may be names: different, of letters, mostly of several words. */
const isText = (column: Column) =>
  isWordy(column) && distinctShare(column.cells) >= 0.5 && shareOf(column.cells, hasWords) > 0.3;

/** Tells a column of letters that are neither descriptions nor the same few words. */
function isWordy(column: Column): boolean {
  const filled = column.cells.filter((cell) => cell !== '');
  if (filled.length === 0 || shareOf(filled, hasLetters) < 0.8) return false;
  const characters = filled.reduce((sum, cell) => sum + cell.length, 0) / filled.length;
  return characters <= nameCharactersMax && distinctShare(filled) >= wordyMin;
}

const wordyMin = 0.1;

const isAddressColumn = ({ cells }: Column) => shareOf(cells, isAddress) >= 0.5;

const hasLetters = (cell: string) => /\p{L}{2}/u.test(cell);
const hasWords = (cell: string) => /\p{L}\s|\s\p{L}|\p{Lo}{3}/u.test(cell);
