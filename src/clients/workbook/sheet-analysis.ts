import { AddedCurrencies } from './added-currencies';
import { columnLetters } from './cell-place';
import { cellText, type CellReading } from './cell-text';
import { isUpperHeader, joinHeaders, proposeHeaderRow, readHeaders, type HeaderCell } from './header-row';
import { notesOf, type CellCounts } from './sheet-notes';
import type { SheetCell, SheetFrame, SheetRow } from './sheet-rows';
import type { SheetOptions, SheetTable } from './sheet-table';
import { WorkbookFault } from './workbook-fault';

/** How the rows of a sheet become records. */
export interface SheetLayout {
  headerRow: number;
  withHidden: boolean;
  /** Columns of the sheet by their positions in the record. */
  columns: HeaderCell[];
  /** Adds a column; undefined: there is none to add. */
  currencies: AddedCurrencies | undefined;
  textOf: (cell: SheetCell) => string;
}

interface SheetSource extends CellReading {
  frame: SheetFrame;
  hasExternalLinks: boolean;
}

const previewRows = 20;
const previewColumns = 100;
const isPreviewed = ({ column }: SheetCell) => column < previewColumns;
/** Rows that show where the header row is. */
const firstRowsMax = 200;

/** What the rows of a sheet are as a CSV file; reads them once or twice. */
export class SheetAnalysis {
  readonly table: SheetTable;
  readonly layout: SheetLayout;

  /** @param rows - begins to read the rows again; merged headers are not repeated below the header row */
  constructor(
    private readonly source: SheetSource,
    private readonly options: SheetOptions,
    rows: (headerRow?: number) => Iterable<SheetRow>,
  ) {
    const first = firstRows(rows());
    const headerRow = options.headerRow ?? this.propose(first);
    const headers = readHeaders(this.headerTexts(rows(), headerRow));
    const codes = new Set(headers.filter(({ field }) => isCode(field)).map(({ column }) => column));
    const textOf = (cell: SheetCell) => cellText(cell, source, codes.has(cell.column));
    const counts = this.count(rows(headerRow), headerRow, headers);
    const { withHidden = true, withCurrency = true } = options;
    const columns = counts.columns.filter(({ column }) => withHidden || !this.isHidden(column));
    const currency = counts.currencies.added();
    this.layout = {
      headerRow,
      withHidden,
      columns,
      currencies: withCurrency && currency ? counts.currencies : undefined,
      textOf,
    };
    const facts = this.factsOf(counts, headerRow);
    this.table = {
      headerRow,
      rowCount: counts.rows,
      columns: [...columns.map(({ header }) => header), ...(this.layout.currencies ? ['currency'] : [])],
      preview: first.slice(0, previewRows).map(({ number, cells }) => ({
        row: number,
        cells: textsOf(cells.filter(isPreviewed), textOf),
      })),
      ...facts,
      currency,
      notes: notesOf({
        ...facts,
        ...counts,
        headerRow,
        withHidden,
        withCurrency,
        currency,
        currencyDoubt: counts.currencies.doubt(),
        hasExternalLinks: source.hasExternalLinks,
      }),
    };
  }

  private propose(first: readonly SheetRow[]): number {
    const textOf = (cell: SheetCell) => cellText(cell, this.source);
    const row = proposeHeaderRow(
      first.map(({ number, cells }) => ({ number, cells: textsOf(cells, textOf) })),
    );
    const hasLower = first.some(({ number }) => number === row + 1);
    return hasLower && isUpperHeader(row, this.source.frame.merged) ? row + 1 : row;
  }

  private headerTexts(rows: Iterable<SheetRow>, headerRow: number): string[] {
    let above: { number: number; cells: string[] } | undefined;
    for (const { number, cells } of rows) {
      if (number !== headerRow && number !== headerRow - 1) continue;
      const texts = textsOf(cells, (cell) => cellText(cell, this.source));
      if (number === headerRow) return above ? joinHeaders(above, texts, this.source.frame.merged) : texts;
      above = { number, cells: texts };
    }
    throw new WorkbookFault(`Row ${headerRow} of the sheet is empty. Choose another header row.`);
  }

