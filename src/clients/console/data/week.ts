const dayMilliseconds = 86_400_000;
const days = 7;

/** Formats the day of a time, of UTC: YYYY-MM-DD. */
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Two adjoining periods of days, of UTC, half-open as in the API. */
export interface Weeks {
  before: { from: string; to: string };
  last: { from: string; to: string };
}

/** Returns the last seven days, today included, and the seven days before. */
export function weeksUntil(now: number): Weeks {
  const end = now + dayMilliseconds;
  const start = dayOf(end - days * dayMilliseconds);
  return {
    before: { from: dayOf(end - 2 * days * dayMilliseconds), to: start },
    last: { from: start, to: dayOf(end) },
  };
}

/** Returns the day after a day; undefined for a text that is no day. */
export function dayAfter(day: string): string | undefined {
  const time = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(time) ? undefined : dayOf(time + dayMilliseconds);
}

/** Returns the day before a day. */
export const dayBefore = (day: string): string => dayOf(Date.parse(`${day}T00:00:00Z`) - dayMilliseconds);

/** Returns how much more a figure is than before, in percent; undefined if there was none before. */
export const growth = (value: number, before: number): number | undefined =>
  before === 0 ? undefined : (100 * (value - before)) / before;
