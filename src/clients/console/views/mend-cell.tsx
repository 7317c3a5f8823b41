import { useEffect, useRef, type KeyboardEvent } from 'react';
import { isMarked } from '../data/mend-tools';
import type { RowState } from '../data/row-checker';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface CellOptions {
  at: number;
  column: number;
  /** Name of its column. */
  name: string;
  line: string;
  state: RowState;
  isChanged: boolean;
  isActive: boolean;
  isSelected: boolean;
  /** Id of the text that explains the active cell. */
  detail: string;
}

/** A cell of the grid. The grid handles its keys and clicks. */
export function MendCell({ at, column, name, state, isChanged, isActive, isSelected, detail }: CellOptions) {
  const reasons = state.reasons.get(column) ?? [];
  const kind = reasons.some((each) => each.kind === 'error') ? 'error' : reasons[0]?.kind;
  const value = state.cells[column]!;
  const mark = kind ?? (isChanged ? 'right' : '');
  return (
    <td
      role="gridcell"
      data-at={at}
      data-column={column}
      data-name={name}
      className={`cell ${mark}`}
      tabIndex={isActive ? 0 : -1}
      aria-invalid={isMarked(state, column)}
      aria-selected={isSelected}
      aria-describedby={isActive ? detail : undefined}
      title={reasons.map(({ message }) => message).join(' ') || undefined}
    >
      {value !== '' && <Value>{value}</Value>}
    </td>
  );
}

interface EditorOptions {
  label: string;
  draft: string;
  isWrong: boolean;
  detail: string;
  onChange: (draft: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onLeave: () => void;
}

/** The field of a cell that is being changed. */
export function CellEditor({ label, draft, isWrong, detail, onChange, onKeyDown, onLeave }: EditorOptions) {
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  // Only when it opens.
  useEffect(() => {
    const { current } = field;
    if (!current) return;
    current.focus();
    current.setSelectionRange(current.value.length, current.value.length);
  }, []);
  const common = {
    ref: field,
    'aria-label': label,
    'aria-invalid': isWrong,
    'aria-describedby': detail,
    dir: 'auto',
    value: draft,
    onChange: ({ target }: { target: { value: string } }) => onChange(target.value),
    onKeyDown,
    onBlur: onLeave,
  };
  // A single-line field would remove the line breaks of a value.
  const isLong = draft.includes('\n');
  return (
    <>
      <span className="typed" aria-hidden>
        {isLong ? draft.slice(0, draft.indexOf('\n')) : draft}
      </span>
      {isLong ? <textarea {...common} rows={3} /> : <input {...common} />}
    </>
  );
}

/** The first cell of a row: its line in the feed, and a mark. */
export function LineCell({
  at,
  line,
  state,
  isActive,
  detail,
}: Pick<CellOptions, 'at' | 'line' | 'state' | 'isActive' | 'detail'>) {
  return (
    <th
      role="rowheader"
      scope="row"
      data-at={at}
      data-column={-1}
      className={`line-mark ${state.status}`}
      tabIndex={isActive ? 0 : -1}
      aria-describedby={isActive ? detail : undefined}
      title={state.ofRow.join(' ') || undefined}
    >
      {line} <span aria-hidden>{marks[state.status]}</span>
      <span className="hidden">{texts.issues.marks[state.status]}</span>
    </th>
  );
}

const marks = { wrong: '!', ready: '✓', dropped: '–' };
