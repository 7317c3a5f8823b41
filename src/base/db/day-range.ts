import type { ShapeError } from '../errors';
import { allOf, sql, type Sql } from './sql';

/** A range of UTC days, YYYY-MM-DD: `from` is inclusive, `to` exclusive. An absent end is open. */
export interface DayRange {
  from?: string;
  to?: string;
}

/** Finds a range without a day: `to` is not after `from`. The schema finds texts that are no dates. */
export function rangeFaults({ query: { from, to } }: { query: Record<string, unknown> }): ShapeError[] {
  if (!isDayText(from) || !isDayText(to) || from < to) return [];
  return [
    { type: 'date_range', loc: ['query', 'to'], msg: "Input should be a date after 'from'", input: to },
  ];
}

const isDayText = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);

/** The date of a day for PostgreSQL, which has no year 0. */
export const dateOf = (day: string): Sql => sql`cast(${day.startsWith('0000') ? '-infinity' : day} as date)`;

/** The condition that an order was created in the range. */
export function createdIn({ from, to }: DayRange): Sql {
  const startOf = (day: string) => sql`cast(${dateOf(day)} as timestamp) at time zone 'UTC'`;
  return allOf([
    ...(from === undefined ? [] : [sql`orders.created_at >= ${startOf(from)}`]),
    ...(to === undefined ? [] : [sql`orders.created_at < ${startOf(to)}`]),
  ]);
}

/** The condition that a day is in the range. */
export function dayIn({ from, to }: DayRange, salesDay: Sql): Sql {
  return allOf([
    ...(from === undefined ? [] : [sql`${salesDay} >= ${dateOf(from)}`]),
    ...(to === undefined ? [] : [sql`${salesDay} < ${dateOf(to)}`]),
  ]);
}
