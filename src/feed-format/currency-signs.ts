import { currencyBySign, isActiveCurrency } from './currency';
import { trimText } from './text';

const dollars =
  'USD AUD BBD BMD BND BSD BZD CAD FJD GYD HKD JMD KYD LRD NAD NZD SBD SGD SRD TTD TWD XCD' +
  ' ARS CLP COP CUP CVE DOP MXN NIO TOP UYU WST MOP BRL';

/** Currencies that a sign in a price can stand for, by the sign in lower case without a final point. */
const currenciesBySign: Readonly<Record<string, string>> = {
  $: dollars,
  us$: 'USD',
  a$: 'AUD',
  au$: 'AUD',
  c$: 'CAD NIO',
  ca$: 'CAD',
  hk$: 'HKD',
  mx$: 'MXN',
  nt$: 'TWD',
  nz$: 'NZD',
  s$: 'SGD',
  '£': 'GBP EGP FKP GIP LBP SDG SHP SSP SYP',
  '¥': 'JPY CNY',
  '￥': 'JPY CNY',
  円: 'JPY',
  元: 'CNY TWD HKD',
  원: 'KRW',
  '₽': 'RUB',
  руб: 'RUB BYN',
  р: 'RUB BYN',
  грн: 'UAH',
  '₸': 'KZT',
  тг: 'KZT',
  '₦': 'NGN',
  '₱': 'PHP',
  '₾': 'GEL',
  '₼': 'AZN',
  kr: 'SEK NOK DKK ISK',
  lei: 'RON MDL',
  leu: 'RON MDL',
  fr: 'CHF CHE CHW BIF CDF DJF GNF KMF RWF XAF XOF XPF',
  sfr: 'CHF CHE CHW',
  rp: 'IDR',
  rm: 'MYR',
  rs: 'INR LKR MUR NPR PKR SCR',
  fcfa: 'XAF XOF',
  cfa: 'XAF XOF',
  dh: 'AED MAD',
  tl: 'TRY',
  din: 'RSD',
  дин: 'RSD',
  บาท: 'THB',
  đ: 'VND',
  ...Object.fromEntries(Object.entries(currencyBySign).map(([sign, code]) => [sign.toLowerCase(), code])),
};

const candidatesBySign = new Map(
  Object.entries(currenciesBySign).map(([sign, codes]) => [sign, new Set(codes.split(' '))]),
);

/** All signs, for tests. */
export const knownSigns: ReadonlyMap<string, ReadonlySet<string>> = candidatesBySign;

/** Signs that name one currency each, as `currency_from_sign` says. */
const namedBySign = new Map(Object.entries(currencyBySign).map(([sign, code]) => [sign.toLowerCase(), code]));

/** Currency beside an amount: a code, a sign, or both. */
export interface PriceUnit {
  /** Its code, in upper case. */
  currency?: string;
  /** In lower case, without a final point. */
  sign?: string;
}

/** Tells whether a sign can stand for a currency. */
export const canStandFor = (sign: string, currency: string): boolean =>
  candidatesBySign.get(sign)!.has(currency);

/** Returns the currency of a sign that names exactly one. */
export const currencyOfSign = (sign: string): string | undefined => namedBySign.get(sign);

/** Parses the text before or after an amount; undefined for any other text than a currency. */
export function parseUnit(text: string): PriceUnit | undefined {
  const unit = trimText(text);
  if (unit === '') return {};
  const sign = signOf(unit);
  if (sign !== undefined) return { sign };
  const currency = codeOf(unit);
  if (currency !== undefined) return { currency };
  return (
    both(unit.slice(0, 3), unit.slice(3), /^\p{L}/u.test(unit.slice(3))) ??
    both(unit.slice(-3), unit.slice(0, -3), /\p{L}$/u.test(unit.slice(0, -3)))
  );
}

/** @param touches - whether letters of the two follow each other: `krSEK` is one word */
function both(codeText: string, signText: string, touches: boolean): PriceUnit | undefined {
  const currency = codeOf(codeText);
  const sign = signOf(trimText(signText));
  return touches || currency === undefined || sign === undefined ? undefined : { currency, sign };
}

function codeOf(text: string): string | undefined {
  const code = text.toUpperCase();
  return /^[A-Za-z]{3}$/.test(text) && isActiveCurrency(code) ? code : undefined;
}

function signOf(text: string): string | undefined {
  const sign = text.toLowerCase().replace(/(?<=\p{L})\.$/u, '');
  return candidatesBySign.has(sign) ? sign : undefined;
}
