import { amountGrammar, columnFormat } from './columns';
import { isActiveCurrency } from './currency';
import { parseUnit, type PriceUnit } from './currency-signs';
import { withDecimalPoint } from './decimal-comma';

/** How the prices of a file are written. */
export interface PriceNotation {
  hasDecimalComma: boolean;
  /** Whether prices may have all known signs, also beside a code, and an ending such as `,-`. */
  hasSigns: boolean;
}

/** The notation of the specification. */
const published: PriceNotation = { hasDecimalComma: false, hasSigns: false };

/** A price: the amount as a decimal text that PostgreSQL reads exactly, and its currency. */
export interface ParsedPrice extends PriceUnit {
  amount: string;
}

const plainPrice = /^\d{1,12}(?:\.\d{1,4})?$/;
const plainCommaPrice = /^(?:0|[1-9]\d{0,11})(?:,\d{1,4})?$/;
const priceGrammar = new RegExp(columnFormat('price').grammar!);
const plainAmount = new RegExp(`^(?:${amountGrammar})$`);
const wholeDigitsMax = 12;
/** Maximum number of decimals; only zeros may follow. */
const decimalsMax = 4;

/** Parses a trimmed price; undefined for any other text. */
export function parsePrice(text: string, notation: PriceNotation = published): ParsedPrice | undefined {
  if (notation.hasDecimalComma) {
    if (plainCommaPrice.test(text)) return { amount: text.replace(',', '.') };
  } else if (plainPrice.test(text)) return { amount: text };
  return notation.hasSigns ? parseSignedPrice(text, notation) : parsePublishedPrice(text);
}

/** Parses a price by the published grammar. */
function parsePublishedPrice(text: string): ParsedPrice | undefined {
  if (!priceGrammar.test(text)) return undefined;
  const currency = /[A-Za-z]{3}/.exec(text)?.[0].toUpperCase();
  if (currency && !isActiveCurrency(currency)) return undefined;
  const amount = storedAmount(text);
  return amount === undefined ? undefined : { amount, currency };
}

/** Parses a price that may have one sign and one code, each before or behind the amount. */
function parseSignedPrice(text: string, { hasDecimalComma }: PriceNotation): ParsedPrice | undefined {
  const parts = splitPrice(text);
  if (!parts || !isEnding(parts, hasDecimalComma)) return undefined;
  const number = hasDecimalComma ? withDecimalPoint(parts.number) : parts.number;
  if (!plainAmount.test(number)) return undefined;
  const [before, behind] = [parseUnit(parts.before), parseUnit(parts.behind)];
  if (!before || !behind) return undefined;
  if ((before.currency && behind.currency) || (before.sign && behind.sign)) return undefined;
  const amount = storedAmount(number);
  if (amount === undefined) return undefined;
  return { amount, currency: before.currency ?? behind.currency, sign: before.sign ?? behind.sign };
}

/** Parts of a text with digits. */
export interface PriceParts {
  before: string;
  /** From the first digit to the last. */
  number: string;
  /** A separator and a dash in the place of decimals, such as `,-`; else empty. */
  ending: string;
  behind: string;
}

/** Splits a text around its digits; undefined without any. */
export function splitPrice(text: string): PriceParts | undefined {
  const first = text.search(/\d/);
  if (first === -1) return undefined;
  let end = text.length;
  while (!/\d/.test(text[end - 1]!)) end--;
  const rest = text.slice(end);
  const ending = /^[.,](?:--?|[\u2012-\u2015\u2212])/.exec(rest)?.[0] ?? '';
  return {
    before: text.slice(0, first),
    number: text.slice(first, end),
    ending,
    behind: rest.slice(ending.length),
  };
}

/** Tells whether the ending stands for no decimals, in a file with this decimal separator. */
export function isEnding({ number, ending }: PriceParts, hasDecimalComma: boolean): boolean {
  if (ending === '') return true;
  const separator = hasDecimalComma ? ',' : '.';
  return ending.startsWith(separator) ? !number.includes(separator) : /^\d+$/.test(number);
}

/** Formats an amount with a decimal point for PostgreSQL, without leading zeros; undefined if it is too large. */
function storedAmount(text: string): string | undefined {
  const { digits, decimals } = partsOf(text);
  if (digits.length > wholeDigitsMax) return undefined;
  return decimals ? `${digits}.${decimals.slice(0, decimalsMax)}` : digits;
}

function partsOf(text: string): { digits: string; decimals?: string } {
  const [whole, decimals] = text.replace(/[^\d.]/g, '').split('.') as [string, string?];
  return { digits: whole.replace(/^0+(?=\d)/, ''), decimals };
}

/** Tells whether a text is an amount with a decimal point. */
export const isAmount = (text: string): boolean => plainAmount.test(text);

/** Tells whether an amount with a decimal point has more digits than the column. */
export const isTooLarge = (text: string): boolean => storedAmount(text) === undefined;
