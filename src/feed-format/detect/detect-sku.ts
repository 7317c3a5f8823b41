import { isShortenedNumber } from '../rows/suspicious-sku';
import {
  codeText,
  differ,
  filledShare,
  hasRowNumbers,
  isAddress,
  isEmptyColumn,
  isKey,
  isMissing,
  optionsOf,
  shareOf,
  type Column,
} from './column-cells';

/** The column of skus, or several if the file does not show which. */
export interface SkuChoice {
  chosen: Column | undefined;
  confidence: number;
  reason: string;
  /** Columns that may have the skus, the likeliest first. */
  rivals: readonly Column[];
  /** Columns that together differ in all rows, if the likeliest does not. */
  joins: readonly (readonly Column[])[];
  /** Reason for the doubt. */
  doubt: 'several' | 'repeated' | 'incomplete' | 'unnamed' | null;
}

/** From the best name to the worst. */
const Rank = { literal: 0, sure: 1, unsure: 2, id: 3, substitute: 4, supplier: 5 } as const;
type Rank = (typeof Rank)[keyof typeof Rank];

interface Candidate {
  column: Column;
  rank: Rank;
  isDistinct: boolean;
}

/** Number of rows in which a constant is no sku. */
const constantRows = 5;

/** A key with fewer cells leaves out too many products, if another column is full. */
const filledMin = 0.5;
const filledEnough = 0.95;

/**
 * Chooses the column of skus.
 * @param columns - without equal rows
 * @param known - the column, if the system that wrote the file is known
 */
export function chooseSku(columns: readonly Column[], known?: Column): SkuChoice {
  const found = columns.flatMap((column): Candidate[] => {
    const rank = column === known ? Rank.literal : rankOf(column);
    if (rank === undefined) return [];
    // No other name is as good as the name in a known system.
    const least = known && column !== known ? Rank.sure : Rank.literal;
    const word = wordInsteadOfSku(column.cells);
    const cells = word === undefined ? column.cells : column.cells.filter((cell) => cell !== word);
    return [{ column, rank: Math.max(rank, least) as Rank, isDistinct: isKey(cells) }];
  });
  const isBlank = found.every(({ column }) => isEmptyColumn(column));
  const candidates = found
    .filter(({ column }) => isBlank || !isEmptyColumn(column))
    .filter(({ column: { cells } }) => cells.length < constantRows || new Set(cells).size > 1)
    .filter((each, _, all) => !isRowNumber(each) || (all.length === 1 && !isOnlyRowNumber(each, columns)))
    .filter((each, _, all) => all.length === 1 || !isDestroyed(each))
    .sort((a, b) => a.rank - b.rank || Number(b.isDistinct) - Number(a.isDistinct));
  const [first] = candidates;
  if (!first) return unnamedChoice(columns);
  const open = (doubt: SkuChoice['doubt'], rivals: readonly Column[], joins: SkuChoice['joins'] = []) => ({
    ...unknown,
    rivals,
    joins,
    doubt,
  });
  const keys = candidates.filter(({ isDistinct }) => isDistinct);
  if (!first.isDistinct)
    return open(
      'repeated',
      [...rivalsOfRepeated(first, candidates), ...codesIn(columns)],
      joinsOf(first.column, columns),
    );
  const fuller = keys.find(
    ({ column, rank }) => rank < Rank.supplier && filledShare(column) >= filledEnough,
  )?.column;
  if (fuller && filledShare(first.column) < filledMin) return open('incomplete', [first.column, fuller]);
  if (first.column.header === '') {
    const codes = codesIn(columns).filter((column) => differ(column, first.column));
    if (codes.length > 0) return open('unnamed', [first.column, ...codes]);
  }
  const rivals = keys.filter((each) => isRival(first, each));
  if (rivals.length > 1 && first.rank !== Rank.literal && first.column !== known)
    return open(
      'several',
      rivals.map(({ column }) => column),
    );
  const { strength, reason } = first.column.meaning ?? {
    strength: 1,
    reason: 'the system that wrote the file is known',
  };
  const confidence = first.rank >= Rank.substitute ? Math.min(strength, substituteConfidence) : strength;
  return { ...unknown, chosen: first.column, confidence, reason };
}

const unknown: SkuChoice = {
  chosen: undefined,
  confidence: 0,
  reason: '',
  rivals: [],
  joins: [],
  doubt: null,
};

/** Confidence in a key that is not the partner's number. */
const substituteConfidence = 0.6;

/** @returns undefined if the column cannot have skus */
function rankOf({ header, meaning }: Column): Rank | undefined {
  if (header.toLowerCase() === 'sku') return Rank.literal;
  switch (meaning?.field) {
    case 'sku':
      if (meaning.kind === 'supplier') return Rank.supplier;
      return meaning.strength >= sureMin ? Rank.sure : Rank.unsure;
    case 'id':
      return Rank.id;
    case 'ean':
    case 'handle':
      return Rank.substitute;
    default:
      return undefined;
  }
}

/** Strength of a name that means nothing but a partner's number. */
const sureMin = 0.8;

/** Tells whether two keys are equally likely: other numbers by names of the same rank, an unsure one beside a sure one, or an identifier beside small numbers. */
function isRival(first: Candidate, { column, rank }: Candidate): boolean {
  if (column !== first.column && !differ(column, first.column)) return false;
  if (rank === first.rank || (first.rank === Rank.sure && rank === Rank.unsure)) return true;
  // Small numbers count something.
  return first.rank === Rank.unsure && rank === Rank.id && shareOf(first.column.cells, isSmallNumber) > 0.5;
}

