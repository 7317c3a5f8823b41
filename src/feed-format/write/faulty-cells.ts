import { clean } from '../clean-cell';
import { columnFormat, productColumns, requiredIn, type ProductColumn } from '../columns';
import type { ReadDefinition } from '../format-definition';
import { cellTextOf } from '../read/cell-text';
import { needsFirst, resolveFormat } from '../read/resolve-format';
import { comparable, isLongerThan, trimText } from '../text';
import type { RowIssueCode } from '../issue-codes';
import type { LoadMode } from '../load-options';

/** Positions of the cells of each product column that a file has. */
export type CellsOfColumns = Partial<Record<ProductColumn, readonly number[]>>;

/** Finds the cells of the product columns by the header row. */
export function cellsOfColumns(header: readonly string[], definition: ReadDefinition): CellsOfColumns {
  const names = header.map(comparable);
  const place = { delimiter: ',', preamble: { lines: 0, bytes: 0 }, hasHeaderRow: true } as const;
  const { sources } = resolveFormat(definition, place, (name) => {
    const position = names.indexOf(comparable(name));
    return position === -1 ? undefined : position;
  });
  const found: CellsOfColumns = {};
  for (const column of productColumns) {
    const source = sources[column];
    if (source && 'positions' in source)
      found[column] = needsFirst(column, definition) ? source.positions.slice(0, 1) : source.positions;
  }
  return found;
}

/** How the rows of a file of rejects were read. */
interface Reading {
  /** Number of columns of the header. */
  width: number;
  columns: CellsOfColumns;
  mode: LoadMode;
  definition: ReadDefinition;
}

/**
 * Finds the cells that caused a row to be skipped. Issues name them too, but only the first issues of a run are kept.
 * @param codes - of the row, in a file of rejects
 * @returns positions, ascending; none if the row could not be split
 */
export function faultyCells(codes: readonly string[], row: readonly string[], reading: Reading): number[] {
  const { columns, mode, definition, width } = reading;
  const cellText = cellTextOf(definition) ?? ((text: string) => text);
  const skuPositions = columns.sku ?? [];
  const textOf = (position: number) =>
    trimText(cellText(row[position] ?? '', skuPositions.includes(position)));
  const faulty = new Set<number>();
  const mark = (column: ProductColumn) => {
    const [first] = columns[column] ?? [];
    if (first !== undefined) faulty.add(first);
  };
  const markWhere = (isFaulty: (texts: string[], column: ProductColumn) => boolean) => {
    for (const column of productColumns) {
      const texts = columns[column]?.map(textOf);
      if (texts && isFaulty(texts, column)) mark(column);
    }
  };
  const isEmpty = (texts: string[]) => texts.every((text) => text === '');
  const markMissing = () => markWhere((texts, column) => requiredIn(mode).includes(column) && isEmpty(texts));
  const rules: Partial<Record<RowIssueCode, () => void>> = {
    missing_required: markMissing,
    incomplete_group: markMissing,
    invalid_price: () => mark('price'),
    currency_conflict: () => mark('price'),
    invalid_currency: () => mark('currency'),
    value_too_long: () =>
      markWhere((texts, column) => {
        const { maxLength = Infinity } = columnFormat(column);
        return isLongerThan(clean[column](texts.join('')) ?? '', maxLength);
      }),
    invalid_character: () => markWhere((texts) => texts.some((text) => text.includes('\0'))),
    duplicate_sku: () => mark('sku'),
    superseded_row: () => mark('sku'),
    unknown_sku: () => mark('sku'),
    too_many_fields: () => void faulty.add(width),
  };
  for (const code of codes) rules[code as RowIssueCode]?.();
  return [...faulty].sort((a, b) => a - b);
}
