import { formatId } from '../../base/ids';
import { productColumns, type ProductColumn } from '../columns';
import type { LoadMode } from '../load-options';
import type { RecordPlace } from '../read/extract';
import type { FeedHeader } from '../read/header-columns';
import { isAsSpecified } from '../format-definition';
import { type FormatReading } from '../read/format-reading';
import { hasOurNames } from '../read/resolve-format';
import { headerNames } from '../read/header-names';
import { isReportColumn } from '../report-columns';
import { rowIssue, type RowIssue } from '../rows/row-issues';
import { unmappedColumns } from '../detect/unmapped-headers';

export interface HeaderIssueOptions {
  mode: LoadMode;
  /** A feed of the partner that was uploaded later and is loaded already. */
  newerFeedId?: number;
}

/**
 * Reports issues of the header, once per feed.
 * @param text - the header row
 */
export function* headerIssues(
  place: RecordPlace,
  text: string,
  { delimiter, reading }: FeedHeader,
  { mode, newerFeedId }: HeaderIssueOptions,
): Generator<RowIssue> {
  if (newerFeedId !== undefined) {
    yield rowIssue(place, null, { code: 'older_feed', value: formatId('FD', newerFeedId) });
  }
  const names = headerNames(Buffer.from(text), { delimiter, syntax: reading.syntax }) ?? [];
  const unmapped = leavesPricesAlone(reading, mode) ? noFields : unmappedColumns(reading, names);
  // A format with other names for columns lists all columns that it reads.
  const hasUnknown = hasOurNames(reading.format.definition);
  for (const [position, value] of names.entries()) {
    const field = unmapped.get(position);
    const columnNumber = position + 1;
    if (field) yield rowIssue(place, null, { code: 'unmapped_column', field, columnNumber, value });
    else if (hasUnknown && isUnknown(value) && !reading.positions.includes(position))
      yield rowIssue(place, null, { code: 'unknown_column', columnNumber, value });
  }
}

const noFields: ReadonlyMap<number, ProductColumn> = new Map();

/** Whether the file updates other values than prices: columns may be left out on purpose. */
const leavesPricesAlone = ({ columns }: FormatReading, mode: LoadMode) =>
  mode === 'update' && !columns.has('price');

const isUnknown = (name: string) =>
  name !== '' && !isReportColumn(name) && !productColumns.some((column) => column === name.toLowerCase());

/** Prices and currencies in the valid rows of a file. */
interface MoneySeen {
  hasRows: boolean;
  hasPrices: boolean;
  hasCurrencies: boolean;
}

/** Tells whether missing prices and currencies of a file are reported. */
export const reportsMoney = (reading: FormatReading, mode: LoadMode): boolean =>
  !isAsSpecified(reading.format.definition) && !leavesPricesAlone(reading, mode);

/** Reports prices or currencies that are missing in all rows. @param seen - in the whole file */
export function* moneyIssues(
  place: RecordPlace,
  { positions, reading }: FeedHeader,
  mode: LoadMode,
  { hasRows, hasPrices, hasCurrencies }: MoneySeen,
): Generator<RowIssue> {
  if (!reportsMoney(reading, mode)) return;
  const numberOf = (position: number | undefined) => (position === undefined ? null : position + 1);
  const keepsPrices = reading.keptColumns.includes('price');
  if (hasRows && !hasPrices && !keepsPrices && reading.format.definition.columns.price) {
    const columnNumber = numberOf(positions.price);
    yield rowIssue(place, null, { code: 'no_prices', field: 'price', columnNumber });
  }
  // An update without a column for currencies leaves the stored ones alone.
  const keepsCurrencies =
    (mode === 'update' && !reading.columns.has('currency')) || reading.keptColumns.includes('currency');
  if (hasPrices && !hasCurrencies && !keepsCurrencies) {
    const columnNumber = numberOf(positions.currency);
    yield rowIssue(place, null, { code: 'no_currency', field: 'currency', columnNumber });
  }
}
