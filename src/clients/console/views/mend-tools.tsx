import { useId, useState } from 'react';
import type { Replacement, ReplaceKind } from '../data/mend-tools';
import type { Mending } from '../data/mending';
import { Action } from '../parts/action';
import { Choice, Field } from '../parts/field';
import { texts } from '../texts';
import type { useMendGrid } from './use-mend-grid';

interface Options {
  grid: ReturnType<typeof useMendGrid>;
  mending: Mending;
  names: string[];
  generated: number;
  /** Number of rows of the list. */
  rows: number;
}

/** The tools above the grid; after each, the focus is in the grid again. */
export function MendTools({ grid, mending, names, generated, rows }: Options) {
  const [isReplacing, setReplacing] = useState(false);
  const { tools, activeRow, said } = grid;
  const { edits, done, undone } = mending;
  const isDropped = activeRow !== undefined && edits[activeRow.row.line]?.isDropped === true;
  const panel = useId();
  return (
    <>
      <div className="actions mend-tools" role="group" aria-label={texts.issues.tools}>
        <Action onPress={tools.nextProblem}>
          {texts.issues.nextProblem} <Key of="next" />
        </Action>
        <Action
          aria-expanded={isReplacing}
          aria-controls={isReplacing ? panel : undefined}
          onPress={() => setReplacing(!isReplacing)}
        >
          {texts.issues.replace}
        </Action>
        <Action isDisabled={!grid.isFillable} onPress={() => void tools.fillDown()}>
          {texts.issues.fillDown} <Key of="fill" />
        </Action>
        <Action isDisabled={!activeRow} onPress={tools.drop}>
          {isDropped ? texts.issues.takeBack : texts.issues.drop} <Key of="drop" />
        </Action>
        <Action isDisabled={done.length === 0} onPress={tools.undo}>
          {texts.issues.undo} <Key of="undo" />
        </Action>
        <Action isDisabled={undone.length === 0} onPress={tools.redo}>
          {texts.issues.redo} <Key of="redo" />
        </Action>
        <Action isDisabled={Object.keys(edits).length === 0} onPress={tools.undoAll}>
          {texts.issues.undoAll}
        </Action>
        <span role="status" className="muted">
          {said !== undefined && (said === 0 ? texts.issues.nothingToChange : texts.issues.filled(said))}
        </span>
      </div>
      {isReplacing && (
        <Replace
          id={panel}
          names={names}
          generated={generated}
          column={grid.active.column < generated ? generated : grid.active.column}
          value={activeRow?.state.cells[grid.active.column] ?? ''}
          rows={rows}
          onReplace={async (replacement) => {
            if (await tools.replace(replacement)) setReplacing(false);
          }}
          onCancel={() => {
            setReplacing(false);
            tools.stay();
          }}
        />
      )}
      <details className="keys">
        <summary>{texts.issues.keys}</summary>
        <dl>
          {texts.issues.keyList.map(([key, meaning]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  );
}

/** The key of a tool; the list of keys is for screen readers, too. */
const Key = ({ of }: { of: keyof typeof texts.issues.toolKeys }) => (
  <kbd aria-hidden>{texts.issues.toolKeys[of]}</kbd>
);

interface ReplaceOptions {
  id: string;
  names: string[];
  generated: number;
  /** Column and value of the active cell when the tool was opened. */
  column: number;
  value: string;
  rows: number;
  onReplace: (replacement: Replacement) => Promise<void>;
  onCancel: () => void;
}

function Replace({ id, names, generated, rows, onReplace, onCancel, ...active }: ReplaceOptions) {
  const [column, setColumn] = useState(active.column);
  const [kind, setKind] = useState<ReplaceKind>('marked');
  const [find, setFind] = useState(active.value);
  const [value, setValue] = useState('');
  const [isBusy, setBusy] = useState(false);
  const replace = async () => {
    setBusy(true);
    await onReplace({ column, kind, find, value });
    setBusy(false);
  };
  return (
    <form
      id={id}
      className="preview"
      aria-label={texts.issues.replaceTitle}
      onKeyDown={({ key }) => key === 'Escape' && onCancel()}
      onSubmit={(event) => {
        event.preventDefault();
        void replace();
      }}
    >
      <div className="filters">
        <Choice
          label={texts.issues.replaceColumn}
          value={String(column)}
          options={names.map((name, at) => [String(generated + at), name] as const)}
          onChange={(chosen) => setColumn(Number(chosen))}
        />
        <Choice
          label={texts.issues.replaceWhat}
          value={kind}
          options={texts.issues.replaceKinds}
          onChange={(chosen) => setKind(chosen as ReplaceKind)}
        />
        {kind !== 'marked' && <Field label={texts.issues.find} value={find} onChange={setFind} />}
        <Field label={texts.issues.replaceWith} value={value} onChange={setValue} autoFocus />
        <Action type="submit" isDisabled={isBusy}>
          {texts.issues.replaceNow}
        </Action>
      </div>
      <p className="muted">{texts.issues.replaceScope(rows)}</p>
    </form>
  );
}
