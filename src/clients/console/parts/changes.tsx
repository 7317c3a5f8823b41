import { Link } from 'wouter';
import type { Schemas } from '../api';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Choice } from './field';
import { ScrollTable } from './scroll-table';
import { Value } from './value';

type Change = Schemas['PlannedItem'] | Schemas['ProductChange'];

interface Options {
  items: Change[];
  /** The action that is shown; empty: all. */
  action: string;
  onFilter: (action: string) => void;
  none: string;
  label: string;
}

/** Changes of products, one line for each value before and after. */
export function Changes({ items, action, onFilter, none, label }: Options) {
  if (items.length === 0) return <p className="muted">{none}</p>;
  const shown = items.filter((item) => action === '' || item.action === action);
  const { product, kind, field, before, after } = texts.plan;
  return (
    <>
      <Choice
        label={texts.plan.filter}
        value={action}
        options={[['', texts.all], ...Object.entries(texts.actions)]}
        onChange={onFilter}
      />
      {shown.length === 0 ? (
        <p className="muted">{texts.plan.noneShown}</p>
      ) : (
        <ScrollTable
          label={label}
          columns={[product, kind, field, before, after].map((title) => ({ title }))}
        >
          {shown.map((item) => (
            <ChangeRows key={`${item.row ?? ''}/${item.sku}`} item={item} />
          ))}
        </ScrollTable>
      )}
    </>
  );
}

function ChangeRows({ item }: { item: Change }) {
  const changes = item.changes.length > 0 ? item.changes : [undefined];
  return changes.map((change, at) => (
    <tr key={at} className={at === 0 ? 'first' : 'continued'}>
      {at === 0 && (
        <>
          <th scope="rowgroup" rowSpan={changes.length}>
            {'product_id' in item ? (
              <Link href={addressOf('product', { product: item.product_id })}>
                <Value>{item.sku}</Value>
              </Link>
            ) : (
              <Value>{item.sku}</Value>
            )}
          </th>
          <td rowSpan={changes.length}>
            <span className={`badge ${item.action}`}>{texts.actions[item.action]}</span>
          </td>
        </>
      )}
      <td>{change ? texts.fields[change.field] : texts.none}</td>
      <td className={item.action === 'insert' ? 'muted' : 'before'}>
        <Value>{change?.before}</Value>
      </td>
      <td className="after">
        <Value>{change?.after}</Value>
      </td>
    </tr>
  ));
}
