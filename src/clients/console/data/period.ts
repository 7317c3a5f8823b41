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

/** Returns the day that is some days later; empty for a text that is no day. @param days - negative: earlier */
export function addDays(day: string, days: number): string {
  const time = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(time) ? '' : dayAt(time + days * dayMilliseconds);
}

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

/** Returns the last seven days, today included, and the seven days before. @param current - today */
export function weeksUntil(current: string): Record<'before' | 'last', Required<Period>> {
  const to = addDays(current, 1);
  const from = addDays(to, -7);
  return { before: { from: addDays(from, -7), to: from }, last: { from, to } };
}

/** Returns the first and last second of the time axis for bars of days or months; undefined for an open period. */
export function axisOf({ from, to }: Period, grain: 'daily' | 'monthly'): [number, number] | undefined {
  if (!from || !to) return undefined;
  const startOf = (day: string) => Date.parse(grain === 'monthly' ? `${day.slice(0, 8)}01` : day);
  // A bar stands in the middle of its day or month, which begin at its time.
  const half = (grain === 'monthly' ? 15 : 0.5) * dayMilliseconds;
  return [(startOf(from) - half) / 1000, (startOf(addDays(to, -1)) + half) / 1000];
}
