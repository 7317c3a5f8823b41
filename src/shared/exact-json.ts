import { randomUUID } from 'node:crypto';

/** Precedes the digits of an exact number until its JSON text is complete; no other text contains it. */
const mark = `exact ${randomUUID()} `;

/** A JSON number that is written digit by digit. */
class ExactNumber {
  constructor(private readonly digits: string) {}

  toJSON(): string {
    return mark + this.digits;
  }
}

/**
 * Makes a JSON number of a decimal text, exact to the last digit in `stringifyJson`. It is a JavaScript number where that
 * prints the same digits, else an object of which only `stringifyJson` makes a number; trailing zeros are dropped.
 * @param decimal - as PostgreSQL writes a `numeric`, such as `189.9000`
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

/** The texts of the values that `parseJson` has returned. */
const texts = new WeakMap<object, string>();

/** Parses JSON that `stringifyJson` then writes as it was, to the letter. The value must not be changed. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null) texts.set(value, text);
  return value;
}

/** Writes a value as JSON, with every digit of its exact numbers. */
export function stringifyJson(value: object): string {
  const text = texts.get(value);
  if (text !== undefined) return text;
  const [head, ...rest] = JSON.stringify(value).split(`"${mark}`) as [string, ...string[]];
  // The first quote of each piece is the one behind the digits.
  return head + rest.map((piece) => piece.replace('"', '')).join('');
}
