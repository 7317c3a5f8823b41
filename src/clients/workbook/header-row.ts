import { findHeaderRecord } from '../../feed-format/detect/detect-table';
import { meaningOf } from '../../feed-format/detect/header-meaning';
import type { HeaderField } from '../../feed-format/detect/header-claims';
import { productColumns } from '../../feed-format/columns';
import { comparable } from '../../feed-format/text';
import type { MergedArea } from './sheet-rows';

/** A column of the header row. */
export interface HeaderCell {
  /** Position in the sheet, from 0. */
  column: number;
  header: string;
  /** What the header means; undefined for unknown words. */
  field: HeaderField | undefined;
  /** How sure its meaning is, from 0 to 1. */
  strength: number;
}

/** Finds the row with the most names of columns. @param rows - the first rows with their texts, not empty */
export function proposeHeaderRow(rows: readonly { number: number; cells: readonly string[] }[]): number {
  const found = findHeaderRecord(rows.map(({ cells }) => ({ fields: cells })));
  return rows[found?.at ?? 0]!.number;
}

/** Tells whether a header consists of a row and the next one: cells are merged down, others across several columns. */
export function isUpperHeader(row: number, merged: readonly MergedArea[]): boolean {
  return merged.some((area) => isDown(area, row)) && merged.some((area) => isAcross(area, row));
}

const isDown = ({ firstRow, lastRow }: MergedArea, row: number) => firstRow === row && lastRow === row + 1;
const isAcross = ({ firstRow, lastRow, firstColumn, lastColumn }: MergedArea, row: number) =>
  firstRow === row && lastRow === row && lastColumn > firstColumn;

/** Puts the names of merged cells before the names below them: `Price` above `EUR` is `Price EUR`. */
export function joinHeaders(
  upper: { number: number; cells: readonly string[] },
  lower: readonly string[],
  merged: readonly MergedArea[],
): string[] {
  const joined = [...lower];
  if (!isUpperHeader(upper.number, merged)) return joined;
  for (const area of merged.filter((each) => isAcross(each, upper.number)))
    for (let column = area.firstColumn; column <= area.lastColumn && column < lower.length; column++)
      if (lower[column] !== '')
        joined[column] = `${upper.cells[area.firstColumn] ?? ''} ${lower[column]}`.trim();
  return joined;
}

/** Tells what the headers of a sheet mean. */
export function readHeaders(texts: readonly string[]): HeaderCell[] {
  return texts.map((header, column) => ({ column, header, ...meaningIn(header) }));
}

function meaningIn(header: string): Pick<HeaderCell, 'field' | 'strength'> {
  const name = comparable(header);
  const own = productColumns.find((column) => column === name);
  if (own) return { field: own, strength: 1 };
  const { field, strength = 0, kind } = meaningOf(header) ?? {};
  // What a shop pays is no price of a feed.
  return kind === 'purchase' ? { field: 'other', strength } : { field, strength };
}
