import type { RecordSyntax } from '../read/record-syntax';
import { withoutTextMarks } from '../text-marks';

type Rows = readonly (readonly string[])[];

/** Minimum share of rows with as many fields as the header. */
const evenMin = 0.98;

/**
 * Reads the rows of a table, and finds whether its quotes are characters: some cells begin with a quote, none is quoted, and all rows
 * are as wide as the header without quoting.
 * @param read - reads all rows
 */
export function readRows(
  read: (syntax: RecordSyntax) => Rows,
  { isStandard, width }: { isStandard: boolean; width: number },
): { rows: Rows; quote: 'none' | undefined } {
  const rows = read(isStandard ? 'loose' : 'padded');
  const plain = read('unquoted');
  const cells = plain.flat();
  const hasQuotes = cells.some((cell) => cell.trimStart().startsWith('"'));
  const isQuoted = cells.some((cell) => /^\s*"(?:[^"]|"")*"\s*$/.test(cell));
  const even = plain.filter(
    (fields) => fields.length === width || (fields.length === width + 1 && fields.at(-1) === ''),
  );
  const isPlain = hasQuotes && !isQuoted && even.length >= evenMin * plain.length;
  return isPlain ? { rows: plain, quote: 'none' } : { rows, quote: undefined };
}

/** Tells whether cells have the marks by which spreadsheets and shops keep texts: `="00123"`, `'-5`, and `'00123` as a sku. */
export function hasTextMarks(skus: Rows, all: Rows): boolean {
  const isMarked = (cells: readonly string[], isSku: boolean) =>
    cells.some((cell) => withoutTextMarks(cell, isSku) !== cell);
  return skus.some((cells) => isMarked(cells, true)) || all.some((cells) => isMarked(cells, false));
}
