import type { AddedCurrency } from './sheet-table';

/** How many cells are special, and the place of the first one: `D5`. */
interface Cells {
  count: number;
  first: string;
}

export interface CellCounts {
  /** Numbers of the rows above the header row. */
  titleRows: number[];
  errors: Cells;
  uncached: Cells;
  /** Cells of the column of skus that are dates. */
  skuDates: Cells;
}

interface SheetFacts extends CellCounts {
  headerRow: number;
  hiddenRows: number;
  hiddenColumns: string[];
  mergedAreas: number;
  withHidden: boolean;
  withCurrency: boolean;
  currency: AddedCurrency | null;
  currencyDoubt: string | undefined;
  hasExternalLinks: boolean;
}

/** Says in plain sentences what a person should know of a sheet. */
export function notesOf(facts: SheetFacts): string[] {
  return [
    titleNote(facts),
    ...hiddenNotes(facts),
    mergedNote(facts),
    uncachedNote(facts),
    errorNote(facts),
    skuDateNote(facts),
    currencyNote(facts),
    facts.hasExternalLinks &&
      'The workbook refers to other workbooks: the values that it has stored are read.',
  ].filter((note) => typeof note === 'string');
}

const counted = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`;
const isOrAre = (count: number) => (count === 1 ? 'is' : 'are');

function titleNote({ titleRows }: SheetFacts): string | undefined {
  const [first] = titleRows;
  const last = titleRows.at(-1);
  if (first === undefined) return undefined;
  return first === last
    ? `Row ${first} above the header row is left out.`
    : `Rows ${first} to ${last} above the header row are left out.`;
}

function* hiddenNotes({ hiddenRows, hiddenColumns, withHidden }: SheetFacts): Generator<string> {
  const what = withHidden ? 'taken as well' : 'left out';
  if (hiddenRows > 0) yield `${counted(hiddenRows, 'hidden row')} ${isOrAre(hiddenRows)} ${what}.`;
  const { length } = hiddenColumns;
  if (length > 0)
    yield `${counted(length, 'hidden column')} ${isOrAre(length)} ${what}: ${listed(hiddenColumns)}.`;
}

const listedMax = 10;

function listed(texts: readonly string[]): string {
  const rest = texts.length - listedMax;
  return texts.slice(0, listedMax).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

const mergedNote = ({ mergedAreas }: SheetFacts) =>
  mergedAreas > 0 && `${counted(mergedAreas, 'merged area')}: the value is repeated in each row.`;

const uncachedNote = ({ uncached: { count, first } }: SheetFacts) =>
  count > 0 &&
  `${counted(count, 'formula')} without a stored value, the first one in ${first}: the cells are left empty. Open the workbook in Excel, save it, and use it again.`;

const errorNote = ({ errors: { count, first } }: SheetFacts) =>
  count > 0 &&
  `${counted(count, 'cell')} with an error such as #N/A, the first one in ${first}: the error is taken as text.`;

const skuDateNote = ({ skuDates: { count, first } }: SheetFacts) =>
  count > 0 &&
  (count === 1
    ? `1 sku is a date in the workbook, in ${first}. If Excel made a date of it, enter it as text.`
    : `${count} skus are dates in the workbook, the first one in ${first}. If Excel made dates of them, enter them as text.`);

function currencyNote({ currency, currencyDoubt, withCurrency }: SheetFacts): string | undefined {
  if (!currency) return currencyDoubt;
  const { column, codes } = currency;
  return withCurrency
    ? `A column currency is added, with ${codes.join(', ')}, as the cells of ${column} show.`
    : `The cells of ${column} show a currency, ${codes.join(', ')}; no column is added for it.`;
}
