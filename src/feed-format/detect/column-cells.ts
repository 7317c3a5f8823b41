import type { Table } from './detect-table';
import { comparable } from '../read/format-reading';
import { trimText } from '../text';

/** A header with its cells, one for each row, trimmed. */
export interface Column {
  position: number;
  header: string;
  cells: readonly string[];
}

/** A price, perhaps with a sign or code of its currency. */
export const numberText =
  /^(?:[$€£¥]|[A-Za-z]{3})?[ \u00a0\u202f]?-?\d[\d.,'’ \u00a0\u202f]*[ \u00a0\u202f]?(?:[$€£¥฿]|[A-Za-zł]{2,3}|руб\.?|บาท|円|元|원)?$/u;

/** Lists the columns of a table whose header is unique and short enough for a format. */
export function columnsOfTable({ names, rows }: Pick<Table, 'names' | 'rows'>): Column[] {
  const counts = new Map<string, number>();
  for (const name of names.map(comparable)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.slice(0, columnsMax).flatMap((header, position) => {
    const isUsable =
      header !== '' && header.length <= headerCharactersMax && counts.get(comparable(header)) === 1;
    if (!isUsable) return [];
    return [{ position, header, cells: rows.map((row) => trimText(row[position] ?? '')) }];
  });
}

const columnsMax = 1_000;

/** Longer names are refused in a format. */
const headerCharactersMax = 255;

/** Returns the share of the non-empty cells that pass a test; 0 if all are empty. */
export function shareOf(cells: readonly string[], test: (cell: string) => boolean): number {
  const filled = cells.filter((cell) => cell !== '');
  return filled.length === 0 ? 0 : filled.filter(test).length / filled.length;
}

/** Tells whether any row has different texts in the two columns. */
export const differ = (one: Column, other: Column) => one.cells.some((cell, at) => cell !== other.cells[at]);

export const isEmptyColumn = ({ cells }: Column) => cells.every((cell) => cell === '');
