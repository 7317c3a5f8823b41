import { code as entryOf, codes } from 'currency-codes';

/** Codes withdrawn from ISO 4217, but still in the library's list (2024-06-25). */
const withdrawn = [
  'ANG', // Netherlands Antillean guilder, XCG since 2025-03-31
  'BGN', // Bulgarian lev, EUR since 2026-01-01
  'CUC', // Cuban convertible peso, withdrawn in 2021
];

/** Codes added to ISO 4217 since. */
const added = [
  'XAD', // Arab accounting dinar, 2025-05-12
  'XCG', // Caribbean guilder, 2025-03-31
];

/** Codes that are not money: ISO 4217 defines no minor unit for them ("N.A."). */
const notMoney = [
  ...['XAG', 'XAU', 'XPD', 'XPT'], // Metals
  ...['XBA', 'XBB', 'XBC', 'XBD'], // Units of the European bond market
  ...['XDR', 'XSU', 'XUA'], // Units of account
  'XTS', // For testing
  'XXX', // No currency
];

/** Active ISO 4217 codes of money, funds included. */
export const activeCurrencies: ReadonlySet<string> = new Set(
  [...codes(), ...added].filter((code) => !withdrawn.includes(code) && !notMoney.includes(code)),
);

export function isActiveCurrency(code: string): boolean {
  return activeCurrencies.has(code);
}

/** Returns the number of decimals of an amount in a currency; undefined for an unknown code. */
export function minorDigitsOf(code: string): number | undefined {
  return isActiveCurrency(code) ? entryOf(code)?.digits : undefined;
}

/** Signs that name one currency each; `$`, `kr`, `¥`, `£` and others name several. */
export const currencyBySign: Readonly<Record<string, string>> = {
  '€': 'EUR',
  zł: 'PLN',
  Kč: 'CZK',
  Ft: 'HUF',
  '₹': 'INR',
  '₺': 'TRY',
  '₴': 'UAH',
  '₩': 'KRW',
  '₪': 'ILS',
  '฿': 'THB',
  '₫': 'VND',
  R$: 'BRL',
};

/** Codes that are also words: a header does not name them. */
const codesLikeWords = new Set(['ALL', 'BAM', 'BOB', 'COP', 'CUP', 'GEL', 'MAD', 'MOP', 'PEN', 'TOP']);

/** Finds the only currency that a header names by code or sign: `price_eur`, `Preis in €`. */
export function currencyInHeader(header: string): string | undefined {
  const words = (header.match(/\p{L}+/gu) ?? []).map((word) => word.toUpperCase());
  const named = new Set(words.filter((word) => isActiveCurrency(word) && !codesLikeWords.has(word)));
  // A foot, not a forint.
  const sign = signIn(header.replace(/\bFt\b/g, ''));
  if (sign !== undefined) named.add(sign);
  return named.size === 1 ? [...named][0] : undefined;
}

/** The currency in a price. */
interface NamedCurrency {
  code: string;
  /** A sign is dropped, and does not set the currency. */
  isSign: boolean;
}

/** Finds the currency that a price names by code or unambiguous sign. */
export function currencyInPrice(price: string): NamedCurrency | undefined {
  const code = /(?<![A-Za-z])[A-Za-z]{3}(?![A-Za-z])/.exec(price)?.[0].toUpperCase();
  if (code !== undefined && isActiveCurrency(code)) return { code, isSign: false };
  const sign = signIn(price);
  return sign === undefined ? undefined : { code: sign, isSign: true };
}

function signIn(text: string): string | undefined {
  const words = new Set(text.match(/R\$|\p{Sc}|\p{L}+/gu) ?? []);
  const found = Object.keys(currencyBySign).filter((sign) => words.has(sign));
  return found.length === 1 ? currencyBySign[found[0]!] : undefined;
}
