import type { CellFormat } from './cell-format';
import { SheetAnalysis } from './sheet-analysis';
import { SheetCsv } from './sheet-csv';
import { fillMerged } from './merged-areas';
import { readCellFormats, readSharedStrings } from './shared-parts';
import { sheetRows, type SheetFrame, type SheetRow } from './sheet-rows';
import type { SheetOptions, SheetOverview, SheetTable } from './sheet-table';
import { WorkbookFault } from './workbook-fault';
import { openPackage, type SheetPart, type WorkbookPackage } from './workbook-package';

/** Called with the bytes of the workbook that are read, of those that will be. */
export type OnProgress = (done: number, total: number) => void;

/** Rows of at most this many cells are kept in memory, so that another header row is shown at once. */
const keptCellsMax = 2_000_000;

interface ScannedSheet extends SheetPart {
  frame: SheetFrame;
  overview: SheetOverview;
}

/** A workbook (.xlsx) in memory. It blocks while it reads: use it in a worker. */
export class Workbook {
  private readonly content: WorkbookPackage;
  private readonly strings: string[];
  private readonly formats: CellFormat[];
  private readonly scanned: ScannedSheet[];
  private kept: { part: string; rows: SheetRow[] } | undefined;
  private analyzed: { key: string; analysis: SheetAnalysis } | undefined;

  /** Reads all sheets once. @throws WorkbookFault */
  constructor(
    bytes: Uint8Array,
    private readonly fileName: string,
    private readonly onProgress: OnProgress = () => undefined,
  ) {
    this.content = openPackage(bytes);
    const { archive, sheets, sharedStringsPart } = this.content;
    const parts = [...sheets.map(({ part }) => part), ...(sharedStringsPart ? [sharedStringsPart] : [])];
    const onRead = this.progressOf(parts);
    archive.beginRequest();
    this.formats = readCellFormats(this.content);
    this.strings = readSharedStrings(this.content, onRead);
    this.scanned = sheets.map((sheet) => this.scan(sheet, onRead));
    if (this.scanned.every(({ overview }) => overview.rowCount === 0))
      throw new WorkbookFault('No sheet of the workbook has a cell with a value. Use another one.');
  }

  get overviews(): SheetOverview[] {
    return this.scanned.map(({ overview }) => overview);
  }

  /** Shows the CSV file that a sheet would become. @throws WorkbookFault */
  table(options: SheetOptions): SheetTable {
    return this.analyze(options).table;
  }

  /** Writes a sheet as a CSV file in UTF-8. @throws WorkbookFault */
  csv(options: SheetOptions): { bytes: Uint8Array; fileName: string } {
    const sheet = this.sheetOf(options);
    const { layout, table } = this.analyze(options);
    if (table.rowCount === 0)
      throw new WorkbookFault(
        `The sheet ${sheet.name} has no rows below row ${table.headerRow}. Choose another header row or sheet.`,
      );
    const csv = new SheetCsv(layout);
    for (const row of this.rowsOf(sheet, table.headerRow)) csv.add(row);
    return { bytes: csv.end(), fileName: csvName(this.fileName, sheet.name) };
  }

  private analyze(options: SheetOptions): SheetAnalysis {
    const sheet = this.sheetOf(options);
    const key = JSON.stringify([options.sheet, options.headerRow, options.withHidden, options.withCurrency]);
    if (this.analyzed?.key === key) return this.analyzed.analysis;
    const { is1904, hasExternalLinks } = this.content;
    const source = { frame: sheet.frame, formats: this.formats, is1904, hasExternalLinks };
    const analysis = new SheetAnalysis(source, options, (headerRow) => this.rowsOf(sheet, headerRow));
    this.analyzed = { key, analysis };
    return analysis;
  }

  private sheetOf({ sheet: name }: SheetOptions): ScannedSheet {
    const sheet = this.scanned.find((each) => each.name === name);
    if (!sheet) {
      const names = this.scanned.map((each) => each.name).join(', ');
      throw new WorkbookFault(`The workbook has no sheet ${name}. Its sheets: ${names}.`);
    }
    if (sheet.overview.rowCount === 0)
      throw new WorkbookFault(`The sheet ${name} is empty. Choose another one.`);
    return sheet;
  }

  /** Counts the rows of a sheet, and keeps them if they are few. */
  private scan(sheet: SheetPart, onRead: (bytes: number) => void): ScannedSheet {
    const frame: SheetFrame = { hiddenColumns: new Set(), merged: [] };
    const overview = { name: sheet.name, isHidden: sheet.isHidden, rowCount: 0, columnCount: 0 };
    let rows: SheetRow[] | undefined = [];
    let cellCount = 0;
    for (const row of sheetRows(this.content, sheet.part, this.strings, frame, onRead)) {
      overview.rowCount++;
      overview.columnCount = Math.max(overview.columnCount, row.cells.at(-1)!.column + 1);
      cellCount += row.cells.length;
      if (cellCount > keptCellsMax) rows = undefined;
      rows?.push(row);
    }
    // A person most often wants the first visible sheet.
    if (rows && !sheet.isHidden && rows.length > 0) this.kept ??= { part: sheet.part, rows };
    return { ...sheet, frame, overview };
  }

  /** Rows of a sheet with the values of merged areas in each of their rows. */
  private rowsOf({ part, frame }: ScannedSheet, headerRow?: number): Iterable<SheetRow> {
    if (this.kept?.part === part) return fillMerged(this.kept.rows, frame.merged, headerRow);
    const { archive } = this.content;
    archive.beginRequest();
    const again: SheetFrame = { hiddenColumns: new Set(), merged: [] };
    const rows = sheetRows(this.content, part, this.strings, again, this.progressOf([part]));
    return fillMerged(rows, frame.merged, headerRow);
  }

  private progressOf(parts: readonly string[]): (bytes: number) => void {
    const total = parts.reduce((sum, part) => sum + this.content.archive.compressedBytes(part), 0);
    let done = 0;
    return (bytes) => {
      done += bytes;
      this.onProgress(done, total);
    };
  }
}

/** Names the CSV file of a sheet: `Prices 2026 - Products.csv`. */
export function csvName(workbook: string, sheet: string): string {
  const stem = workbook.replace(/\.xls[xm]$/i, '');
  // eslint-disable-next-line no-control-regex -- each of these characters is invalid in a name on Windows, macOS or Linux
  const name = `${stem} - ${sheet}`.replace(/[\u0000-\u001f\u007f<>:"/\\|?*]/g, '_');
  return `${[...name].slice(0, 150).join('')}.csv`;
}
