import { codes } from 'currency-codes';

/**
 * Codes that ISO 4217 withdrew after the library's list (2024-06-25) was published: the Netherlands Antillean guilder
 * gave way to XCG on 2025-03-31, the Bulgarian lev to EUR on 2026-01-01.
 */
const withdrawnSince = new Set(['ANG', 'BGN']);

const active = new Set(codes().filter((code) => !withdrawnSince.has(code)));

/** Whether `code` is an active ISO 4217 code, in capital letters. */
export function isActiveCurrency(code: string): boolean {
  return active.has(code);
}
