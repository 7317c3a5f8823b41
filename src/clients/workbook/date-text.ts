import { numberText } from './number-text';

/** What a number format shows of a number: a date or date-time, a time of day, or elapsed time. */
export type DateKind = 'date' | 'time' | 'elapsed';

const secondsOfDay = 86_400;
/** 9999-12-31. */
const lastDay = { 1900: 2_958_465, 1904: 2_957_003 };

/**
 * Writes a date of a sheet in ISO 8601: a date, a date-time if it has a time of day, or a time.
 * @param raw - days since 1899-12-31, or since 1904-01-01
 */
export function dateText(raw: string, kind: DateKind, is1904: boolean): string {
  const value = Number(raw);
  const last = lastDay[is1904 ? 1904 : 1900];
  if (!Number.isFinite(value) || value < 0 || value >= last + 1) return numberText(raw);
  // A time just before midnight is of its own day.
  const seconds = Math.min(Math.round(value * secondsOfDay), value < 1 ? secondsOfDay - 1 : Infinity);
  const days = Math.floor(seconds / secondsOfDay);
  // Rounded to the day after the last one.
  if (days > last) return numberText(raw);
  const time = timeText(seconds - days * secondsOfDay);
  if (kind === 'elapsed') return timeText(seconds);
  const isTime = days === 0 && (kind === 'time' || (!is1904 && seconds > 0));
  if (isTime) return time;
  // Excel shows it as the day before the first one.
  if (days === 0 && !is1904) return numberText(raw);
  const date = dayText(days, is1904);
  return time === '00:00:00' ? date : `${date}T${time}`;
}

/** Writes a date that the file has in ISO 8601, a date alone if it has no time of day. */
export function isoDateText(raw: string): string {
  const [date, time = ''] = raw.split('T') as [string, string?];
  const seconds = time.slice(0, 8);
  return seconds === '' || seconds === '00:00:00' ? date : `${date}T${seconds}`;
}

function dayText(days: number, is1904: boolean): string {
  // Excel has this day, for the sake of Lotus 1-2-3.
  if (days === 60 && !is1904) return '1900-02-29';
  const first = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30);
  return new Date(first + days * secondsOfDay * 1000).toISOString().slice(0, 10);
}

function timeText(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
