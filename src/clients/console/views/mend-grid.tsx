import { useEffect, useRef, type ClipboardEvent, type KeyboardEvent, type MouseEvent } from 'react';
import type { RejectedRow, RowState } from '../data/row-checker';
import type { RowEdits } from '../data/mending';
import { texts } from '../texts';
import { CellEditor, LineCell, MendCell } from './mend-cell';

/** A cell by the place of its row in the list and its column; column -1 is the line. */
export interface GridCell {
  at: number;
  column: number;
}

/** What the keys of the grid do. */
export interface GridActions {
  onMove: (cell: GridCell, isExtended?: boolean) => void;
  onEdit: (draft: string | undefined) => void;
  onCommit: (move: { rows: number; columns: number }) => void;
  onClear: () => void;
  onPaste: (lines: string[][]) => void;
  onShortcut: (shortcut: Shortcut) => void;
}

export type Shortcut = 'next' | 'fill' | 'drop' | 'undo' | 'redo' | 'send';

export interface GridRow {
  at: number;
  row: RejectedRow;
  state: RowState;
}

interface GridOptions extends GridActions {
  rows: GridRow[];
  /** Names of the columns of the feed. */
  names: string[];
  /** Generated columns before them. */
  generated: number;
  edits: RowEdits;
  active: GridCell;
  /** Row at the end of the selection, which begins at the active cell. */
  end: number;
  draft: string | undefined;
  /** Id of the text that explains the active cell. */
  detail: string;
  /** Changes when the active cell takes the focus. */
  focusKey: number;
}

