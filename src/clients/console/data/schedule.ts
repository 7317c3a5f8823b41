import cronstrue from 'cronstrue';
import { Cron } from 'croner';
import { isTwelveHours } from '../locale';
import { texts } from '../texts';

interface Schedule {
  /** Five fields. */
  cron: string;
  time_zone: string;
}

/** Describes a schedule in words; undefined if it cannot: the service reports the reason. */
export function wordsOf(cron: string): string | undefined {
  if (cron.trim().split(/\s+/).length !== 5) return undefined;
  try {
    return cronstrue.toString(cron, { use24HourTimeFormat: !isTwelveHours });
  } catch {
    return undefined;
  }
}

/** Describes a schedule in words, also one that only the service can read. */
export const scheduleInWords = (cron: string) => wordsOf(cron) ?? texts.schedule.unknown;

/**
 * Lists the next times of a schedule; empty if it is malformed. The service's times can differ in the night of a clock change: a
 * preview is not worth a second computation of skipped local times.
 */
export function nextTimes({ cron, time_zone: timeZone }: Schedule, howMany: number): Date[] {
  try {
    const local = new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short', timeStyle: 'short' });
    const times = new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true }).nextRuns(2 * howMany);
    // If a local time occurs twice, the service uses the first.
    const byLocal = new Map(times.toReversed().map((at) => [local.format(at), at]));
    const once = times.filter((at) => byLocal.get(local.format(at)) === at);
    return once.slice(0, howMany);
  } catch {
    return [];
  }
}

/** The time zones that the browser knows. */
export const timeZones = ['UTC', ...Intl.supportedValuesOf('timeZone')];
