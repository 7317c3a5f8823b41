import type { components } from '../../../generated/openapi';
import { labelOf, sourceOf, type Column } from './column-cells';
import type { DecimalGuess } from './detect-decimal';
import type { PriceChoice } from './detect-price';
import { suspicionOf } from '../rows/suspicious-sku';
import { withoutTextMarks } from '../text-marks';

/** A format without the parts in doubt, and members by name. */
export type FormatDraft = NonNullable<components['schemas']['DraftFormat']>;

/** An open question about a file, with its possible answers. */
export interface FormatDoubt {
  about: components['schemas']['KnownDoubtSubject'];
  code: components['schemas']['KnownDoubtCode'];
  message: string;
  choices: DoubtChoice[];
}

/** An answer. */
export interface DoubtChoice {
  label: string;
  /** Merge patch (RFC 7396) of the draft. */
  changes: Record<string, unknown>;
  /** JSON pointer to the value in the patched draft that the answer must give; null: it needs none. */
  valuePointer: string | null;
}

/** Notation of the prices of a column. */
export interface PriceReading extends DecimalGuess {
  /**
   * Source of their currency. `cells`: a code in each price, or another column; `signs`: a sign in each price; a code: in the header,
   * or by the same sign in all prices.
   */
  currency: 'cells' | 'signs' | 'unknown' | { value: string };
}

export const choicesMax = 6;

export const choice = (
  label: string,
  changes: Record<string, unknown>,
  valuePointer: string | null = null,
) => ({
  label,
  changes,
  valuePointer,
});

const listed = (columns: readonly Column[]) => columns.map(labelOf).join(', ');

/** Asks about skus that a spreadsheet has damaged. @param columns - with the skus, or candidates @param isMarked - whether marks of texts are removed */
export function damagedSkuDoubt(columns: readonly Column[], isMarked: boolean): FormatDoubt | undefined {
  const isDamaged = (cell: string) =>
    suspicionOf(isMarked ? withoutTextMarks(cell, true) : cell) !== undefined;
  const damaged = columns.filter(({ cells }) => cells.some(isDamaged));
  if (damaged.length === 0) return undefined;
  return {
    about: 'damaged_sku',
    code: 'suspicious_sku',
    message: `Some skus in ${listed(damaged)} look damaged, for example by a spreadsheet. The issues of the rows say how.`,
    choices: [choice('Load the skus as they are', {})],
  };
}

/** Asks about cells in quotes behind a blank: such quotes are part of the cells. @param columns - to be read, or candidates */
export function quoteDoubt(columns: readonly Column[]): FormatDoubt | undefined {
  const column = columns.find(({ cells }) => cells.some((cell) => /^".*"$/s.test(cell)));
  if (!column) return undefined;
  return {
    about: 'quote',
    code: 'quotes_in_cells',
    message: `Some cells in ${labelOf(column)} have quotes that do not directly follow the delimiter: they are loaded with the quotes.`,
    choices: [choice('The quotes are part of the cells', {})],
  };
}

/** Asks which column has the prices. */
export function priceDoubt(
  { rivals, doubt }: PriceChoice,
  readingOf: (column: Column) => PriceReading,
): FormatDoubt | undefined {
  if (!doubt) return undefined;
  const messages = {
    several: 'Several columns could be the price.',
    unsure: 'No column is clearly the price.',
    unnamed: 'No column has a name for prices, but a column of numbers could be the price.',
  };
  const codes = { several: 'several_columns', unsure: 'unsure_column', unnamed: 'unnamed_column' } as const;
  return {
    about: 'price',
    code: codes[doubt],
    message: messages[doubt],
    choices: [
      ...rivals
        .slice(0, choicesMax - 1)
        .flatMap((column) => priceChoices(column, readingOf(column), `The price is ${labelOf(column)}`)),
      choice('Leave the price out', { columns: { price: null } }),
    ],
  };
}

/** Asks for the decimal separator of prices. */
export function decimalDoubt(column: Column, reading: PriceReading): FormatDoubt | undefined {
  if (!reading.doubt) return undefined;
  const message =
    reading.doubt === 'ambiguous'
      ? `The prices in ${labelOf(column)} have a separator of thousands, or three decimals.`
      : `Some prices in ${labelOf(column)} have a decimal comma, others a decimal point.`;
  return {
    about: 'decimal_separator',
    code: reading.doubt === 'ambiguous' ? 'ambiguous_decimals' : 'contradictory_decimals',
    message,
    choices: priceChoices(column, reading, ''),
  };
}

/** Returns the choices that take the prices from a column: one, or one per separator. */
function priceChoices(
  column: Column,
  { separator, doubt, currency }: PriceReading,
  label: string,
): DoubtChoice[] {
  const columns = {
    price: sourceOf(column),
    ...(typeof currency === 'object' && { currency: constant(currency.value) }),
  };
  if (!doubt) return [choice(label, { columns, decimal_separator: separator ?? '.' })];
  const example = column.cells.find((cell) => /\d[.,]\d{3}(?!\d)/.test(cell) && !/[.,].*[.,]/.test(cell));
  const number = example?.replaceAll(/[^\d.,]/g, '');
  return (['.', ','] as const).map((decimal) => {
    const meaning = number
      ? `${number} means ${number.includes(decimal) ? number.replace(',', '.') : number.replace(/[.,]/, '')}`
      : `The decimal separator is ${decimal === '.' ? 'a point' : 'a comma'}`;
    return choice(label ? `${label}; ${meaning}` : meaning, { columns, decimal_separator: decimal });
  });
}

/** Patches the source of a column to a constant. Removes a header of the draft, which excludes a constant. */
const constant = (value: string) => ({ from: null, value });

/**
 * Asks for the currency of prices.
 * @param prices - the column of prices, or the candidates
 * @param defaultCurrency - used in orders of products without a currency
 */
export function currencyDoubt(
  prices: readonly Column[],
  readingOf: (column: Column) => PriceReading,
  defaultCurrency: string,
): FormatDoubt | undefined {
  const unknown = prices.filter((column) => readingOf(column).currency === 'unknown');
  if (unknown.length === 0) return undefined;
  const isNamedElsewhere = unknown.length < prices.length;
  const unknownPrices = isNamedElsewhere ? `the prices in ${listed(unknown)}` : 'its prices';
  return {
    about: 'currency',
    code: 'no_currency',
    message: `The file does not name the currency of ${unknownPrices}. Orders of products without a currency use ${defaultCurrency}.`,
    choices: [
      choice(
        `${isNamedElsewhere ? `The prices in ${listed(unknown)}` : 'All prices'} are in one currency: name it`,
        { columns: { currency: constant('') } },
        '/columns/currency/value',
      ),
      // A header with empty cells is kept: other cells may follow.
      choice(
        isNamedElsewhere
          ? `Leave the currency out where the file does not name it: orders use ${defaultCurrency}`
          : `Leave the currency out: orders use ${defaultCurrency}`,
        {},
      ),
    ],
  };
}
