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

/** The least and most decimals of a price: two, or as many as the text has; as the currency has them if it is known. */
function decimalsOf(value: string, currency: string | null | undefined): Intl.NumberFormatOptions {
  const usual = currency
    ? new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits!
    : 2;
  // Zeros at the end are not shown.
  const given = value.split('.')[1]?.length ?? 0;
  return { minimumFractionDigits: usual, maximumFractionDigits: Math.max(usual, given) };
}

/**
 * Formats an amount of money with its currency, without rounding.
 * @param value - decimal text @param currency - ISO 4217; without one, a number with two decimals
 */
export function money(value: number | string, currency: string | null | undefined): string {
  const text = String(value);
  const options = {
    ...decimalsOf(text, currency),
    ...(currency && { style: 'currency' as const, currency }),
  };
  return new Intl.NumberFormat(locale, options).format(text as Intl.StringNumericLiteral);
}

/** Formats an amount for an axis: short, and with its currency. */
export const shortMoney = (value: number, currency: string) =>
  new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    notation: 'compact',
    minimumFractionDigits: 0,
    maximumFractionDigits: 2,
  }).format(value);

const changes = new Intl.NumberFormat(locale, {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});

/** Formats a change, with its sign. @param percents - 5 is five percent more */
export const change = (percents: number) => changes.format(percents / 100);

const pluralRules = new Intl.PluralRules('en');

const lists = new Intl.ListFormat('en');

/** Formats values as a list of the language of the texts: “3, 4, and 9”. */
export const listed = (values: (string | number)[]) => lists.format(values.map(String));

/** Returns the text for a count, by the rules of the language of the texts. */
export const plural = (value: number, { one, other }: Record<'one' | 'other', string>): string =>
  pluralRules.select(value) === 'one' ? one : other;

export const megabyte = (bytes: number) => megabytes.format(bytes / 1e6);

const kilobytes = new Intl.NumberFormat(locale, {
  style: 'unit',
  unit: 'kilobyte',
  maximumFractionDigits: 0,
});

/** Formats the size of a file: small ones in kilobytes, at least one. */
export const fileSize = (bytes: number) =>
  bytes < 1e6 ? kilobytes.format(Math.max(1, bytes / 1e3)) : megabyte(bytes);

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns the largest unit that fits, and its number. */
function largestUnit(milliseconds: number): [unit: (typeof units)[number][0], number: number] {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? units[3];
  return [unit, Math.floor(seconds / size)];
}

/** Formats a duration in the largest unit that fits. @param milliseconds - negative values count as 0 */
export function duration(milliseconds: number): string {
  const [unit, number] = largestUnit(milliseconds);
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(number);
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const relativeDaysMax = 7;
const utcDays = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const utcMonths = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Formats a day of the service. @param value - YYYY-MM-DD */
export const day = (value: string) => utcDays.format(new Date(value));
/** Formats a month of the service. @param value - YYYY-MM */
export const month = (value: string) => utcMonths.format(new Date(value));

/** Formats a time as seen from now: “3 hours ago”; beyond a week, the date. @param instant - ISO 8601 */
export function relativeTime(instant: string, now: number): string {
  const distance = Date.parse(instant) - now;
  const [unit, number] = largestUnit(Math.abs(distance));
  if (unit === 'day' && number > relativeDaysMax) return dates.format(new Date(instant));
  if (unit === 'second') return distance > 30_000 ? 'in a moment' : 'just now';
  return relative.format(distance < 0 ? -number : number, unit);
}

const weekdays = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' });

/** Formats a day near now, with its day of the week. */
export const weekday = (instant: Date) => weekdays.format(instant);

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
