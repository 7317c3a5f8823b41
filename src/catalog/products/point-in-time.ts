import { raw, type Sql } from '../../base/db/sql';

/** A time in microseconds since 1970, the precision of PostgreSQL; an integer, exact until the year 2255. */
export type Micros = number;

export const microsPerDay = 24 * 3600 * 1_000_000;

/** No history begins earlier or ends later; the latter is in the year 2223. */
const [earliest, latest] = [0, 8_000_000_000_000_000];

/**
 * Parses a time that matches the `PointInTime` of the document. Digits after the microseconds are ignored.
 * @returns a time from 1970 to 2223, the nearest one for others
 */
export function parseMicros(text: string): Micros {
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? [];
  const seconds = Date.parse(text.replace(/\.\d+/, '')) / 1000;
  const micros = seconds * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
  return Math.min(Math.max(micros, earliest), latest);
}

/** Formats a time like `2026-03-01T09:31:00.123456Z`. */
export function formatMicros(micros: Micros): string {
  const fraction = micros % 1_000_000;
  const seconds = new Date((micros - fraction) / 1000).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
  return `${seconds}.${String(fraction).padStart(6, '0')}Z`;
}

/** Converts a `timestamptz` to microseconds. */
export const microsSql = (timestamp: string): Sql =>
  raw(`cast(extract(epoch from ${timestamp}) * 1000000 as bigint)`);
