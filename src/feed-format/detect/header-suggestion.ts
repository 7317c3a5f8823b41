import { distance } from 'fastest-levenshtein';
import { feedColumns, type ProductColumn } from '../columns';
import { isReportColumn } from '../report-columns';

/** Maximum distance of a similar name: two characters, and a third of the word. */
const distanceMax = 2;
const sharedPart = 3;

/**
 * Suggests a column for an unknown header, by alias or similar spelling.
 * @param missing - columns that the feed does not have; only these are suggested
 */
export function suggestColumn(header: string, missing: readonly ProductColumn[]): ProductColumn | null {
  const word = lettersAndDigits(header);
  if (word === '' || isReportColumn(header)) return null;
  const candidates = feedColumns
    .filter(({ name }) => missing.includes(name))
    .flatMap(({ name, aliases }) => [lettersAndDigits(name), ...aliases].map((known) => ({ name, known })))
    // Cheap lower bound: the distance is at least the difference in length.
    .filter(({ known }) => Math.abs(word.length - known.length) <= distanceMax)
    .map(({ name, known }) => ({ name, known, distance: distance(word, known) }))
    .filter((each) => each.distance <= Math.min(distanceMax, Math.floor(each.known.length / sharedPart)))
    .sort((a, b) => a.distance - b.distance);
  return candidates[0]?.name ?? null;
}

function lettersAndDigits(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
