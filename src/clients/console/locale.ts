/** The user's locale, for numbers and times; texts are English. */
const locale = navigator.languages;

const counts = new Intl.NumberFormat(locale);
const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
const megabytes = new Intl.NumberFormat(locale, {
  style: 'unit',
  unit: 'megabyte',
  maximumFractionDigits: 1,
});
const times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });

const slots = new Intl.DateTimeFormat(locale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
});

export const readerTimeZone = times.resolvedOptions().timeZone;
/** Whether the user's clock has AM and PM. */
export const isTwelveHours = times.resolvedOptions().hour12 ?? false;

export const count = (value: number) => counts.format(value);
/** @param share - 0 to 1 */
export const percent = (share: number) => percents.format(share);
/** @param instant - ISO 8601 */
export const time = (instant: string | null | undefined) => (instant ? times.format(new Date(instant)) : '–');

/** Formats a time of a schedule, with its day of the week, in the user's time zone. */
export const slot = (instant: Date) => slots.format(instant);

/** Formats an amount of money; without a currency, a number. */
export function amount(value: number | string, currency: string | null | undefined): string {
  const number = Number(value);
  if (!currency) return count(number);
  return new Intl.NumberFormat(locale, { style: 'currency', currency }).format(number);
}

export const megabyte = (bytes: number) => megabytes.format(bytes / 1e6);

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Formats a duration in the largest unit that fits. @param milliseconds - negative values count as 0 */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? units[3];
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' });
  return format.format(Math.floor(seconds / size));
}

const daySeconds = 86_400;

/** Formats labels of a time axis: days and months, or times of the day for short ranges. @param splits - seconds */
export function timeLabels(splits: number[], isUtc: boolean): string[] {
  const step = (splits[1] ?? 0) - (splits[0] ?? 0);
  const parts: Intl.DateTimeFormatOptions =
    step < daySeconds
      ? { hour: 'numeric', minute: '2-digit' }
      : step < 28 * daySeconds
        ? { day: 'numeric', month: 'short' }
        : { month: 'short', year: 'numeric' };
  const format = new Intl.DateTimeFormat(locale, { ...parts, ...(isUtc && { timeZone: 'UTC' }) });
  return splits.map((seconds) => format.format(new Date(seconds * 1000)));
}
