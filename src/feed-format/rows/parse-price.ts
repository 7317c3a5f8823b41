import { columnFormat } from '../columns';
import { isActiveCurrency } from '../currency';
import { withDecimalPoint } from '../decimal-comma';
import { trimText } from '../text';

const plainPrice = /^\d{1,12}(?:\.\d{1,4})?$/;
const priceGrammar = new RegExp(columnFormat('price').grammar!);
const wholeDigitsMax = 12;
/** Maximum number of decimals; only zeros may follow. */
const decimalsMax = 4;

/**
 * Parses a price by the published grammar.
 * @returns the amount as a decimal text that PostgreSQL reads exactly, and the currency of an ISO code; undefined for any other text
 */
export function parsePrice(text: string): { amount: string; currency?: string } | undefined {
  if (plainPrice.test(text)) return { amount: text };
  if (!priceGrammar.test(text)) return undefined;

  const currency = /[A-Za-z]{3}/.exec(text)?.[0].toUpperCase();
  if (currency && !isActiveCurrency(currency)) return undefined;
  const { digits, decimals } = partsOf(text);
  if (digits.length > wholeDigitsMax) return undefined;
  return { amount: decimals ? `${digits}.${decimals.slice(0, decimalsMax)}` : digits, currency };
}

/** Splits a price that follows the grammar, without leading zeros. */
function partsOf(text: string): { digits: string; decimals?: string } {
  const [whole, decimals] = text.replace(/[^\d.]/g, '').split('.') as [string, string?];
  return { digits: whole.replace(/^0+(?=\d)/, ''), decimals };
}

/** Messages of `invalid_price`: few texts, as many issues are kept. Numbers are in the notation of the file. */
const pointMessages = {
  decimal:
    'price has a decimal comma. Write it with a decimal point, for example 1299.00, or use a format that has a decimal comma.',
  negative: 'price is negative. Write a price of 0 or more.',
  noDigits:
    'price has no digits. Leave the cell empty if there is no price, or add the word to null_values of a format.',
  decimals: 'price has more than four decimals. Round it.',
  size: 'price is larger than 999,999,999,999.9999. Correct it.',
  currency:
    'price names a currency that is neither an active ISO 4217 code nor one of $ € £ ¥. Write it like 5 EUR, or in the currency column.',
  form: 'price is not a number in the accepted form, for example 1299.00, 1,299.00, $5 or 5 EUR, and at most 999,999,999,999.9999.',
};

type PriceFault = keyof typeof pointMessages;

const commaMessages: Record<PriceFault, string> = {
  ...pointMessages,
  decimal:
    'price has a decimal point, but the format of the file has a decimal comma. Write it with a decimal comma, for example 1299,00 or 1.299,00.',
  size: 'price is larger than 999.999.999.999,9999. Correct it.',
  form: 'price is not a number in the accepted form, for example 1299,00, 1.299,00, $5 or 5 EUR, and at most 999.999.999.999,9999.',
};

/**
 * Formats why a text is no price, for people.
 * @param text - the trimmed cell
 * @param hasDecimalComma - whether prices of the file have a decimal comma
 */
export function priceMessage(text: string, hasDecimalComma: boolean): string {
  return (hasDecimalComma ? commaMessages : pointMessages)[priceFault(text, hasDecimalComma)];
}

/** Maximum length of a faulty price; a longer text is something else. */
const priceCharacters = 100;
const minus = /^[-\u2012\u2013\u2212]|[-\u2012\u2013\u2212]$/;
const unit = /^(?:\p{Sc}|[A-Za-z]{3})?$/u;
const words = /^[\p{L}\p{Sc}][\p{L}\p{Sc}\s.]*$/u;

function priceFault(text: string, hasDecimalComma: boolean): PriceFault {
  const first = text.search(/\d/);
  if (first === -1) return 'noDigits';
  if (text.length > priceCharacters) return 'form';
  let end = text.length;
  while (!/\d/.test(text[end - 1]!)) end--;
  const number = text.slice(first, end);
  const before = trimText(text.slice(0, first));
  const after = trimText(text.slice(end));
  if (minus.test(before) && unit.test(trimText(before.replace(minus, '')))) return 'negative';
  if (after === '-' || (before.startsWith('(') && after.endsWith(')'))) return 'negative';

  const inPoints = (candidate: string) => [candidate, withDecimalPoint(candidate)];
  for (const candidate of [number, number.replace(/([.,]\d{4})\d+$/, '$1')]) {
    const [own, other] = hasDecimalComma ? inPoints(candidate).reverse() : inPoints(candidate);
    if (
      priceGrammar.test(other!) &&
      candidate.includes(hasDecimalComma ? '.' : ',') &&
      !priceGrammar.test(own!)
    )
      return 'decimal';
    if (!priceGrammar.test(own!)) continue;
    if (candidate !== number) return 'decimals';
    if (partsOf(own!).digits.length > wholeDigitsMax) return 'size';
    return [before, after].some((word) => words.test(word) && !isCurrency(word)) ? 'currency' : 'form';
  }
  return 'form';
}

const isCurrency = (word: string) => '$€£¥'.includes(word) || isActiveCurrency(word.toUpperCase());
