import { codes } from 'currency-codes';

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
