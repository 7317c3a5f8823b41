import { standardAvailability } from '../availability';
import { clean } from '../clean-cell';
import type { FormatDefinition } from '../format-definition';
import { availabilityOfQuantity } from '../quantity';
import { comparable, trimText } from '../text';

/** Creates the conversion of availabilities by a format: its own words, then quantities, then known variants. */
export function availabilityConverter({
  availability = {},
  columns,
}: FormatDefinition): (text: string) => string {
  const words = new Map<string, string>(
    Object.entries(availability).map(([partnerWord, standard]) => [comparable(partnerWord), standard]),
  );
  const isQuantity = columns.availability?.quantity !== undefined;
  const wordOf = (text: string): string => {
    const own = words.get(comparable(text));
    if (own !== undefined) return own;
    const cleaned = clean.availability(text);
    const standard = cleaned === null ? '' : standardAvailability(cleaned);
    // The text stays as it is: its length is checked before it is cleaned.
    return standard === cleaned ? text : standard;
  };
  return (text) => {
    if (!isQuantity || words.has(comparable(text))) return wordOf(text);
    const standardOf = (word: string) => clean.availability(wordOf(word));
    return availabilityOfQuantity(trimText(text), standardOf) ?? wordOf(text);
  };
}
