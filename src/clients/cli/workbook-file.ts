import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isWorkbookName } from '../workbook/file-kind';
import type { SheetOptions, SheetOverview } from '../workbook/sheet-table';
import { WorkbookFault } from '../workbook/workbook-fault';
import { WorkbookReader } from '../workbook/workbook-reader';
import { UsageFailure } from './failures';
import { cannotRead, memoryFile, openInputFile, type FeedFile } from './feed-file';
import { countText, printable } from './printable';
import type { LocalSession } from './session';
import { writeNew } from './write-new';

/** Options of commands that read feed files, for workbooks. */
export interface WorkbookOptions {
  sheet?: string;
  headerRow?: number;
  /** False with `--no-hidden`. */
  hidden?: boolean;
  /** False with `--no-currency-column`. */
  currencyColumn?: boolean;
  /** Path of a new file. */
  saveCsv?: string;
}

/** Opens a feed file as `openInputFile`; of a workbook (.xlsx), the CSV file that a sheet becomes. @throws Failure */
export async function openUploadedFile(
  session: LocalSession,
  path: string,
  options: WorkbookOptions,
): Promise<FeedFile> {
  if (isWorkbookName(path)) return openWorkbook(session, path, options);
  const { sheet, headerRow, hidden = true, currencyColumn = true, saveCsv } = options;
  if (sheet !== undefined || headerRow !== undefined || !hidden || !currencyColumn || saveCsv !== undefined)
    throw new UsageFailure(
      'The options --sheet, --header-row, --no-hidden, --no-currency-column and --save-csv are for workbooks (.xlsx).',
    );
  return openInputFile(path);
}

async function openWorkbook(
  session: LocalSession,
  path: string,
  options: WorkbookOptions,
): Promise<FeedFile> {
  const { view, signal } = session;
  const name = basename(path);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
  const { startWorkbookThread } = await import('./workbook-thread.js');
  const reader = new WorkbookReader(startWorkbookThread(), {
    signal,
    onProgress: ({ done, total }) =>
      view.show({ name: 'reading', bytes: { done, total }, detail: printable(name) }),
  });
  try {
    const sheets = await reader.open(name, bytes);
    const csv = await readSheet(session, reader, sheetOptions(sheets, options));
    const file = memoryFile(
      csv.fileName,
      Buffer.from(csv.bytes.buffer, csv.bytes.byteOffset, csv.bytes.length),
    );
    if (options.saveCsv !== undefined) await writeNew(options.saveCsv, file.read()!);
    return file;
  } catch (error) {
    throw error instanceof WorkbookFault
      ? new UsageFailure(`${printable(name)}: ${printable(error.message)}`)
      : error;
  } finally {
    reader.close();
    view.clear();
  }
}

/** Reads a sheet, and notes what a person should know of it. */
async function readSheet({ view }: LocalSession, reader: WorkbookReader, options: SheetOptions) {
  const { headerRow, rowCount, notes } = await reader.sheet(options);
  const csv = await reader.csv(options);
  const rows = rowsText(rowCount);
  for (const note of [`Sheet ${options.sheet}, header row ${headerRow}: ${rows}.`, ...notes])
    view.note(printable(note));
  return csv;
}

const rowsText = (count: number) => `${countText(count)} ${count === 1 ? 'row' : 'rows'}`;

/** @throws UsageFailure if several sheets have rows, and none is named */
function sheetOptions(sheets: readonly SheetOverview[], options: WorkbookOptions): SheetOptions {
  const filled = sheets.filter(({ isHidden, rowCount }) => !isHidden && rowCount > 0);
  const name = options.sheet ?? (filled.length === 1 ? filled[0]!.name : undefined);
  if (name === undefined) {
    const lines = sheets.map(
      (sheet) => `  ${sheet.name} (${rowsText(sheet.rowCount)}${sheet.isHidden ? ', hidden' : ''})`,
    );
    throw new UsageFailure(
      `Name one of the sheets with --sheet NAME:\n${lines.map((line) => printable(line)).join('\n')}`,
    );
  }
  const { headerRow, hidden: withHidden, currencyColumn: withCurrency } = options;
  return { sheet: name, headerRow, withHidden, withCurrency };
}
