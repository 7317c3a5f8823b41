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
const slotGapMinutes = 15;

const cronOptions = { mode: '5-part', paused: true } as const;

/** Parses five fields, as times of UTC. @throws Error */
function parseCron(cron: string): Cron {
  if (cron.trim().split(/\s+/).length !== 5) throw new Error('there are not five fields');
  return new Cron(cron, { ...cronOptions, timezone: 'UTC' });
}

export type ScheduleFault =
  'schedule_cron' | 'schedule_never' | 'schedule_too_frequent' | 'schedule_time_zone';

/** Finds the faults of a schedule; the frequency is checked as if every day were one of its days. */
export function scheduleFaults({ cron, time_zone }: Schedule): ScheduleFault[] {
  const ofZone: ScheduleFault[] = isTimeZone(time_zone) ? [] : ['schedule_time_zone'];
  let times: Cron;
  try {
    times = parseCron(cron);
  } catch {
    return ['schedule_cron', ...ofZone];
  }
  if (!times.nextRun()) return ['schedule_never', ...ofZone];
  return isTooFrequent(cron) ? ['schedule_too_frequent', ...ofZone] : ofZone;
}

function isTooFrequent(cron: string): boolean {
  const [minute, hour] = cron.trim().split(/\s+/);
  const times = parseCron(`${minute} ${hour} * * *`);
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
    return /^[a-z]/i.test(name) && Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

const clocks = new LRUCache<string, Intl.DateTimeFormat>({
  max: 600,
  memoMethod: (timeZone) =>
    new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
});

/** Finds the first slot after an instant; null if there is none. @throws Error for an unknown time zone */
export function nextSlot({ cron, time_zone }: Schedule, after: Date): Date | null {
  const clock = clocks.memo(time_zone);
  // Croner caches an object for each spelling of a time zone.
  const timezone = clock.resolvedOptions().timeZone;
  const nextOf = (pattern: string) =>
    new Cron(pattern, { ...cronOptions, timezone, fixedTimeRule: 'no-wildcard' }).nextRun(after);
  const localTime = (instant: Date) => new Date(`${clock.format(instant)}Z`);

  const slot = nextOf(withoutWildcards(cron));
  // If clocks skip the end of a day, Croner omits its times: they run at the first minute of the next day.
  const local = parseCron(cron).nextRun(localTime(after));
  if (!local || (slot && dayOf(localTime(slot)) === dayOf(local))) return slot;
  const nextDay = new Date(local.getTime() + dayMilliseconds);
  const midnight = nextOf(`0 0 ${nextDay.getUTCDate()} ${nextDay.getUTCMonth() + 1} *`)!;
  const lastMinute = localTime(new Date(midnight.getTime() - minuteMilliseconds));
  return lastMinute < local ? midnight : slot;
}

const dayOf = (local: Date) => Math.floor(local.getTime() / dayMilliseconds);

/**
 * Replaces wildcards and steps of minute and hour by lists: Croner then treats all times as fixed. A time that clocks skip runs at
 * the next minute that exists; a time that occurs twice runs once.
 */
function withoutWildcards(cron: string): string {
  const [minute, hour, ...days] = cron.trim().split(/\s+/) as [string, string, ...string[]];
  return [listValues(minute, 59), listValues(hour, 23), ...days].join(' ');
}

const listValues = (field: string, last: number) =>
  field
    .split(',')
    .flatMap((part) => {
      const [range, step = 1] = part.split('/') as [string, string?];
      const [from, to = from] = range === '*' || range === '?' ? [0, last] : range.split('-').map(Number);
      const count = Math.floor((to! - from!) / Number(step)) + 1;
      return Array.from({ length: count }, (_, index) => from! + index * Number(step));
    })
    .join();
