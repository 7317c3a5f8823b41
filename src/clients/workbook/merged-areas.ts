import type { MergedArea, SheetCell, SheetRow } from './sheet-rows';

/**
 * Repeats the value of each merged area in the rows below its first one, in its first column.
 * Rows without a value of their own stay without.
 * @param headerRow - a merged header is not repeated below this row
 */
export function* fillMerged(
  rows: Iterable<SheetRow>,
  merged: readonly MergedArea[],
  headerRow?: number,
): Generator<SheetRow> {
  const byFirstRow = new Map<number, MergedArea[]>();
  for (const area of merged) {
    const { firstRow, lastRow } = area;
    if (firstRow === lastRow) continue;
    if (headerRow !== undefined && firstRow <= headerRow && lastRow > headerRow) continue;
    const others = byFirstRow.get(firstRow);
    if (others) others.push(area);
    else byFirstRow.set(firstRow, [area]);
  }
  /** By column: the cell to repeat, up to a row. */
  const repeated = new Map<number, { cell: SheetCell; lastRow: number }>();
  for (const row of rows) {
    const filled = withRepeated(row, repeated);
    for (const { firstColumn, lastRow } of byFirstRow.get(row.number) ?? []) {
      const cell = row.cells.find(({ column }) => column === firstColumn);
      if (cell) repeated.set(firstColumn, { cell, lastRow });
    }
    yield filled;
  }
}

function withRepeated(row: SheetRow, repeated: Map<number, { cell: SheetCell; lastRow: number }>): SheetRow {
  if (repeated.size === 0) return row;
  const own = new Set(row.cells.map(({ column }) => column));
  const added: SheetCell[] = [];
  for (const [column, { cell, lastRow }] of repeated) {
    if (row.number > lastRow) repeated.delete(column);
    else if (!own.has(column)) added.push(cell);
  }
  return added.length === 0 ? row : { ...row, cells: [...row.cells, ...added] };
}
