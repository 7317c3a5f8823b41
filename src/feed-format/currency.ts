import { codes } from 'currency-codes';

/** What ISO 4217 has withdrawn, and the library's list (2024-06-25) still has. */
const withdrawn = [
  'ANG', // Netherlands Antillean guilder, XCG since 2025-03-31
  'BGN', // Bulgarian lev, EUR since 2026-01-01
  'CUC', // Cuban convertible peso, gone since 2021
];

/** What ISO 4217 has added since. */
const added = [
  'XAD', // Arab accounting dinar, 2025-05-12
  'XCG', // Caribbean guilder, 2025-03-31
];

/** Codes that are no money: ISO 4217 gives them no minor unit ("N.A."). */
const notMoney = [
  ...['XAG', 'XAU', 'XPD', 'XPT'], // Metals
  ...['XBA', 'XBB', 'XBC', 'XBD'], // Units of the European bond market
  ...['XDR', 'XSU', 'XUA'], // Units of account
  'XTS', // For testing
  'XXX', // No currency
];

/** The active codes of ISO 4217 that are money, funds included, in capital letters. */
export const activeCurrencies: ReadonlySet<string> = new Set(
  [...codes(), ...added].filter((code) => !withdrawn.includes(code) && !notMoney.includes(code)),
);

/** Whether `code` is one of them. */
export function isActiveCurrency(code: string): boolean {
  return activeCurrencies.has(code);
}
