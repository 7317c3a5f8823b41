import { format as formatNumber, getFormatInfo, tokenize } from 'numfmt';
import type { DateKind } from './date-text';
import { currencyOfTokens, type FormatCurrency, type FormatTokens } from './format-currency';
import { numberText } from './number-text';

/** What a number format says of the numbers that have it. */
export interface CellFormat {
  /** Undefined: the numbers are no dates. */
  date?: DateKind;
  currency?: FormatCurrency;
  /** Returns a number as Excel shows it. Absent: the format has nothing of its own to show. */
  displayed?: (value: number) => string;
  /** Whether the digits are a number of a thing: with leading zeros, or with characters between. */
  isCode: boolean;
}

const general: CellFormat = { isCode: false };

/** Longer ones are hostile: Excel allows 255 characters. */
const codeCharactersMax = 1000;

/** Languages and calendars of dates, which numfmt does not know. */
const dateMarks = /\[(?:ENG|~\w+)\]/gi;

/** Reads a number format: `[$€-407] #,##0.00`. A faulty one counts as General. */
export function cellFormatOf(written: string): CellFormat {
  if (written === 'General' || written === '@' || written.length > codeCharactersMax) return general;
  try {
    const code = written.replace(dateMarks, '');
    const { isDate, type } = getFormatInfo(code);
    const tokens = firstSection(tokenize(code));
    if (isDate) return { date: dateKindOf(type, tokens), isCode: false };
    if (type === 'general' || type === 'text' || type === 'scientific' || type === 'fraction') return general;
    const isPlain = type === 'number' || type === 'grouped';
    return {
      currency: currencyOfTokens(tokens),
      isCode: isPlain && isCodeFormat(tokens),
      // Thousands are grouped by the characters of a language.
      ...(isPlain &&
        !tokens.some((token) => token.type === 'group') && {
          displayed: (value: number) => formatNumber(code, value).trim(),
        }),
    };
  } catch {
    return general;
  }
}

function firstSection(tokens: FormatTokens): FormatTokens {
  const end = tokens.findIndex(({ type }) => type === 'break');
  return end === -1 ? tokens : tokens.slice(0, end);
}

function dateKindOf(type: string, tokens: FormatTokens): DateKind {
  if (tokens.some((token) => token.type === 'duration')) return 'elapsed';
  return type === 'time' ? 'time' : 'date';
}

const digits: ReadonlySet<string> = new Set(['zero', 'hash', 'qmark']);

function isCodeFormat(tokens: FormatTokens): boolean {
  const end = tokens.findIndex(({ type }) => type === 'point');
  const integer = end === -1 ? tokens : tokens.slice(0, end);
  if (integer.some(({ type }) => type === 'group')) return false;
  const zeros = integer.filter(({ type }) => type === 'zero').length;
  const first = integer.findIndex(({ type }) => digits.has(type));
  const last = integer.findLastIndex(({ type }) => digits.has(type));
  // Spaces and points between digits group thousands: `# ##0`.
  const isSeparated = integer.slice(Math.max(0, first), Math.max(0, last)).some(({ type, value }) => {
    return !digits.has(type) && /^[\p{L}\p{N}/_-]+$/u.test(String(value));
  });
  return zeros > 1 || isSeparated;
}

/**
 * Writes the number of a thing as Excel shows it, but all of its digits, and without an exponent.
 * @param raw - of a whole number, all digits stay, although Excel would keep 15
 */
export function identifierText(raw: string, format?: CellFormat): string {
  const plain = /^[1-9]\d*$/.test(raw) ? raw : numberText(raw);
  const shown = format?.displayed?.(Number(raw)) ?? plain;
  const digitsOf = (text: string) => text.replace(/\D/g, '').replace(/^0+/, '');
  // A rounded number, or one that is hidden.
  const isWhole = shown !== '' && digitsOf(shown).includes(digitsOf(plain));
  const isGrouped = shown.includes(',') || (!format?.isCode && /\d\s\d/.test(shown));
  return isWhole && !isGrouped ? shown : plain;
}
