import {
  availabilitySpellings,
  columnFormat,
  feedColumns,
  type CleaningRule,
  type ProductColumn,
} from './columns';
import { trimText } from './text';

type Cleaner = (text: string) => string | null;

/** Cleaning rules for a trimmed, non-empty text; `plain_decimal` is applied when the price is validated. */
const cleaners: Record<
  Exclude<CleaningRule, 'trim' | 'empty_to_null' | 'plain_decimal'>,
  (text: string) => string
> = {
  // ASCII only: some other letters have ASCII upper cases, and would become valid codes.
  upper_case: (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  lower_case: (text) => text.toLowerCase(),
  separators_to_underscores: (text) => text.replace(/[\s-]/g, '_'),
  known_spellings: (text) =>
    Object.hasOwn(availabilitySpellings, text) ? availabilitySpellings[text]! : text,
};

/** Combines the rules of a column; most columns have only the two common ones. */
function cleanerOf(column: ProductColumn): Cleaner {
  const rules = columnFormat(column).cleaning.flatMap((rule) =>
    rule in cleaners ? [cleaners[rule as keyof typeof cleaners]] : [],
  );
  if (rules.length === 0) return trimToNull;
  return (text) => {
    const trimmed = trimToNull(text);
    return trimmed === null ? null : rules.reduce((value, rule) => rule(value), trimmed);
  };
}

function trimToNull(text: string): string | null {
  return trimText(text) || null;
}

/** Cleans a cell by the rules of its column; null: it is empty. A price is only trimmed. */
export const clean = Object.fromEntries(feedColumns.map(({ name }) => [name, cleanerOf(name)])) as Record<
  ProductColumn,
  Cleaner
>;
