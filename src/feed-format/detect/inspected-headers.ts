import { productColumns, type ProductColumn } from '../columns';
import type { Delimiter } from '../delimiter';
import type { guessHeaderNames } from '../read/header-names';
import type { FormatDetection } from './detect-format';
import { suggestColumn } from './header-suggestion';

/** A header row of commas alone would make a response of 17 MB. */
export const inspectHeadersMax = 1_000;

export interface InspectedHeader {
  columnNumber: number;
  header: string;
  column: ProductColumn | null;
  /** Confidence in `column`, 0 to 1; 0 without a column. */
  confidence: number;
  /** Why the column was detected; null if nothing was. */
  reason: string | null;
  suggestion: ProductColumn | null;
}

/**
 * Describes headers. A missing column is suggested once: of two columns with one name, an upload refuses the second.
 * @param columnAt - returns the column of the header at a position
 */
export function describeHeaders(
  names: readonly string[],
  columnAt: (position: number) => ProductColumn | undefined,
  missing: readonly ProductColumn[],
): InspectedHeader[] {
  const left = new Set(missing);
  return names.slice(0, inspectHeadersMax).map((header, position) => {
    const column = columnAt(position) ?? null;
    const suggestion = column ? null : suggestColumn(header, [...left]);
    if (suggestion) left.delete(suggestion);
    return {
      columnNumber: position + 1,
      header,
      column,
      confidence: column ? 1 : 0,
      reason: null,
      suggestion,
    };
  });
}

/** Describes the headers of a file that an upload without a format refuses, by its suggested format. */
export function describeDetected(
  detection: FormatDetection | undefined,
  guess: ReturnType<typeof guessHeaderNames>,
): { delimiter: Delimiter | null; headers: InspectedHeader[] } {
  const detected = detection?.headers ?? [];
  const names = detected.length > 0 ? detected.map(({ header }) => header) : (guess?.names ?? []);
  const own = names.map((name) => productColumns.find((column) => column === name.toLowerCase()));
  const missing = productColumns.filter((column) => !own.includes(column));
  const described = describeHeaders(names, (position) => own[position], missing);
  if (detected.length === 0) return { delimiter: guess?.delimiter ?? null, headers: described };
  return {
    delimiter: detection!.delimiter.value ?? guess?.delimiter ?? null,
    headers: described.map((each, position) => {
      const { column, confidence, reason } = detected[position]!;
      const isElsewhere =
        column !== each.suggestion && detected.some((other) => other.column === each.suggestion);
      return { ...each, column, confidence, reason, suggestion: isElsewhere ? null : each.suggestion };
    }),
  };
}
