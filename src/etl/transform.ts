import { isActiveCurrency } from '../currency';
import { charactersMax, productColumns, requiredColumns, type ProductColumn } from './columns';
import type { FeedHeader } from './header';
import { rowIssue, type RowIssue, type RowIssueCode } from './row-issues';
import { isLongerThan, trimText } from './text';

/** One record of a feed, as the parser read it. */
export interface FeedRecord {
  /** Where it starts in the file; the first line is 1. */
  line: number;
  fields: string[];
  /** Whether text follows a closing quote in it. */
  misquoted: boolean;
}

/** The cleaned values of a row; null is an empty cell or a column that the feed does not have. Price is a decimal text. */
export type ProductValues = Record<ProductColumn, string | null>;

/** What becomes of a row: a product, or the reasons why it is skipped. */
export type RowOutcome =
  { values: ProductValues; issues?: undefined } | { values?: undefined; issues: RowIssue[] };

/** Spellings of availability that mean one thing. */
const availabilitySpellings: Record<string, string> = {
  instock: 'in_stock',
  outofstock: 'out_of_stock',
  pre_order: 'preorder',
  back_order: 'backorder',
};

/**
 * Cleans and validates one record (the rules are in the document at `runJob`). Pure: the same record always gives the
 * same outcome. All reasons are given at once; a record that cannot be split into its columns gives just that reason.
 */
export function transformRecord(record: FeedRecord, header: FeedHeader): RowOutcome {
  if (record.misquoted) return unreadable(record, 'invalid_quoting');
  if (record.fields.length > header.fieldCount) return unreadable(record, 'too_many_fields');

  const values = cleanValues(record.fields, header);
  const faults: [RowIssueCode, ProductColumn, string | null][] = [];

  for (const column of requiredColumns) {
    if (values[column] === null) faults.push(['missing_required', column, null]);
  }
  for (const column of productColumns) {
    const value = values[column];
    if (value === null) continue;
    if (value.includes('\0')) faults.push(['invalid_character', column, value]);
    else if (
      column in charactersMax &&
      isLongerThan(value, charactersMax[column as keyof typeof charactersMax])
    ) {
      faults.push(['value_too_long', column, value]);
    }
  }
  checkMoney(values, faults);

  if (faults.length === 0) return { values };
  const at = { line: record.line, sku: values.sku };
  return { issues: faults.map(([code, column, value]) => rowIssue(at, code, column, value)) };
}

function unreadable(record: FeedRecord, code: RowIssueCode): RowOutcome {
  return { issues: [rowIssue({ line: record.line, sku: null }, code, null, record.fields.join(' | '))] };
}

function cleanValues(fields: string[], { positions }: FeedHeader): ProductValues {
  const cell = (column: ProductColumn): string | null => {
    const position = positions[column];
    const text = position === undefined ? undefined : fields[position];
    return text === undefined ? null : trimText(text) || null;
  };
  return {
    sku: cell('sku'),
    product_name: cell('product_name'),
    description: cell('description'),
    brand: cell('brand'),
    category: cell('category'),
    price: cell('price'),
    currency: cell('currency')?.toUpperCase() ?? null,
    availability: cleanAvailability(cell('availability')),
  };
}

function cleanAvailability(text: string | null): string | null {
  if (text === null) return null;
  const word = text.toLowerCase().replace(/[\s-]/g, '_');
  return Object.hasOwn(availabilitySpellings, word) ? availabilitySpellings[word]! : word;
}

/** Checks price and currency, which depend on each other, and leaves the price as a plain decimal text in `values`. */
function checkMoney(values: ProductValues, faults: [RowIssueCode, ProductColumn, string | null][]): void {
  const { currency } = values;
  const currencyIsKnown = currency === null || isActiveCurrency(currency);
  if (!currencyIsKnown && !currency.includes('\0')) faults.push(['invalid_currency', 'currency', currency]);
  if (values.price === null || values.price.includes('\0')) return;

  const price = parsePrice(values.price);
  if (!price) {
    faults.push(['invalid_price', 'price', values.price]);
    return;
  }
  if (price.currency && currency !== null && currencyIsKnown && price.currency !== currency) {
    faults.push(['currency_conflict', 'price', values.price]);
  }
  values.price = price.amount;
  values.currency ??= price.currency ?? null;
}

const plainPrice = /^\d{1,12}(?:\.\d{1,4})?$/;
const price =
  /^(?:(?<signBefore>[$€£¥])|(?<codeBefore>[A-Za-z]{3}))? ?(?<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?<decimals>\d{1,4}))?(?: ?(?:(?<signAfter>[$€£¥])|(?<codeAfter>[A-Za-z]{3})))?$/;
const wholeDigitsMax = 12;

/**
 * Reads a price by the published grammar.
 * @returns the amount as a decimal text that PostgreSQL reads exactly, and the currency if a code names one; undefined
 * for anything else
 */
export function parsePrice(text: string): { amount: string; currency?: string } | undefined {
  if (plainPrice.test(text)) return { amount: text };
  const match = price.exec(text)?.groups;
  if (!match) return undefined;
  const { signBefore, codeBefore, whole, decimals, signAfter, codeAfter } = match;
  if ((signBefore ?? codeBefore) && (signAfter ?? codeAfter)) return undefined;

  const currency = (codeBefore ?? codeAfter)?.toUpperCase();
  if (currency && !isActiveCurrency(currency)) return undefined;
  const digits = whole!.replaceAll(',', '').replace(/^0+(?=\d)/, '');
  if (digits.length > wholeDigitsMax) return undefined;
  return { amount: decimals ? `${digits}.${decimals}` : digits, currency };
}
