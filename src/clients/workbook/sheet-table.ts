/** A sheet of a workbook, to choose from. */
export interface SheetOverview {
  name: string;
  /** Whether Excel shows no tab of it. */
  isHidden: boolean;
  /** Rows that have a cell that is not empty, the header row and titles included. */
  rowCount: number;
  /** Columns up to the last one that has a cell that is not empty. */
  columnCount: number;
}

/** How a sheet becomes a CSV file. */
export interface SheetOptions {
  /** Name of the sheet. */
  sheet: string;
  /** Number of the header row in the sheet, from 1; absent: the proposed one. */
  headerRow?: number;
  /** Whether hidden rows and columns are taken; absent: they are. */
  withHidden?: boolean;
  /** Whether the column `currency` is added that the formats of the prices name; absent: it is. */
  withCurrency?: boolean;
}

/** The CSV file that a sheet becomes, without its rows. */
export interface SheetTable {
  /** Number of the header row in the sheet, from 1. */
  headerRow: number;
  /** Rows below the header row that the CSV file has. */
  rowCount: number;
  /** Headers of the CSV file. */
  columns: string[];
  /** The first 20 rows of the sheet, titles above the header row included, by their numbers in the sheet; of 100 columns at most. */
  preview: { row: number; cells: string[] }[];
  /** Hidden rows below the header row that are not empty. */
  hiddenRows: number;
  /** Hidden columns by letter and header: `C (cost)`. */
  hiddenColumns: string[];
  /** Merged areas below the header row. */
  mergedAreas: number;
  /** The column that is added for the currencies of prices, unless `withCurrency` is false; null: none. */
  currency: AddedCurrency | null;
  /** Plain sentences: what a person should know of this sheet. */
  notes: string[];
}

export interface AddedCurrency {
  /** Header of the priced column. */
  column: string;
  codes: string[];
}
