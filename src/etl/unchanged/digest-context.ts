import { hash } from 'node:crypto';
import { activeCurrencies } from '../../feed-format/currency';
import type { FeedHeader } from '../../feed-format/header';

/** How long every digest is, in bytes: of a billion records, the chance that any two have the same is 1 in 10^11. */
export const digestBytes = 12;

/**
 * Version of the rules that make a product of a record: how it is split, cleaned, validated and merged.
 *
 * Raise it with every change by which a record that had no issues gets other values, or an issue: digests of earlier runs
 * then match no record, and the next run of each partner reads everything. test/unit/etl/rules-version.test.ts tells when.
 */
export const rulesVersion = 1;

/**
 * Digests all that decides, besides the record, which product a record describes: the rules, the header as far as it
 * matters, and the two lists that change without a change of the rules (active currencies, Node's letters and spaces).
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
