const dayMilliseconds = 86_400_000;

/** Periods that can be chosen: the last days until today, the month so far, or two days of one's own. */
export const periodNames = ['7', '30', '90', 'month', 'own'] as const;
export type PeriodName = (typeof periodNames)[number];

/** Days of UTC, as the service counts them: the first one, and the day after the last one. */
export interface Period {
  from?: string;
  to?: string;
}

const dayAt = (milliseconds: number) => new Date(milliseconds).toISOString().slice(0, 10);

/** Returns the day that is some days later. @param day - YYYY-MM-DD @param days - negative: earlier */
export const addDays = (day: string, days: number) => dayAt(Date.parse(day) + days * dayMilliseconds);

export const today = () => dayAt(Date.now());

/** Returns the number of days of a period; undefined if it is open. */
export const daysOf = ({ from, to }: Period) =>
  from && to ? (Date.parse(to) - Date.parse(from)) / dayMilliseconds : undefined;

/** Returns the days of a chosen period. @param own - its own first and last day; empty: open */
export function periodOf(
  name: PeriodName | '',
  own: { first: string; last: string },
  current: string,
): Period {
  const to = addDays(current, 1);
  if (name === '') return {};
  if (name === 'month') return { from: `${current.slice(0, 8)}01`, to };
  if (name !== 'own') return { from: addDays(to, -Number(name)), to };
  const isReversed = own.first && own.last && own.first > own.last;
  const [first, last] = isReversed ? [own.last, own.first] : [own.first, own.last];
  return { ...(first && { from: first }), ...(last && { to: addDays(last, 1) }) };
}

/** Returns the period of the same length that ends where this one begins; undefined if it is open. */
export function periodBefore(period: Period): Period | undefined {
  const days = daysOf(period);
  return days ? { from: addDays(period.from!, -days), to: period.from } : undefined;
}