  private count(rows: Iterable<SheetRow>, headerRow: number, headers: HeaderCell[]): SheetCounts {
    const { withHidden = true } = this.options;
    const counts = new SheetCounts(headers, this.source);
    for (const row of rows) {
      if (row.number < headerRow) counts.titleRows.push(row.number);
      if (row.number <= headerRow) continue;
      const isShown = withHidden || !row.isHidden;
      const taken = row.cells.filter(({ column }) => isShown && (withHidden || !this.isHidden(column)));
      counts.add(row, taken);
    }
    return counts;
  }

  private isHidden(column: number): boolean {
    return this.source.frame.hiddenColumns.has(column);
  }

  private factsOf(counts: SheetCounts, headerRow: number) {
    const hidden = counts.columns.filter(({ column }) => this.isHidden(column));
    const merged = this.source.frame.merged.filter(({ firstRow }) => firstRow > headerRow);
    return {
      hiddenRows: counts.hiddenRows,
      hiddenColumns: hidden.map(
        ({ column, header }) => columnLetters(column) + (header === '' ? '' : ` (${header})`),
      ),
      mergedAreas: merged.length,
    };
  }
}

const codeFields: ReadonlySet<string | undefined> = new Set(['sku', 'id', 'ean', 'parent']);
const isCode = (field: string | undefined) => codeFields.has(field);

/** What the rows below the header row have. */
class SheetCounts implements CellCounts {
  rows = 0;
  hiddenRows = 0;
  readonly titleRows: number[] = [];
  readonly errors = { count: 0, first: '' };
  readonly uncached = { count: 0, first: '' };
  readonly skuDates = { count: 0, first: '' };
  readonly currencies: AddedCurrencies;
  private readonly filled = new Set<number>();
  private readonly skus: ReadonlySet<number>;

  constructor(
    private readonly headers: HeaderCell[],
    private readonly source: CellReading,
  ) {
    this.skus = new Set(headers.filter(({ field }) => field === 'sku').map(({ column }) => column));
    this.currencies = new AddedCurrencies(headers, source);
  }

  /** @param taken - the cells that the CSV file has */
  add(row: SheetRow, taken: readonly SheetCell[]): void {
    if (row.isHidden) this.hiddenRows++;
    let isEmpty = true;
    for (const cell of row.cells) this.filled.add(cell.column);
    for (const cell of taken) {
      if (cell.kind === 'error') note(this.errors, row, cell);
      if (cell.kind === 'uncached') note(this.uncached, row, cell);
      if (this.skus.has(cell.column) && this.isDate(cell)) note(this.skuDates, row, cell);
      isEmpty &&= cell.text.trim() === '';
    }
    if (isEmpty) return;
    this.rows++;
    this.currencies.add(taken);
  }

  private isDate({ kind, style }: SheetCell): boolean {
    return kind === 'number' && this.source.formats[style]?.date !== undefined;
  }

  /** The columns that have a header or a value. */
  get columns(): HeaderCell[] {
    const named = this.headers.filter(({ header, column }) => header !== '' || this.filled.has(column));
    const beyond = [...this.filled].filter((column) => column >= this.headers.length);
    const unnamed = beyond
      .sort((a, b) => a - b)
      .map((column) => ({ column, header: '', field: undefined, strength: 0 }));
    return [...named, ...unnamed];
  }
}

function note(place: { count: number; first: string }, row: SheetRow, cell: SheetCell): void {
  if (place.count === 0) place.first = `${columnLetters(cell.column)}${row.number}`;
  place.count++;
}

function firstRows(rows: Iterable<SheetRow>): SheetRow[] {
  const first: SheetRow[] = [];
  for (const row of rows) if (first.push(row) === firstRowsMax) break;
  return first;
}

/** Returns the texts of a row from the first column of the sheet to its last value. */
function textsOf(cells: readonly SheetCell[], textOf: (cell: SheetCell) => string): string[] {
  const width = cells.reduce((most, { column }) => Math.max(most, column + 1), 0);
  const texts = new Array<string>(width).fill('');
  for (const cell of cells) texts[cell.column] = textOf(cell);
  return texts;
}
