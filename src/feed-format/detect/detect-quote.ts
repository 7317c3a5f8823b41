import type { RecordSyntax } from '../read/record-syntax';
import { withoutTextMarks } from '../text-marks';

type Rows = readonly (readonly string[])[];

/**
 * Reads the rows of a table, and finds whether its quotes are characters: some cells begin with a quote, none is quoted, and all rows
 * are as wide as the header without quoting.
 * @param read - reads all rows
 */
export function readRows(
  read: (syntax: RecordSyntax) => Rows,
  { isStandard, width, hasQuotes }: { isStandard: boolean; width: number; hasQuotes: boolean },
): { rows: Rows; quote: 'none' | undefined } {
  const rows = read(isStandard ? 'loose' : 'padded');
  if (!hasQuotes) return { rows, quote: undefined };
  const plain = read('unquoted');
  const isBegun = plain.some((cells) => cells.some((cell) => cell.trimStart().startsWith('"')));
  const isPlain = isBegun && !plain.some(hasQuotedCell) && plain.every((fields) => fields.length === width);
  return isPlain ? { rows: plain, quote: 'none' } : { rows, quote: undefined };
}

/** Tells whether a cell begins with a quote, and it or a later one ends with a quote: delimiters may be between them. */
function hasQuotedCell(cells: readonly string[]): boolean {
  const first = cells.findIndex((cell) => cell.trimStart().startsWith('"'));
  if (first === -1) return false;
  return cells.some(
    (cell, at) => at >= first && cell.trimEnd().endsWith('"') && (at > first || cell.trim().length > 1),
  );
}

/** Tells whether cells have the marks by which spreadsheets and shops keep texts: `="00123"`, `'-5`, and `'00123` as a sku. */
export function hasTextMarks(skus: Rows, all: Rows): boolean {
  const isMarked = (cells: readonly string[], isSku: boolean) =>
    cells.some((cell) => withoutTextMarks(cell, isSku) !== cell);
  return skus.some((cells) => isMarked(cells, true)) || all.some((cells) => isMarked(cells, false));
}
