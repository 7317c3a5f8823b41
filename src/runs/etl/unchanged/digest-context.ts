import { hash } from 'node:crypto';
import { activeCurrencies } from '../../../feed-format/currency';
import type { FeedHeader } from '../../../feed-format/read/header-columns';
import { defaultLoadOptions, type LoadOptions } from '../../../feed-format/load-options';

/** Length of a digest: among a billion records, the chance of a collision is 1 in 10^11. */
export const digestBytes = 12;

/**
 * Version of the rules by which a record is split, cleaned, validated and merged.
 *
 * Raise it when a record without issues gets other values, or an issue: stored digests then match no record, and the next
 * run of each partner compares all rows. test/unit/runs/etl/rules-version.test.ts detects that.
 */
export const rulesVersion = 2;

/** Options that the digests of a feed's records depend on, besides its header. */
export type DigestOptions = Pick<LoadOptions, 'mode' | 'collection' | 'isCollectionNamed'>;

/**
 * Digests everything besides the record that determines its product.
 * That is the rules, the header without ignored columns, the format, the collection, whether a name is required, and two lists that
 * change without the rules: active currencies, and the Unicode version of Node.
 */
export function digestContext(
  { delimiter, positions, fieldCount, endsWithDelimiter, reading }: FeedHeader,
  rules: number = rulesVersion,
  { mode, collection, isCollectionNamed }: DigestOptions = defaultLoadOptions,
): Buffer {
  const columns = Object.entries(positions).sort(([a], [b]) => (a < b ? -1 : 1));
  const lists = [...activeCurrencies, process.versions.unicode];
  const isUpdate = mode === 'update';
  // Digests of releases without formats and modes stay valid.
  const format = reading.isStrict ? [] : [reading.rules, endsWithDelimiter];
  const target = isUpdate || isCollectionNamed ? [isUpdate, isCollectionNamed ? collection : null] : [];
  const text = JSON.stringify([rules, lists, delimiter, columns, fieldCount, ...target, ...format]);
  return hash('sha256', text, 'buffer').subarray(0, digestBytes);
}
