import { randomUUID } from 'node:crypto';

/** Marks the digits of an exact number in JSON text; no other text contains it. */
const mark = `exact ${randomUUID()} `;

/** A JSON number with all its digits. */
class ExactNumber {
  constructor(private readonly digits: string) {}

  toJSON(): string {
    return mark + this.digits;
  }
}

/**
 * Converts a decimal text to a number that `stringifyJson` writes exactly, without trailing zeros. Where a JavaScript number has
 * other digits, it is an object.
 * @param decimal - a `numeric` of PostgreSQL, such as `189.9000`
 */
export function exactNumber(decimal: string): number {
  const digits = withoutTrailingZeros(decimal);
  const number = Number(digits);
  return String(number) === digits ? number : (new ExactNumber(digits) as unknown as number);
}

function withoutTrailingZeros(decimal: string): string {
  if (!decimal.includes('.')) return decimal;
  let end = decimal.length;
  while (decimal[end - 1] === '0') end--;
  return decimal.slice(0, decimal[end - 1] === '.' ? end - 1 : end);
}

/** The texts of values from `parseJson` and `keepJson`. */
const texts = new WeakMap<object, string>();

/** Parses JSON; `stringifyJson` writes the unchanged value as the same text. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null) texts.set(value, text);
  return value;
}

/** Writes a value as JSON, and keeps the text for the next `stringifyJson` of the unchanged value. */
export function keepJson(value: object): string {
  const text = stringifyJson(value);
  texts.set(value, text);
  return text;
}

/** Writes a value as JSON, with all digits of exact numbers. */
export function stringifyJson(value: object): string {
  const text = texts.get(value);
  if (text !== undefined) return text;
  const [head, ...rest] = JSON.stringify(value).split(`"${mark}`) as [string, ...string[]];
  // The first quote of each piece follows the digits.
  return head + rest.map((piece) => piece.replace('"', '')).join('');
}
