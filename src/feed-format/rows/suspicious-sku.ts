/** `="00042"`: spreadsheets show the text in the quotes. */
const textFormula = /^="[^"]*"$/;

/** `'00042`: the apostrophe marks a text, and spreadsheets do not show it. */
const textMark = /^'\d/;

/**
 * A number that a spreadsheet has shortened: `1.23457E+12`, with either decimal separator. Skus such as `12E5` or `5E-10` exist: only
 * the plus sign, or decimals before a minus sign with two digits, indicate a spreadsheet.
 */
const exponent = /^(?:\d{1,3}(?:[.,]\d{1,15})?E\+\d{1,3}|\d[.,]\d{1,15}E-\d{2,3})$/i;

/** Invisible characters: zero-width, text direction, soft hyphens, byte order marks, controls. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cc}]/u;

/** Messages by character: few texts, as many issues are kept. */
const invisibleMessages = new Map<string, string>();

/** Tells a number that a spreadsheet has shortened: `1.23457E+12`. */
export const isShortenedNumber = (sku: string) => exponent.test(sku);

/** Formats why a sku is suspicious, for people; undefined: it is not. A NUL is an error with its own code. */
export function suspicionOf(sku: string): string | undefined {
  if (textFormula.test(sku))
    return "sku is a spreadsheet's text formula, and is stored as it is. Write it without = and quotes.";
  if (textMark.test(sku))
    return "sku begins with an apostrophe, a spreadsheet's mark of text, and is stored with it. Remove the apostrophe.";
  if (isShortenedNumber(sku))
    return 'sku looks like a number that a spreadsheet has shortened, and is stored as it is. Export the column as text.';
  const [found] = invisible.exec(sku) ?? [];
  if (found === undefined || sku.includes('\0')) return undefined;
  let message = invisibleMessages.get(found);
  if (message === undefined) {
    const code = found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    message = `sku contains an invisible character (U+${code}), and is stored with it. Remove it.`;
    invisibleMessages.set(found, message);
  }
  return message;
}
