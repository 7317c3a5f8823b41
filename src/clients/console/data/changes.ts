import type { Schemas } from '../api';
import { countsOf } from './runs';

export type Change = Schemas['PlannedItem'] | Schemas['ProductChange'];
export type ShownAction = Schemas['ChangeAction'];

/** Kinds of changes, in the order of their tabs. */
export const changeActions = ['update', 'insert', 'withdraw', 'restore'] as const satisfies ShownAction[];

/** What a list of changes shows. */
export interface ChangeView {
  action: ShownAction | undefined;
  /** Undefined: the usual order of the service. */
  sort: Schemas['ChangeOrder'] | undefined;
}

/** Reads the view from the address: without a choice, the largest change of price is first. */
export const changeViewOf = (read: (name: string) => string): ChangeView => ({
  action: changeActions.find((action) => action === read('action')),
  sort: read('sort') === 'none' ? undefined : 'price_change',
});

/** Returns the number of products for each kind; `all` is their sum. */
export function countChanges(summary: Schemas['RunSummary']) {
  const { inserted, updated, withdrawn, restored } = countsOf(summary);
  return {
    all: inserted + updated + withdrawn + restored,
    update: updated,
    insert: inserted,
    withdraw: withdrawn,
    restore: restored,
  };
}

type Field = Schemas['ColumnName'];

/** The change of a field, or undefined. */
export const changeOfField = ({ changes }: Change, field: Field) =>
  changes.find((change) => change.field === field);

/** Fields with a column of their own. The name of a new product is in the column of the product, the currency in that of the price. */
const shownFields = ['brand', 'category', 'price', 'availability', 'description'] as const;

/** Returns the fields that a list of changes needs columns for. */
export function fieldsOf(items: Change[]): Field[] {
  const has = (field: Field) => items.some((item) => changeOfField(item, field));
  const fields: Field[] = shownFields.filter((field) => has(field) || (field === 'price' && has('currency')));
  const isRenamed = items.some((item) => item.action !== 'insert' && changeOfField(item, 'product_name'));
  return isRenamed ? ['product_name', ...fields] : fields;
}
