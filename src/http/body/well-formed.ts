import { parse, unescape, type ParsedUrlQuery } from 'node:querystring';
import type { ShapeError } from '../../base/errors';

/** Maximum number of listed errors: a megabyte can contain a hundred thousand. */
const errorsMax = 100;

/** A value without lone surrogates, and an error for each string that had some. */
export interface WellFormed<T> {
  value: T;
  errors: ShapeError[];
}

/**
 * Replaces lone surrogates in strings and member names of a JSON value by U+FFFD. They have no encoding: PostgreSQL would store
 * different strings as the same one.
 * @param loc - the location of the value
 */
export function toWellFormed<T>(value: T, loc: ShapeError['loc']): WellFormed<T> {
  if (isWellFormed(value)) return { value, errors: [] };
  const errors: ShapeError[] = [];
  const fix = (text: string, at: ShapeError['loc']): string => {
    if (text.isWellFormed()) return text;
    const input = text.toWellFormed();
    const msg = 'String should be well-formed Unicode, without lone surrogates';
    if (errors.length < errorsMax) errors.push({ type: 'string_unicode', loc: at, msg, input });
    return input;
  };
  const walk = (each: unknown, at: ShapeError['loc']): unknown => {
    if (typeof each === 'string') return fix(each, at);
    if (Array.isArray(each)) return each.map((item, index) => walk(item, [...at, index]));
    if (typeof each !== 'object' || each === null) return each;
    // Unlike an assignment, this makes `__proto__` an ordinary member.
    return Object.fromEntries(
      Object.entries(each).map(([name, member]) => {
        const step = fix(name, [...at, name.toWellFormed()]);
        return [step, walk(member, [...at, step])];
      }),
    );
  };
  return { value: walk(value, loc) as T, errors };
}

/** Returns whether there is nothing to replace, the usual case, without a copy. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

/** Parses a query string. Invalid UTF-8 becomes lone surrogates, which `toWellFormed` reports. */
export function parseQuery(query: string): ParsedUrlQuery {
  // All parameters that fit into a target of 16 KiB: beyond Node's default of a thousand could be an invalid one.
  return parse(query, '&', '=', { decodeURIComponent: decode, maxKeys: 0 });
}

function decode(text: string): string {
  try {
    // A percent sign without two digits is literal.
    return decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return unescape(text).replaceAll('\uFFFD', '\uD800');
  }
}
