import { isKnownAvailability } from '../availability';
import { isActiveCurrency } from '../currency';
import { canStandFor } from '../currency-signs';
import { clean } from '../clean-cell';
import { feedColumns, requiredIn, type ColumnFormat, type ProductColumn } from '../columns';
import type { FeedRecord } from '../read/extract';
import type { FeedHeader } from '../read/header-columns';
import type { ParsedPrice } from '../parse-price';
import { priceMessage } from './price-message';
import { suspicionOf } from './suspicious-sku';
import { rowIssue, type Fault, type RowIssue, issueValueCharacters } from './row-issues';
import type { LoadMode } from '../load-options';
import { isSuperseded } from '../report-columns';
import { isLongerThan, trimText } from '../text';

/** Cleaned values of a row; null is an empty cell or a missing column. The price is a decimal text. */
export type ProductValues = Record<ProductColumn, string | null>;

/** Value of a cell that keeps the stored one (mode `update`, `keep_when_empty`): no cleaned text is empty, and no price is NaN. */
export const keptValue = (column: ProductColumn) => (column === 'price' ? 'NaN' : '');

/** Tells whether a row has a value of its own for a column, and keeps no stored one. */
export const hasOwnValue = (values: ProductValues, column: ProductColumn): boolean =>
  values[column] !== null && values[column] !== keptValue(column);

/** Values of a valid row; without a name only in mode `update`, or with `keptValue` for it. */
export type LoadableValues = ProductValues & { sku: string };

/** Result of a row: values, perhaps with warnings, or the issues that skip it: errors, or `repeated_header`. */
export type RowOutcome =
  { values: LoadableValues; issues?: RowIssue[] } | { values?: undefined; issues: RowIssue[] };

/** Cause of an issue of a cell. */
type FieldFault = Fault & { field: ProductColumn };

/**
 * Cleans and validates one record by the feed format. A pure function.
 *
 * Reports all issues at once; a record that cannot be split into its columns has only that issue.
 * @param mode - in mode `update`, only the sku is required
 */
export function transformRecord(
  record: FeedRecord,
  header: FeedHeader,
  mode: LoadMode = 'upsert',
): RowOutcome {
  const codes = header.codes === undefined ? '' : trimText(record.field(header.codes) ?? '');
  if (isSuperseded(codes)) {
    const fault = { code: 'superseded_row', columnNumber: header.codes! + 1, value: codes } as const;
    return { issues: [rowIssue(record, namedSkus(record, header)?.[0] ?? null, fault)] };
  }
  if (record.tooLong) {
    const sku = clean.sku(header.reading.shiftedSkus(record, 0)?.[0] ?? '');
    return { issues: [rowIssue(record, sku, { code: 'value_too_long' })] };
  }
  if (record.repeatsHeader) return unreadable(record, { code: 'repeated_header' });
  if (record.misquoted) return unreadable(record, { code: 'invalid_quoting' });
  if (record.fieldCount > header.fieldCount) {
    return unreadable(record, { code: 'too_many_fields', columnNumber: header.fieldCount + 1 });
  }

  const { undecided } = header.reading;
  if (undecided !== undefined) {
    const fault = {
      code: 'incomplete_group',
      columnNumber: undecided + 1,
      message: undecidedMessage,
    } as const;
    return { issues: [rowIssue(record, cleanCell(record, header, 'sku'), fault)] };
  }

  const values = cleanValues(record, header);
  const faults: FieldFault[] = [];
  const { missing } = header.reading;
  for (const column of missing) values[column] = null;
  const [field] = missing;
  const isKept = mode === 'update' && field !== 'sku';
  if (field && !isKept) faults.push({ code: 'incomplete_group', field });
  checkTexts(values, faults, mode, header);
  checkSku(values, faults);
  checkMoney(values, faults, header);
  checkAvailability(values, faults);
  if (isKept) for (const column of missing) values[column] = keptValue(column);
  for (const column of header.reading.keptColumns) values[column] ??= keptValue(column);
  if (faults.length === 0) return { values: values as LoadableValues };

  const issues = faults.map((fault) => cellIssue(record, header, values, fault));
  const isLoadable = issues.every(({ severity }) => severity === 'warning');
  return isLoadable ? { values: values as LoadableValues, issues } : { issues };
}

const undecidedMessage =
  'The cell that decides whether the row is loaded (only_rows_where) is empty, and the first row of its group could not be read. Fill the cell, or correct the rows above.';

/** Creates the issue of a cell, with its raw value. */
function cellIssue(
  record: FeedRecord,
  { positions, reading }: FeedHeader,
  values: ProductValues,
  fault: FieldFault,
): RowIssue {
  const position = positions[fault.field];
  const value = position === undefined ? null : trimText(record.field(position) ?? '') || null;
  const columnNumber = position === undefined ? null : position + 1;
  const message =
    fault.code === 'invalid_price'
      ? priceMessage(priceText(record, reading, position) ?? values.price!, reading.priceNotation)
      : fault.message;
  return rowIssue(record, values.sku, { ...fault, columnNumber, value, message });
}

/** Returns the price as it is in the file, without text marks; undefined if it is in none of its cells. */
function priceText(
  record: FeedRecord,
  reading: FeedHeader['reading'],
  position: number | undefined,
): string | undefined {
  return position === undefined ? undefined : trimText(reading.cellAt(record, position) ?? '') || undefined;
}