/** The skipped rows as a grid with the keys of a spreadsheet; Tab leaves it. */
export function MendGrid(options: GridOptions) {
  const { rows, names, generated, edits, active, end, draft, detail, focusKey } = options;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (focusKey === 0) return;
    const cell = box.current?.querySelector<HTMLElement>('[tabindex="0"]');
    cell?.focus();
  }, [focusKey, active.at, active.column]);
  const [first, last] = [Math.min(active.at, end), Math.max(active.at, end)];
  return (
    <div className="grid-box" ref={box}>
      <table
        role="grid"
        aria-label={texts.issues.mend}
        aria-multiselectable
        onKeyDown={(event) => draft === undefined && pressKey(event, options)}
        onClick={(event) => pressCell(event, options)}
        onCopy={(event) => draft === undefined && copyCell(event, options)}
        onPaste={(event) => draft === undefined && pasteCells(event, options)}
      >
        <thead>
          <tr>
            <th scope="col">{texts.issues.line}</th>
            {names.map((name, at) => (
              <th key={at} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, row, state }) => (
            <tr key={row.line} data-line={row.line} className={state.status}>
              <LineCell
                at={at}
                line={row.line}
                state={state}
                isActive={isAt(active, at, -1)}
                detail={detail}
              />
              {names.map((name, index) => {
                const column = generated + index;
                const isActive = isAt(active, at, column);
                if (state.cells[column] === undefined) return <td key={column} role="gridcell" />;
                if (isActive && draft !== undefined)
                  return (
                    <td key={column} role="gridcell" className="cell editing">
                      <Editor {...options} state={state} label={texts.issues.cell(name, row.line)} />
                    </td>
                  );
                const common = { at, column, name, line: row.line, state, isActive, detail };
                return (
                  <MendCell
                    key={column}
                    {...common}
                    isChanged={edits[row.line]?.cells[column] !== undefined}
                    isSelected={column === active.column && at >= first && at <= last}
                  />
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const isAt = (cell: GridCell, at: number, column: number) => cell.at === at && cell.column === column;

function Editor({
  draft,
  state,
  active,
  detail,
  label,
  onEdit,
  onCommit,
  onMove,
  onShortcut,
}: GridOptions & { state: RowState; label: string }) {
  const keys: Record<string, { rows: number; columns: number }> = {
    Enter: { rows: 1, columns: 0 },
    Tab: { rows: 0, columns: 1 },
  };
  return (
    <CellEditor
      label={label}
      draft={draft!}
      detail={detail}
      isWrong={state.reasons.get(active.column)?.some(({ kind }) => kind === 'error') ?? false}
      onChange={onEdit}
      onLeave={() => onCommit({ rows: 0, columns: 0 })}
      onKeyDown={(event) => {
        const isCommand = event.ctrlKey || event.metaKey;
        const move = event.shiftKey || event.nativeEvent.isComposing ? undefined : keys[event.key];
        if (event.key === 'Escape') onMove(active);
        else if (isCommand && event.key === 'Enter') onShortcut('send');
        else if (event.key === 'F8') onShortcut('next');
        else if (move) onCommit(move);
        else return;
        event.preventDefault();
      }}
    />
  );
}

const cellOf = ({ target }: { target: EventTarget }): GridCell | undefined => {
  const { at, column } = (target as Element).closest<HTMLElement>('[data-at]')?.dataset ?? {};
  return at === undefined ? undefined : { at: Number(at), column: Number(column) };
};

/** The first click selects a cell; another one changes it. */
function pressCell(event: MouseEvent, { active, onMove, onEdit }: GridOptions): void {
  const cell = cellOf(event);
  if (!cell) return;
  if (isAt(active, cell.at, cell.column) && !event.shiftKey) onEdit(undefined);
  else onMove(cell, event.shiftKey);
}

const shortcuts: Record<string, Shortcut> = {
  d: 'fill',
  y: 'redo',
  z: 'undo',
  Enter: 'send',
  Delete: 'drop',
};

function pressKey(event: KeyboardEvent, options: GridOptions): void {
  const { active, end, rows, names, generated } = options;
  const { key, shiftKey } = event;
  const isCommand = event.ctrlKey || event.metaKey;
  const columnEnd = generated + names.length - 1;
  const pageRows = 10;
  const step = (rowsMoved: number, columns: number) => {
    const before = columns < 0 && active.column === generated ? -1 : active.column + columns;
    const column = active.column === -1 && columns > 0 ? generated : before;
    return { at: active.at + rowsMoved, column: Math.min(Math.max(column, -1), columnEnd) };
  };
  const ends = { first: rows[0]?.at ?? 0, last: rows.at(-1)?.at ?? 0 };
  const moves: Record<string, () => GridCell> = {
    ArrowDown: () => step(1, 0),
    ArrowUp: () => step(-1, 0),
    ArrowRight: () => step(0, 1),
    ArrowLeft: () => step(0, -1),
    PageDown: () => step(pageRows, 0),
    PageUp: () => step(-pageRows, 0),
    Home: () => ({ at: isCommand ? ends.first : active.at, column: -1 }),
    End: () => ({ at: isCommand ? ends.last : active.at, column: columnEnd }),
  };
  const shortcut = isCommand ? (key === 'Z' ? 'redo' : shortcuts[key]) : key === 'F8' ? 'next' : undefined;
  if (shortcut) options.onShortcut(shortcut);
  else if (shiftKey && (key === 'ArrowDown' || key === 'ArrowUp'))
    options.onMove({ at: end + (key === 'ArrowDown' ? 1 : -1), column: active.column }, true);
  else if (moves[key]) options.onMove(moves[key]());
  else if (isCommand || event.altKey) return;
  else if (key === 'Enter' || key === 'F2') options.onEdit(undefined);
  else if (key === 'Delete' || key === 'Backspace') options.onClear();
  else if (key.length === 1) options.onEdit(key);
  else return;
  event.preventDefault();
}

function copyCell(event: ClipboardEvent, { rows, active }: GridOptions): void {
  const value = rows.find(({ at }) => at === active.at)?.state.cells[active.column];
  if (value === undefined) return;
  event.clipboardData.setData('text/plain', value);
  event.preventDefault();
}

function pasteCells(event: ClipboardEvent, { onPaste }: GridOptions): void {
  const text = event.clipboardData.getData('text/plain').replace(/\r?\n$/, '');
  onPaste(text.split(/\r?\n/).map((line) => line.split('\t')));
  event.preventDefault();
}
