import { randomUUID } from 'node:crypto';

/** Placeholder for a written text in the JSON of the value around it; no other text contains it. */
const mark = `written ${randomUUID()}`;

/** The written texts within the value that `stringifyJson` writes, in their order. */
let writtenTexts: string[] = [];

/** A value with its JSON. */
class WrittenJson {
  constructor(private readonly text: string) {}

  toJSON(): string {
    writtenTexts.push(this.text);
    return mark;
  }
}

/** Returns a value that `stringifyJson` writes as this JSON, also within other values. It has no members. */
export function writtenJson(text: string): unknown {
  return new WrittenJson(text);
}

/**
 * Converts a decimal text to a number that `stringifyJson` writes exactly, without trailing zeros. If a JavaScript number has other
 * digits, the result is an object.
 * @param decimal - a `numeric` of PostgreSQL, such as `189.9000`
 */
export function exactNumber(decimal: string): number {
  const digits = withoutTrailingZeros(decimal);
  const number = Number(digits);
  return String(number) === digits ? number : (writtenJson(digits) as number);
}

function withoutTrailingZeros(decimal: string): string {
  if (!decimal.includes('.')) return decimal;
  let end = decimal.length;
  while (decimal[end - 1] === '0') end--;
  return decimal.slice(0, decimal[end - 1] === '.' ? end - 1 : end);
}

/**
 * The text of a value from `parseJson` or `keepJson`; neither JSON nor a copy of the value has it. Not in a WeakMap, where V8 keeps the
 * texts until it collects all garbage.
 */
const keptText = Symbol('kept text');

function keepText(value: object, text: string): void {
  Object.defineProperty(value, keptText, { value: text });
}

/** Parses JSON; `stringifyJson` writes the unchanged value as the same text. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null) keepText(value, text);
  return value;
}

/** Writes a value as JSON, and keeps the text for the next `stringifyJson` of the unchanged value. */
export function keepJson(value: object): string {
  const text = stringifyJson(value);
  keepText(value, text);
  return text;
}

/** Writes a value as JSON, with all digits of exact numbers. */
export function stringifyJson(value: object): string {
  const text = (value as { [keptText]?: string })[keptText];
  if (text !== undefined) return text;
  writtenTexts = [];
  const json = JSON.stringify(value);
  const written = writtenTexts;
  if (written.length === 0) return json;
  writtenTexts = [];
  const pieces = json.split(`"${mark}"`);
  return pieces.map((piece, at) => piece + (written[at] ?? '')).join('');
}