/**
 * Lists the skus that a skipped record may name, to protect their products from being withdrawn.
 * In a record with too many fields, an unquoted delimiter may have shifted the sku.
 * @returns undefined if the record cannot be split into cells, or its sku belongs to a group whose beginning is unknown
 */
export function namedSkus(record: FeedRecord, header: FeedHeader): string[] | undefined {
  if (record.repeatsHeader) return [];
  if (record.tooLong || record.misquoted || header.reading.missing.includes('sku')) return undefined;
  const cells = skuCells(record, header);
  return cells?.map(clean.sku).filter((sku) => sku !== null && !sku.includes('\0')) as string[] | undefined;
}

function skuCells(record: FeedRecord, { fieldCount, reading }: FeedHeader): string[] | undefined {
  const excess = record.fieldCount - fieldCount;
  if (excess <= 0) return [reading.cell(record, 'sku') ?? ''];
  const fields = record.firstFields(Infinity);
  const cells = reading.shiftedSkus({ field: (position) => fields[position] }, excess);
  return cells?.map((text) => text ?? '');
}

function unreadable(record: FeedRecord, fault: Fault): RowOutcome {
  const value = record.firstFields(issueValueCharacters).join(' | ');
  return { issues: [rowIssue(record, null, { ...fault, value })] };
}

/** Tells whether a record without issues has a price. */
export const hasPrice = (record: FeedRecord, header: FeedHeader): boolean =>
  cleanCell(record, header, 'price') !== null;

/** Tells whether a record without issues has a currency, in its own column or in the price. */
export function hasCurrency(record: FeedRecord, header: FeedHeader): boolean {
  const values = {
    price: cleanCell(record, header, 'price'),
    currency: cleanCell(record, header, 'currency'),
  };
  checkMoney(values, [], header);
  return values.currency !== null;
}

function cleanCell(record: FeedRecord, { reading }: FeedHeader, column: ProductColumn): string | null {
  const text = reading.cell(record, column);
  return text === undefined ? null : clean[column](text);
}

function cleanValues(record: FeedRecord, header: FeedHeader): ProductValues {
  const cell = (column: ProductColumn): string | null => cleanCell(record, header, column);
  return {
    sku: cell('sku'),
    product_name: cell('product_name'),
    description: cell('description'),
    brand: cell('brand'),
    category: cell('category'),
    price: cell('price'),
    currency: cell('currency'),
    availability: cell('availability'),
  };
}

/** Checks of every column; objects of one shape, so that V8 keeps the loop fast. */
const textRules = feedColumns.map((column: ColumnFormat & { name: ProductColumn }) => ({
  field: column.name,
  maxLength: column.maxLength ?? Infinity,
}));

function checkTexts(
  values: ProductValues,
  faults: FieldFault[],
  mode: LoadMode,
  { reading }: FeedHeader,
): void {
  const required = requiredIn(mode);
  for (const { field, maxLength } of textRules) {
    const value = values[field];
    if (value === null) {
      if (required.includes(field) && ![...reading.keptColumns, ...reading.missing].includes(field))
        faults.push({ code: 'missing_required', field });
    } else if (value.includes('\0')) faults.push({ code: 'invalid_character', field });
    else if (isLongerThan(value, maxLength)) faults.push({ code: 'value_too_long', field });
  }
}

/** Checks price and currency, which depend on each other, and normalizes both in `values`. */
function checkMoney(
  values: Pick<ProductValues, 'price' | 'currency'>,
  faults: FieldFault[],
  { reading }: FeedHeader,
): void {
  const { currency } = values;
  const currencyIsKnown = currency === null || isActiveCurrency(currency);
  if (!currencyIsKnown && !currency.includes('\0')) {
    faults.push({ code: 'invalid_currency', field: 'currency' });
  }
  if (values.price === null || values.price.includes('\0')) return;

  const price = reading.price(values.price);
  if (!price) {
    faults.push({ code: 'invalid_price', field: 'price' });
    return;
  }
  const ofRow = currencyIsKnown ? (currency ?? price.currency) : undefined;
  if (ofRow && !isIn(price, ofRow)) faults.push({ code: 'currency_conflict', field: 'price' });
  if (/^0+(?:\.0+)?$/.test(price.amount)) faults.push({ code: 'zero_price', field: 'price' });
  values.price = price.amount;
  values.currency ??= price.currency ?? null;
}

/** Tells whether code and sign of a price allow the currency of its row. */
const isIn = ({ currency, sign }: ParsedPrice, ofRow: string) =>
  (currency ?? ofRow) === ofRow && (sign === undefined || canStandFor(sign, ofRow));

/** Warns of a sku that the next export of the same products may write differently: they would become other products. */
function checkSku({ sku }: ProductValues, faults: FieldFault[]): void {
  const message = sku === null ? undefined : suspicionOf(sku);
  if (message !== undefined) faults.push({ code: 'suspicious_sku', field: 'sku', message });
}

function checkAvailability({ availability }: ProductValues, faults: FieldFault[]): void {
  if (availability !== null && !isKnownAvailability(availability)) {
    faults.push({ code: 'unknown_availability', field: 'availability' });
  }
}
