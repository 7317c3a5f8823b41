import { productColumns, type ProductColumn } from '../../feed-format/columns';

/** Value of a field; a price is a decimal text. */
export type FieldValue = string | null;

/** Fields that can change; the sku stays. */
export const changingFields = productColumns.filter((column) => column !== 'sku');

export interface FieldChanges {
  /** The fields that differ; of a new product, those with a value. */
  changes: { field: ProductColumn; before: FieldValue; after: FieldValue }[];
  /** After the change; null without one, and if no field differs. */
  currency: FieldValue;
}

/** Compares the fields of a product, as plans, runs and reverts show them. @param row - a value before and after for each field */
export function fieldChangesOf(row: Record<string, FieldValue>): FieldChanges {
  const changes = changingFields
    .map((field) => ({ field, before: row[`before_${field}`]!, after: row[`after_${field}`]! }))
    .filter(({ before, after }) => before !== after);
  return { changes, currency: changes.length > 0 ? row.after_currency! : null };
}
