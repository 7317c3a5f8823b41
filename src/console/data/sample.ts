import { stringify } from 'csv-stringify/browser/esm/sync';
import { columns, plain, rowsOf, type Definition, type Row } from './mapping';
import { inspectFeed } from './upload';

/** The first rows under a mapping that has not been saved. */
export interface Sample {
  rows: Partial<Record<keyof Row, string | null>>[];
  /** Whether the service has cleaned the values; if not, they are as in the file. */
  isCleaned: boolean;
}

const shownRows = 5;
/** Enough for the service to tell decimal points from commas. */
const sentRows = 200;

/**
 * Shows what a mapping makes of a file. An inspection takes the name of a saved format only: the first rows are therefore written
 * under our column names, and inspected as a file of their own.
 */
export async function sampleOf(partner: string, file: File, definition: Definition): Promise<Sample> {
  const rows = await rowsOf(file, definition, sentRows);
  const cleaned = await cleanedRows(partner, rows, definition).catch(() => undefined);
  return cleaned ? { rows: cleaned, isCleaned: true } : { rows: rows.slice(0, shownRows), isCleaned: false };
}

/** @returns undefined where the service would not read these rows as the definition does */
async function cleanedRows(
  partner: string,
  rows: Row[],
  definition: Definition,
): Promise<Sample['rows'] | undefined> {
  const { fill_down, ignore_rows_without, decimal_separator = '.' } = definition;
  // These are about headers, which the written rows do not have.
  if (fill_down || ignore_rows_without) return undefined;
  const used = columns.filter((column) => definition.columns[column]);
  const replaced = replacementsOf(definition);
  const records = rows.map((row) => used.map((column) => replaced(column, row[column] ?? '')));
  const text = stringify([used, ...records]);
  const inspection = await inspectFeed(partner, new File([text], 'sample.csv', { type: 'text/csv' }));
  const reading = inspection.suggested_format;
  if (!reading || (reading.decimal_separator ?? '.') !== decimal_separator) return undefined;
  return inspection.sample;
}

/** Returns what a definition makes of cells before they are cleaned: words for empty cells, and for the stock status. */
function replacementsOf({ null_values = [], availability = {} }: Definition) {
  const empty = new Set(null_values.map((word) => word.trim()));
  const statuses = new Map(Object.entries(availability).map(([theirs, ours]) => [plain(theirs), ours]));
  return (column: keyof Row, cell: string): string => {
    if (empty.has(cell.trim())) return '';
    return (column === 'availability' && statuses.get(plain(cell))) || cell;
  };
}
