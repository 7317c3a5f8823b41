import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { changeOfField, fieldsOf, type Change } from '../data/changes';
import { change as percentText, money } from '../locale';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { DataTable, type DataColumn } from './table';
import { Value } from './value';

interface Options {
  items: Change[];
  label: string;
  /** Whether all items are of one kind, which is said elsewhere. */
  isOneKind?: boolean;
}

/** Changes of products: one line for each, with a column for each field that changes. */
export function Changes({ items, label, isOneKind = false }: Options) {
  const columns: DataColumn<Change>[] = [{ title: texts.plan.product, kind: 'name', cell: productCell }];
  if (!isOneKind) columns.push({ title: texts.plan.kind, kind: 'tight', cell: kindCell });
  for (const field of fieldsOf(items)) {
    const title = texts.fields[field]!;
    if (field !== 'price') columns.push({ title, cell: (item) => fieldCell(item, field) });
    else columns.push({ title, kind: 'number', cell: priceCell }, ...percentColumn(items));
  }
  return (
    <DataTable label={label} columns={columns} rows={items} keyOf={({ row, sku }) => `${row ?? ''}/${sku}`} />
  );
}

function percentColumn(items: Change[]): DataColumn<Change>[] {
  if (items.every((item) => item.price_change_percent === undefined)) return [];
  return [{ title: texts.plan.percent, kind: 'number', cell: percentCell }];
}

function percentCell({ price_change_percent: percent }: Change) {
  return percent === undefined ? null : percentText(percent);
}

function productCell(item: Change) {
  const name = <Value>{item.product_name || item.sku}</Value>;
  return (
    <>
      {'product_id' in item ? (
        <Link href={addressOf('product', { product: item.product_id })}>{name}</Link>
      ) : (
        name
      )}
      <p className="muted small">
        <Value>{item.sku}</Value>
      </p>
    </>
  );
}

function kindCell({ action }: Change) {
  return <span className={`badge ${action}`}>{texts.actions[action]}</span>;
}

function fieldCell(item: Change, field: Schemas['ColumnName']): ReactNode {
  const change = changeOfField(item, field);
  // The name of a new product is in the first column.
  if (!change || (field === 'product_name' && item.action === 'insert')) return null;
  const show = (value: string | null) => {
    const known = field === 'availability' && value !== null ? texts.availabilities[value] : undefined;
    return known ?? <Value>{value}</Value>;
  };
  const content = valuesOf(item, show(change.before), show(change.after));
  return field === 'description' ? <div className="long-text">{content}</div> : content;
}

/** The price with its currency. */
function priceCell(item: Change): ReactNode {
  const price = changeOfField(item, 'price');
  const currency = changeOfField(item, 'currency');
  if (!price && !currency) return null;
  const show = (value: string | null | undefined, code: string | null | undefined) =>
    value ? money(value, code) : (!price && code) || texts.none;
  const { before, after } = currency ?? { before: item.currency, after: item.currency };
  return valuesOf(item, show(price?.before, before), show(price?.after, after));
}

/** The values before and after beside each other; of a new product, its value. */
function valuesOf({ action }: Change, before: ReactNode, after: ReactNode): ReactNode {
  if (action === 'insert') return after;
  return (
    <span className="values">
      <del>{before}</del> <span aria-hidden>→</span> <ins>{after}</ins>
    </span>
  );
}
