import type { Schemas } from '../api';
import { memberInWords, sourceInWords } from '../data/definition-words';
import type { DefinitionChange } from '../data/reading';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { DataTable } from '../parts/table';
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
      <DataTable
        label={title}
        rows={changes}
        keyOf={({ isColumn, name: changed }) => `${isColumn}/${changed}`}
        columns={[
          { title: field, kind: 'name', cell: nameOf },
          {
            title: before,
            cell: (change) => (
              <span className="before">
                <Value>{wordsOf(change, change.before)}</Value>
              </span>
            ),
          },
          {
            title: after,
            cell: (change) => (
              <span className="after">
                <Value>{wordsOf(change, change.after)}</Value>
              </span>
            ),
          },
        ]}
      />
    </Confirm>
  );
}

const nameOf = ({ isColumn, name }: DefinitionChange) =>
  (isColumn ? texts.fields[name] : texts.check.members[name]) ?? name;

const wordsOf = ({ isColumn, name }: DefinitionChange, value: unknown) =>
  isColumn ? sourceInWords(value as Schemas['ColumnSource'] | undefined) : memberInWords(name, value);
