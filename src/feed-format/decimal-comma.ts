/** Thousands are separated by points, apostrophes or blanks; kinds of apostrophes, or of blanks, may be mixed. */
const commaPrice =
  /^(?:(?<before>[$€£¥]|[A-Za-z]{3})[ \u00a0\u202f]?)?(?<whole>[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:['\u2019]\d{3})+|(?:[ \u00a0\u202f]\d{3})+)|\d+)(?:,(?<decimals>\d{1,4}0*))?(?:[ \u00a0\u202f]?(?<after>[$€£¥]|[A-Za-z]{3}))?$/;

/** Most prices have neither thousands separators nor a unit. */
const plainCommaPrice = /^\d+(?:,\d{1,4}0*)?$/;

/** A text that is no price in any notation. */
const noNumber = 'NaN';

/**
 * Converts a trimmed price with decimal comma to a decimal point without thousands separators.
 * @returns for any other text, one that is no price either: `12.50` must not become a price
 */
export function withDecimalPoint(text: string): string {
  if (plainCommaPrice.test(text)) return text.replace(',', '.');
  if (text === '' || text.includes('\0')) return text;
  const { groups } = commaPrice.exec(text) ?? {};
  if (!groups) return noNumber;
  const { before = '', whole: digits, decimals, after = '' } = groups;
  const amount = `${digits!.replace(/\D/g, '')}${decimals === undefined ? '' : `.${decimals}`}`;
  return `${before}${amount}${after}`;
}
