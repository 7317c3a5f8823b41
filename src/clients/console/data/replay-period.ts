/** Its begin is inclusive, its end is not. */
export interface ReplayPeriod {
  from: Date;
  to: Date;
}

const hourMilliseconds = 3_600_000;
const dayMilliseconds = 24 * hourMilliseconds;

/** Splits a period into parts of a day at most, the longest period of a request: a day of the clock can have 25 hours. */
export function inDays({ from, to }: ReplayPeriod): ReplayPeriod[] {
  const parts: ReplayPeriod[] = [];
  for (let begin = from; begin < to;) {
    const end = new Date(Math.min(begin.getTime() + dayMilliseconds, to.getTime()));
    parts.push({ from: begin, to: end });
    begin = end;
  }
  return parts;
}

/** Days for which the service keeps deliveries. */
export const keptDays = 7;

/** Returns the last hour. */
export const lastHour = (now: Date): ReplayPeriod => ({
  from: new Date(now.getTime() - hourMilliseconds),
  to: now,
});

/** Returns a day of the user's time zone until now. @param daysAgo - 0 is today */
export function replayDay(now: Date, daysAgo: number): ReplayPeriod {
  const startOf = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
  return { from: startOf(daysAgo), to: daysAgo === 0 ? now : startOf(daysAgo - 1) };
}
