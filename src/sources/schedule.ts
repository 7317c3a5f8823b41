import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';

/** Times of day, in an IANA time zone. */
export interface Schedule {
  /** Five fields. */
  cron: string;
  time_zone: string;
}

const minuteMilliseconds = 60_000;
const dayMilliseconds = 24 * 3600 * 1000;

/** Minimum time from one slot to the next. */
export const slotGapMinutes = 15;

/** Parses five fields. The pattern is one of local times: they are computed as if they were UTC. @throws Error */
function localTimesOf(cron: string): Cron {
  if (cron.trim().split(/\s+/).length !== 5) throw new Error('there are not five fields');
  return new Cron(cron, { mode: '5-part', timezone: 'UTC', paused: true });
}

export type ScheduleFault =
  'schedule_cron' | 'schedule_never' | 'schedule_too_frequent' | 'schedule_time_zone';

/** Finds what is wrong with a schedule; the frequency is that of a day, as if every day were one of its days. */
export function scheduleFaults({ cron, time_zone }: Schedule): ScheduleFault[] {
  const ofZone: ScheduleFault[] = isTimeZone(time_zone) ? [] : ['schedule_time_zone'];
  let times: Cron;
  try {
    times = localTimesOf(cron);
  } catch {
    return ['schedule_cron', ...ofZone];
  }
  if (!times.nextRun()) return ['schedule_never', ...ofZone];
  return isTooFrequent(cron) ? ['schedule_too_frequent', ...ofZone] : ofZone;
}

function isTooFrequent(cron: string): boolean {
  const [minute, hour] = cron.trim().split(/\s+/);
  const times = localTimesOf(`${minute} ${hour} * * *`);
  let last = times.nextRun(new Date(Date.UTC(2024, 0, 1) - 1))!;
  const end = last.getTime() + dayMilliseconds;
  while (last.getTime() < end) {
    const next = times.nextRun(last)!;
    if (next.getTime() - last.getTime() < slotGapMinutes * minuteMilliseconds) return true;
    last = next;
  }
  return false;
}

function isTimeZone(name: string): boolean {
  try {
    return /^[a-z]/i.test(name) && Boolean(zoneFormat(name));
  } catch {
    return false;
  }
}

/** Finds the first slot after an instant; null if there is none. @throws Error for an unknown time zone */
export function nextSlot({ cron, time_zone }: Schedule, after: Date): Date | null {
  const times = localTimesOf(cron);
  let local: Date | null = new Date(after.getTime() + offsetAt(time_zone, after.getTime()));
  // Instants never decrease with local times. An hour that occurs twice has up to a few that are past.
  while ((local = times.nextRun(local))) {
    const slot = instantOf(time_zone, local.getTime());
    if (slot > after.getTime()) return new Date(slot);
  }
  return null;
}

/**
 * Finds the instant of a local time: the first one of a time that occurs twice; of a time that clocks skip, the next minute
 * that exists.
 * @param local - the local time as if it were UTC, in milliseconds
 */
function instantOf(zone: string, local: number): number {
  const before = local - offsetAt(zone, local - dayMilliseconds);
  const after = local - offsetAt(zone, local + dayMilliseconds);
  for (const instant of [Math.min(before, after), Math.max(before, after)]) {
    if (instant + offsetAt(zone, instant) === local) return instant;
  }
  let [skipped, exists] = [after, before];
  const offset = offsetAt(zone, exists);
  while (exists - skipped > minuteMilliseconds) {
    const middle = skipped + Math.floor((exists - skipped) / 2 / minuteMilliseconds) * minuteMilliseconds;
    if (offsetAt(zone, middle) === offset) exists = middle;
    else skipped = middle;
  }
  return exists;
}

const zones = new LRUCache<string, Intl.DateTimeFormat>({ max: 600 });

/** @throws RangeError for an unknown time zone */
function zoneFormat(zone: string): Intl.DateTimeFormat {
  const known = zones.get(zone);
  if (known) return known;
  const fields = {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  } as const;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    ...fields,
  });
  zones.set(zone, format);
  return format;
}

/** Returns the offset of local time from UTC in milliseconds, whole minutes. */
function offsetAt(zone: string, instant: number): number {
  const minute = Math.floor(instant / minuteMilliseconds) * minuteMilliseconds;
  const parts = Object.fromEntries(
    zoneFormat(zone)
      .formatToParts(minute)
      .map(({ type, value }) => [type, value]),
  );
  const { year, month, day, hour, minute: minutes } = parts;
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minutes)) - minute;
}
