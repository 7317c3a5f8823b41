import type { Schemas } from '../api';
import type { DefinitionChange } from '../data/reading';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  name: string;
  changes: DefinitionChange[];
  onClose: () => void;
  onReplace: () => void;
}

/** Asks before a saved format is replaced, and shows the changes. */
export function ReplaceFormat({ name, changes, onClose, onReplace }: Options) {
  const { field, before, after } = texts.plan;
  const title = texts.check.replaceTitle(name);
  return (
    <Confirm
      title={title}
      isOpen
      onClose={onClose}
      actions={
        <Action kind="primary" onPress={onReplace}>
          {texts.check.replace}
        </Action>
      }
    >
      <p>{texts.check.replaceLead}</p>
      <ScrollTable label={title} columns={[field, before, after].map((each) => ({ title: each }))}>
        {changes.map((change) => (
          <tr key={`${change.isColumn}/${change.name}`}>
            <th scope="row">
              {(change.isColumn ? texts.fields[change.name] : texts.check.members[change.name]) ??
                change.name}
            </th>
            <td className="before">
              <Value>{textOf(change, change.before)}</Value>
            </td>
            <td className="after">
              <Value>{textOf(change, change.after)}</Value>
            </td>
          </tr>
        ))}
      </ScrollTable>
    </Confirm>
  );
}

function textOf({ isColumn }: DefinitionChange, value: unknown): string {
  if (!isColumn)
    return value === undefined ? texts.none : typeof value === 'string' ? value : JSON.stringify(value);
  const source = value as Schemas['ColumnSource'] | undefined;
  if (!source) return texts.check.absent;
  if (source.value !== undefined) return texts.check.constant(source.value);
  if (source.join) return texts.check.joined(source.join.join(', '));
  if (source.quantity) {
    const { from, unless } = source.quantity;
    return [texts.check.quantity(from.join(', ')), ...(unless ? [texts.check.unless(unless)] : [])].join(
      '. ',
    );
  }
  return source.from?.join(', ') ?? String(source.position);
}
