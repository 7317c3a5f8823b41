import type { tokenize } from 'numfmt';
import { canStandFor, currencyOfSign, parseUnit } from '../../feed-format/currency-signs';

/** Tokens of a number format. */
export type FormatTokens = ReturnType<typeof tokenize>;

/** The currency that a number format names; only the sign if it names several. */
export interface FormatCurrency {
  code?: string;
  sign?: string;
}

/** Currencies by the locales of formats, as Windows and as BCP 47 number them. */
const localesByCurrency: Readonly<Record<string, string>> = {
  USD: '409 US',
  CAD: '1009 c0c CA',
  AUD: 'c09 AU',
  NZD: '1409 NZ',
  MXN: '80a MX',
  ARS: '2c0a AR',
  CLP: '340a CL',
  COP: '240a CO',
  UYU: '380a UY',
  HKD: 'c04 3c09 HK',
  TWD: '404 TW',
  SGD: '1004 4809 SG',
  SEK: '41d SE',
  NOK: '414 814 NO',
  DKK: '406 DK',
  ISK: '40f IS',
  GBP: '809 452 GB',
  EGP: 'c01 EG',
  JPY: '411 JP',
  CNY: '804 CN',
  CHF: '807 100c 810 CH LI',
  RUB: '419 RU',
  BYN: '423 BY',
  RON: '418 RO',
  MDL: '818 MD',
  INR: '439 4009 IN',
  IDR: '421 ID',
  MYR: '43e MY',
};

const currencyByLocale = new Map(
  Object.entries(localesByCurrency).flatMap(([currency, locales]) =>
    locales.split(' ').map((locale) => [locale, currency] as const),
  ),
);

const literals: ReadonlySet<string> = new Set(['string', 'escaped', 'char', 'space']);

/** Finds the currency in the tokens of a section of a format. */
export function currencyOfTokens(tokens: FormatTokens): FormatCurrency | undefined {
  let text = '';
  let locale = '';
  for (const { type, value } of tokens) {
    if (literals.has(type)) text += String(value);
    if (type !== 'locale') continue;
    const [sign, ...rest] = String(value).split('-');
    text += sign!;
    locale = rest.join('-');
  }
  const { currency, sign } = parseUnit(text) ?? {};
  if (currency !== undefined) return { code: currency };
  if (sign === undefined) return undefined;
  const ofLocale = currencyOfLocale(locale);
  const isLocal = ofLocale !== undefined && canStandFor(sign, ofLocale);
  const code = currencyOfSign(sign) ?? (isLocal ? ofLocale : undefined);
  return code === undefined ? { sign } : { code };
}

/** @param locale - `407`, or `de-DE`; calendar and digits may precede the number: `1010409` */
function currencyOfLocale(locale: string): string | undefined {
  if (/^[0-9A-Fa-f]+$/.test(locale))
    return currencyByLocale.get((parseInt(locale, 16) % 0x10000).toString(16));
  return currencyByLocale.get(locale.split('-').at(-1)!.toUpperCase());
}
