import type { RowEdits } from '../data/mending';
import { Value } from '../parts/value';
import { texts } from '../texts';
import type { useMendGrid } from './use-mend-grid';

interface Options {
  id: string;
  grid: ReturnType<typeof useMendGrid>;
  names: string[];
  generated: number;
  edits: RowEdits;
}

/** The whole text of the active cell, and its reasons in words; they are read out while it is changed. */
export function MendDetail({ id, grid: { active, activeRow, draft }, names, generated, edits }: Options) {
  const live = draft === undefined ? 'off' : 'polite';
  if (!activeRow)
    return (
      <div className="detail muted" id={id}>
        {texts.issues.detailHint}
      </div>
    );
  const { row, state } = activeRow;
  const { column } = active;
  const edit = edits[row.line];
  const original = row.cells[column] ?? '';
  const value = state.cells[column];
  const isChanged = column >= generated && value !== original;
  const ofCell = state.reasons.get(column) ?? [];
  const ofLine = column === -1 ? [...state.reasons.values()].flat() : ofCell;
  return (
    <div className="detail" id={id} aria-live={live}>
      <p>
        <strong>
          {column === -1
            ? `${texts.issues.line} ${row.line}`
            : texts.issues.cell(names[column - generated]!, row.line)}
        </strong>{' '}
        {column !== -1 && <Value>{value}</Value>}
        {isChanged && (
          <span className="muted">
            {' '}
            {texts.issues.was} <Value>{original}</Value>
          </span>
        )}
      </p>
      {edit?.isDropped && <p className="watch">{texts.issues.isDropped}</p>}
      {ofLine.map(({ kind, message }) => (
        <p key={message} className={kind}>
          {message}
        </p>
      ))}
      {state.ofRow.map((message) => (
        <p key={message} className="error">
          {message}
        </p>
      ))}
      {isChanged && ofCell.length === 0 && <p className="right">{texts.issues.right}</p>}
    </div>
  );
}
