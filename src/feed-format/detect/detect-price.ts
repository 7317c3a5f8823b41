import { currencyInHeader } from '../currency';
import { hasRowNumbers, isEmptyColumn, isMissing, isNumber, shareOf, type Column } from './column-cells';

/** The column of prices, or several if the file does not show which. */
export interface PriceChoice {
  chosen: Column | undefined;
  confidence: number;
  reason: string;
  /** Columns that may have the prices; none: there is no doubt. */
  rivals: readonly Column[];
  /** Reason for the doubt. */
  doubt: 'several' | 'unsure' | 'unnamed' | null;
}

/** From the best name to the worst. */
const Rank = { selling: 0, plain: 1, unsure: 2, special: 3 } as const;
type Rank = (typeof Rank)[keyof typeof Rank];

interface Candidate {
  column: Column;
  rank: Rank;
}

/** Minimum share of numbers in a column of numbers. */
const numbersMin = 0.7;
/** The same for a column without a known name. */
const numbersOnly = 0.95;

/**
 * Chooses the column of prices that customers pay. Purchase prices are never chosen or offered.
 * @param known - the column, if the system that wrote the file is known
 */
export function choosePrice(columns: readonly Column[], known?: Column): PriceChoice {
  if (known)
    return { ...unknown, chosen: known, confidence: 1, reason: 'the system that wrote the file is known' };
  const possible = columns.flatMap((column): Candidate[] => {
    const rank = rankOf(column);
    if (rank === undefined) return [];
    // Under a certain name, words replace missing prices.
    const needed = rank <= Rank.plain ? 0 : numbersMin;
    return isEmptyColumn(column) || shareOf(column.cells, isNumber) > needed ? [{ column, rank }] : [];
  });
  const filled = possible.filter(({ column }) => !isEmptyColumn(column));
  const candidates = filled.length > 0 ? filled : possible;
  const sure = candidates.filter(({ rank }) => rank <= Rank.plain);
  const best = sure
    .filter(({ rank }) => rank === Math.min(...sure.map((each) => each.rank)))
    .sort((a, b) => Number(isGross(b)) - Number(isGross(a)));
  const [first] = best;
  if (first) {
    const isOpen = hasDifferentCells(best) || (haveDifferentUnits(sure) && hasDifferentCells(sure));
    if (isOpen) return open('several', [...best, ...sure.filter((each) => !best.includes(each))]);
    const { strength, reason } = first.column.meaning!;
    return { ...unknown, chosen: first.column, confidence: strength, reason };
  }
  if (candidates.length > 0) return open('unsure', candidates);
  const unnamed = columns.filter(isUnnamedPrice);
  const written = unnamed.filter(({ cells }) => shareOf(cells, hasDecimals) >= decimalsMin);
  const [only] = written;
  // Without names of columns, the only numbers with decimals are the prices.
  if (written.length === 1 && only!.header === '')
    return { ...unknown, chosen: only, confidence: 0.6, reason: 'only its cells are numbers with decimals' };
  return open(
    'unnamed',
    (written.length > 0 && only!.header === '' ? written : unnamed).map((column) => ({ column })),
  );
}

const unknown: PriceChoice = { chosen: undefined, confidence: 0, reason: '', rivals: [], doubt: null };

/** With tax: what a customer pays. */
const isGross = ({ column: { meaning } }: Candidate) => meaning?.taxes === 'gross';

function open(doubt: PriceChoice['doubt'], rivals: readonly { column: Column }[]): PriceChoice {
  if (rivals.length === 0) return unknown;
  return { ...unknown, rivals: rivals.map(({ column }) => column), doubt };
}

/** @returns undefined if the header names no price, or a purchase price */
function rankOf({ header, meaning }: Column): Rank | undefined {
  if (meaning?.field !== 'price') return undefined;
  switch (meaning.kind) {
    case 'purchase':
      return undefined;
    case 'list':
    case 'special':
    case 'wholesale':
      return Rank.special;
    default:
      if (meaning.strength < sureMin || minorUnit.test(header)) return Rank.unsure;
      return meaning.kind === 'our' ? Rank.selling : Rank.plain;
  }
}

/** A hundredth of the currency: no format reads such prices. */
const minorUnit =
  /(?:^|[^\p{L}])(?:cents?|pence|øre|öre|копе\p{L}{0,4}|grosz\p{L}{0,3}|centimes?|céntimos?)(?:$|[^\p{L}])/iu;

/** Strength of a name that means nothing but a price. */
const sureMin = 0.8;

/** Minimum share of numbers with decimals in a column of prices without a name. */
const decimalsMin = 0.3;

const hasDecimals = (cell: string) => /^\D*\d+[.,]\d{1,4}\D*$/.test(cell);

/** A number that identifies something. */
const isIdentifier = (cell: string) => /^(?:0\d+|\d{7,})$/.test(cell);

/** Tells numbers that may be prices: not a counter, a trade item number or a constant. */
function isUnnamedPrice(column: Column): boolean {
  const { meaning, cells } = column;
  const filled = cells.filter((cell) => !isMissing(cell));
  if (meaning !== undefined || shareOf(filled, isNumber) < numbersOnly) return false;
  if (shareOf(cells, isIdentifier) > 0.5 || hasRowNumbers(column)) return false;
  return cells.length < 3 || new Set(cells).size > 1;
}

function hasDifferentCells(candidates: readonly Candidate[]): boolean {
  const [first, ...others] = candidates;
  return others.some(({ column }) =>
    column.cells.some((cell, at) => !isSameNumber(cell, first!.column.cells[at]!)),
  );
}

/** `859.5` and `859.500000` are the same price. */
const isSameNumber = (one: string, other: string) =>
  one === other || (one !== '' && other !== '' && Number(one) === Number(other));

/** Returns whether columns are net and gross, or have two currencies. */
function haveDifferentUnits(candidates: readonly Candidate[]): boolean {
  const count = (units: (string | undefined)[]) => new Set(units.filter((unit) => unit !== undefined)).size;
  return (
    count(candidates.map(({ column }) => column.meaning?.taxes)) > 1 ||
    count(candidates.map(({ column }) => currencyInHeader(column.header))) > 1
  );
}
