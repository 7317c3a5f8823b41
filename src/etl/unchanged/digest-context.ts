import { hash } from 'node:crypto';
import { activeCurrencies } from '../../feed-format/currency';
import type { FeedHeader } from '../../feed-format/header';

/** Length of a digest: among a billion records, the chance of a collision is 1 in 10^11. */
export const digestBytes = 12;

/**
 * Version of the rules by which a record is split, cleaned, validated and merged.
 *
 * Raise it when a record without issues gets other values, or an issue: stored digests then match no record, and the next
 * run of each partner compares all rows. test/unit/etl/rules-version.test.ts detects that.
 */
export const rulesVersion = 1;

/**
 * Digests everything besides the record that determines its product.
 *
 * That is the rules, the header without ignored columns, and two lists that change without the rules: active currencies,
 * and the Unicode version of Node.
 */
export function digestContext(
  { delimiter, positions, fieldCount }: FeedHeader,
  rules: number = rulesVersion,
): Buffer {
  const columns = Object.entries(positions).sort(([a], [b]) => (a < b ? -1 : 1));
  const lists = [...activeCurrencies, process.versions.unicode];
  const text = JSON.stringify([rules, lists, delimiter, columns, fieldCount]);
  return hash('sha256', text, 'buffer').subarray(0, digestBytes);
}
