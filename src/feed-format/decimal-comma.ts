/** Thousands are separated by points, apostrophes or blanks; those of one kind may be mixed. */
const commaPrice =
  /^(?:(?<before>[$€£¥]|[A-Za-z]{3})[ \u00a0\u202f]?)?(?<whole>[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:['\u2019]\d{3})+|(?:[ \u00a0\u202f]\d{3})+)|\d+)(?:,(?<decimals>\d{1,4}0*))?(?:[ \u00a0\u202f]?(?<after>[$€£¥]|[A-Za-z]{3}))?$/;

/** Most prices have neither thousands separators nor a unit. */
const plainCommaPrice = /^\d+(?:,\d{1,4}0*)?$/;

/** No price in any notation. */
const noNumber = 'NaN';

/**
 * Writes a trimmed price with decimal comma with a decimal point and without thousands separators.
 * @returns a text that is no price either where it is no price with decimal comma: `12.50` must not become one
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
