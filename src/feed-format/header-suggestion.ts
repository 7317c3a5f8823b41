import { distance } from 'fastest-levenshtein';
import { feedColumns, isReportColumn, type ProductColumn } from './columns';

/** Two slips of the finger, and no more than a third of the word, are a near miss. */
const distanceMax = 2;
const sharedPart = 3;

/**
 * The column that a header which is none of ours may have been meant for: one of its other names, or one spelled nearly
 * alike.
 * @param missing - the columns that the feed does not have; only these are suggested
 */
export function suggestColumn(header: string, missing: readonly ProductColumn[]): ProductColumn | null {
  const word = lettersAndDigits(header);
  if (word === '' || isReportColumn(header)) return null;
  const candidates = feedColumns
    .filter(({ name }) => missing.includes(name))
    .flatMap(({ name, aliases }) => [lettersAndDigits(name), ...aliases].map((known) => ({ name, known })))
    // The distance is at least the difference in length, and takes time in proportion to both.
    .filter(({ known }) => Math.abs(word.length - known.length) <= distanceMax)
    .map(({ name, known }) => ({ name, known, distance: distance(word, known) }))
    .filter((each) => each.distance <= Math.min(distanceMax, Math.floor(each.known.length / sharedPart)))
    .sort((a, b) => a.distance - b.distance);
  return candidates[0]?.name ?? null;
}

function lettersAndDigits(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