const isSmallNumber = (cell: string) => /^\d{1,3}$/.test(cell);

/** Of a number that repeats, another name of the same rank that repeats too is no way out. */
const rivalsOfRepeated = (first: Candidate, candidates: readonly Candidate[]): Column[] =>
  [
    first,
    ...candidates.filter((each) => each !== first && each.isDistinct),
    ...candidates.filter((each) => each !== first && !each.isDistinct && each.rank <= Rank.sure),
  ].map(({ column }) => column);

/** Tells numbers of rows (1, 2, 3 …), which another export gives to other products. */
const isRowNumber = ({ column, rank }: Candidate) =>
  rank === Rank.unsure && column.meaning?.field === 'sku' && hasRowNumbers(column);

/** Tells whether a column of row numbers, whose name says no more, is beside other codes. */
const isOnlyRowNumber = ({ column }: Candidate, columns: readonly Column[]) =>
  column.meaning!.strength < numberMax && codesIn(columns).length > 0;

/** Strength of a name that means a number, but not of what. */
const numberMax = 0.7;

/** Tells numbers that a spreadsheet has rounded to a few that repeat: 7,70211E+12. */
const isDestroyed = ({ column: { cells }, isDistinct }: Candidate) =>
  !isDistinct && shareOf(cells, isShortenedNumber) > 0.5;

/** Finds the columns that make a repeated number unique: the options of variants. */
function joinsOf(sku: Column, columns: readonly Column[]): Column[][] {
  const options = optionsOf(columns).slice(0, optionsMax);
  const join = [sku, ...options];
  return options.length > 0 && isKey(joined(join)) && haveOptions(sku.cells, options) ? [join] : [];
}

/** Tells whether the rows of a repeated number have options: others are the same product once more. */
function haveOptions(skus: readonly string[], options: readonly Column[]): boolean {
  const counts = new Map<string, number>();
  for (const sku of skus) counts.set(sku, (counts.get(sku) ?? 0) + 1);
  const repeated = skus.flatMap((sku, at) => (sku !== '' && counts.get(sku)! > 1 ? [at] : []));
  const withOption = repeated.filter((at) => options.some(({ cells }) => cells[at] !== ''));
  return withOption.length >= filledEnough * repeated.length;
}

/** More columns make no readable sku. */
const optionsMax = 3;

/** Joins the cells of columns; a row without the first one is empty. */
const joined = ([first, ...others]: readonly Column[]): string[] =>
  first!.cells.map((cell, at) =>
    cell === ''
      ? ''
      : [cell, ...others.map(({ cells }) => cells[at]!).filter((text) => text !== '')].join('-'),
  );

/** Asks for a key among columns of codes whose names say nothing. */
function unnamedChoice(columns: readonly Column[]): SkuChoice {
  const found = codesIn(columns);
  const lettered = found.filter(({ cells }) => shareOf(cells, hasLetter) >= filledEnough);
  // Without names of columns, numbers may be prices or quantities.
  const codes = columns[0]?.header === '' && lettered.length === 1 ? lettered : found;
  const [only] = codes;
  if (!only) return unknown;
  // The only key of many rows is the sku, unless it is the number of the row.
  const mayBeNumber = only.meaning === undefined || only.meaning.field === 'option';
  const isKeyOfMany = mayBeNumber && only.cells.length >= manyRows && !hasRowNumbers(only);
  if (codes.length === 1 && (only.header === '' || isKeyOfMany))
    return {
      ...unknown,
      chosen: only,
      confidence: substituteConfidence,
      reason: 'only its cells differ in all rows',
    };
  return { ...unknown, rivals: codes, doubt: 'unnamed' };
}

/** In fewer rows, other codes and options differ too. */
const manyRows = 20;

const hasLetter = (cell: string) => /\p{L}/u.test(cell);
const isDecimal = (cell: string) => /^\d+[.,]\d+$/.test(cell);

const codesIn = (columns: readonly Column[]): Column[] => {
  const codes = columns.filter(
    (column) =>
      (column.meaning === undefined || ['option', 'image', 'other'].includes(column.meaning.field)) &&
      filledShare(column) >= filledEnough &&
      column.cells.length > 1 &&
      isKey(column.cells) &&
      shareOf(column.cells, (cell) => codeText.test(cell) && !isAddress(cell)) >= filledEnough &&
      shareOf(column.cells, isDecimal) < filledEnough,
  );
  return codes.filter((code, at) => !codes.slice(0, at).some((earlier) => !differ(earlier, code)));
};

/** Several words, or signs. */
const noSku = /^(?:[^\d\s]+(?:\s[^\d\s]+)+|[^\p{L}\p{N}]{1,3})$/u;

/** Finds the words that stand for a missing sku, such as "no barcode": the same text without digits in several rows. */
export function wordInsteadOfSku(cells: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const cell of cells)
    if (noSku.test(cell) || isMissing(cell)) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  const [word, count] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one), ['', 0]);
  return count >= wordRowsMin && !isKey(cells) && isKey(cells.filter((cell) => cell !== word))
    ? word
    : undefined;
}

const wordRowsMin = 2;
