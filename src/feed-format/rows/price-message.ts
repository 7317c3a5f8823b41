import { isActiveCurrency } from '../currency';
import { parseUnit } from '../currency-signs';
import { withDecimalPoint } from '../decimal-comma';
import { trimText } from '../text';
import {
  isAmount,
  isEnding,
  isTooLarge,
  splitPrice,
  type PriceNotation,
  type PriceParts,
} from '../parse-price';

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
  unknownUnit:
    'price names a currency that is neither an active ISO 4217 code nor a known currency sign. Write it like 5 EUR, or in the currency column.',
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
 */
export function priceMessage(text: string, notation: PriceNotation): string {
  return (notation.hasDecimalComma ? commaMessages : pointMessages)[priceFault(text, notation)];
}

/** Maximum length of a faulty price; a longer text is something else. */
const priceCharacters = 100;
const minus = /^[-\u2012\u2013\u2212]|[-\u2012\u2013\u2212]$/;
const words = /^[\p{L}\p{Sc}][\p{L}\p{Sc}\s.]*$/u;

function priceFault(text: string, notation: PriceNotation): PriceFault {
  const parts = splitPrice(text);
  if (!parts) return 'noDigits';
  if (text.length > priceCharacters) return 'form';
  const before = trimText(parts.before);
  const behind = trimText(parts.behind);
  if (isNegative(before, trimText(parts.ending + parts.behind), notation)) return 'negative';
  if (parts.ending !== '' && !notation.hasSigns) return 'form';
  const fault = numberFault(parts, notation.hasDecimalComma);
  if (fault !== undefined) return fault;
  const isUnknown = [before, behind].some((word) => words.test(word) && !isUnit(word, notation));
  if (!isUnknown) return 'form';
  return notation.hasSigns ? 'unknownUnit' : 'currency';
}

function isNegative(before: string, behind: string, notation: PriceNotation): boolean {
  const unit = trimText(before.replace(minus, ''));
  const isSigned =
    minus.test(before) && (unit === '' || /^(?:\p{Sc}|[A-Za-z]{3})$/u.test(unit) || isUnit(unit, notation));
  return isSigned || behind === '-' || (before.startsWith('(') && behind.endsWith(')'));
}

/** Finds the fault of the digits, if they have one. */
function numberFault(parts: PriceParts, hasDecimalComma: boolean): PriceFault | undefined {
  const { number } = parts;
  const inPoints = (candidate: string) => [candidate, withDecimalPoint(candidate)] as const;
  for (const candidate of [number, number.replace(/([.,]\d{4})\d+$/, '$1')]) {
    const [own, other] = hasDecimalComma ? [...inPoints(candidate)].reverse() : inPoints(candidate);
    const hasOther = candidate.includes(hasDecimalComma ? '.' : ',');
    if (isAmount(other) && hasOther && !isAmount(own)) return 'decimal';
    if (!isAmount(own)) continue;
    if (candidate !== number) return 'decimals';
    if (!isEnding(parts, hasDecimalComma)) return hasOtherEnding(parts, hasDecimalComma) ? 'decimal' : 'form';
    return isTooLarge(own) ? 'size' : undefined;
  }
  return 'form';
}

const hasOtherEnding = ({ ending }: PriceParts, hasDecimalComma: boolean) =>
  ending.startsWith(hasDecimalComma ? '.' : ',');

const isUnit = (word: string, { hasSigns }: PriceNotation) =>
  hasSigns ? parseUnit(word) !== undefined : '$€£¥'.includes(word) || isActiveCurrency(word.toUpperCase());
