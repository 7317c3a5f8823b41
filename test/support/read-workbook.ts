import { parse } from 'csv-parse/sync';
import type { SheetOptions, SheetTable } from '../../src/clients/workbook/sheet-table';
import { Workbook } from '../../src/clients/workbook/workbook';
import { workbookFile, type TestCell, type TestWorkbook } from './workbooks';

export interface ReadSheet extends SheetTable {
  fileName: string;
  records: string[][];
}

/** Reads a sheet of a workbook as its CSV file; the first one unless the options name another. */
export function readSheet(file: Buffer | TestWorkbook, options: Partial<SheetOptions> = {}): ReadSheet {
  const bytes = Buffer.isBuffer(file) ? file : workbookFile(file);
  const workbook = new Workbook(bytes, 'feed.xlsx');
  const named = { sheet: workbook.overviews[0]!.name, ...options };
  const { bytes: csv, fileName } = workbook.csv(named);
  return { ...workbook.table(named), fileName, records: parse(Buffer.from(csv)) };
}

/** Reads cells under a column each, the first of them without a special meaning. */
export function readCells(
  cells: readonly TestCell[],
  workbook: Partial<TestWorkbook> = {},
  header = (column: number) => `note ${column}`,
): string[] {
  const rows = [cells.map((_, column) => header(column)), cells];
  return readSheet({ ...workbook, sheets: [{ rows }] }, { headerRow: 1 }).records[1] ?? [];
}
