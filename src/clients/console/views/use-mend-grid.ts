import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { cellStep, isMarked, stepOfReplace, type MendedRows, type Replacement } from '../data/mend-tools';
import {
  redoStep,
  stepToNothing,
  takeStep,
  undoStep,
  withDrop,
  type Mending,
  type MendStep,
} from '../data/mending';
import type { RejectedRow } from '../data/row-checker';
import type { GridActions, GridCell, GridRow, Shortcut } from './mend-grid';

interface MendGridOptions extends MendedRows {
  mending: Mending;
  /** Places of the rows in this list, in the file of rejects. */
  places: readonly number[];
  /** The rows of this page; none while they are read. */
  page: RejectedRow[];
  /** Position of the first of them in the list. */
  first: number;
  pageSize: number;
  keep: (change: (mending: Mending) => Mending) => void;
  onPage: (page: number) => void;
  onSend: () => void;
}

/** The active cell of the grid, what is typed into it, and the actions of its keys and tools. */
export function useMendGrid(options: MendGridOptions) {
  const { rejects, checker, edits, mending, places, page, first, pageSize, keep, onPage, onSend } = options;
  const { generated } = rejects.head;
  const [wanted, setWanted] = useState<GridCell & { end: number; focusKey: number }>();
  const [draft, setDraft] = useState<string>();
  // A field that is removed may report that it lost the focus.
  const typed = useRef<string>(undefined);
  const [said, setSaid] = useState<number>();

  const states = page.map((row, index): GridRow => {
    const at = first + index;
    const edit = edits[row.line];
    const isTyped = draft !== undefined && wanted?.at === at;
    const [typing] = isTyped ? cellStep(row, edit, wanted.column, draft) : [];
    return { at, row, state: checker.check(row, typing ? typing.after : edit) };
  });
  const columnOf = ({ at, column }: GridCell) => {
    if (column !== problem) return column;
    const state = states.find((each) => each.at === at)?.state;
    return state ? (problemsOf(state.reasons)[0] ?? -1) : -1;
  };
  const isHere = (at: number) => at >= first && at < first + page.length;
  const shown =
    wanted && isHere(wanted.at) ? wanted : { at: first, column: problem, end: first, focusKey: 0 };
  const active: GridCell = { at: shown.at, column: columnOf(shown) };
  const activeRow = states.find(({ at }) => at === active.at);

  const type = (value: string | undefined) => {
    typed.current = value;
    setDraft(value);
  };
  const moveTo = (at: number, column: number, end = at) => {
    type(undefined);
    const [from, to] = [at, end].map((each) => Math.min(Math.max(each, 0), places.length - 1)) as [
      number,
      number,
    ];
    setWanted({ at: from, column, end: to, focusKey: (wanted?.focusKey ?? 0) + 1 });
    if (!isHere(from)) onPage(Math.floor(from / pageSize) + 1);
  };
  const take = (step: MendStep) => keep((before) => takeStep(before, step));
  /** Takes the text that is being typed. */
  const accept = () => {
    const value = typed.current;
    type(undefined);
    if (value === undefined || !activeRow) return;
    take(cellStep(activeRow.row, edits[activeRow.row.line], active.column, value));
  };
  const stay = () => moveTo(active.at, active.column);

  const isProblem = (at: number) => {
    const edit = edits[rejects.rows.lineAt(places[at]!)];
    return !edit || checker.statusOf(edit) === 'wrong';
  };
  const nextProblem = () => {
    accept();
    const here = activeRow && isProblem(active.at) ? problemsOf(activeRow.state.reasons) : [];
    const next = here.find((column) => column > active.column);
    if (next !== undefined) return moveTo(active.at, next);
    for (let step = 1; step <= places.length; step++) {
      const at = (active.at + step) % places.length;
      if (isProblem(at)) return moveTo(at, problem);
    }
    setSaid(0);
  };
  const isFillable = active.column >= generated && activeRow?.state.cells[active.column] !== undefined;
  /** Takes a step of many rows, and returns to the grid. */
  const takeMany = async (places: readonly number[], replacement: Replacement) => {
    const step = await stepOfReplace({ rejects, checker, edits }, places, replacement);
    take(step);
    setSaid(step.length);
    return step.length;
  };
  const fillDown = async () => {
    if (!activeRow || !isFillable) return;
    const value = activeRow.state.cells[active.column]!;
    const { column } = active;
    if (shown.end !== active.at) {
      const rows = states.filter(
        ({ at }) => at > Math.min(active.at, shown.end) && at <= Math.max(active.at, shown.end),
      );
      const top = states.find(({ at }) => at === Math.min(active.at, shown.end))!.state.cells[column]!;
      const step = rows.flatMap(({ row }) => cellStep(row, edits[row.line], column, top));
      take(step);
      setSaid(step.length);
    } else await takeMany(places.slice(active.at + 1), { column, kind: 'marked', find: '', value });
    stay();
  };
  const drop = () => {
    if (!activeRow) return;
    const { line } = activeRow.row;
    const before = edits[line];
    take([{ line, before, after: withDrop(before, !before?.isDropped) }]);
    stay();
  };
  /** Takes or undoes a step, and shows its first row. */
  const travel = (change: (before: Mending) => Mending, step: MendStep | undefined) => {
    if (!step) return;
    keep(change);
    const lines = new Set(step.map(({ line }) => line));
    const at = places.findIndex((place) => lines.has(rejects.rows.lineAt(place)));
    const isShown = activeRow && lines.has(activeRow.row.line);
    moveTo(at === -1 || isShown ? active.at : at, active.column);
  };
  const undo = () => travel(undoStep, mending.done.at(-1));
  const redo = () => travel(redoStep, mending.undone.at(-1));
  const undoAll = () => {
    take(stepToNothing(edits));
    stay();
  };
  /** @returns whether a cell was changed */
  const replace = async (replacement: Replacement) => {
    const isChanged = (await takeMany(places, replacement)) > 0;
    if (isChanged) stay();
    return isChanged;
  };
  const shortcuts: Record<Shortcut, () => void> = {
    next: nextProblem,
    fill: () => void fillDown(),
    drop,
    undo,
    redo,
    send: () => {
      flushSync(accept);
      onSend();
    },
  };
  const actions: GridActions = {
    onMove: (cell, isExtended) => {
      if (!isExtended) return moveTo(cell.at, cell.column);
      moveTo(active.at, active.column, Math.min(Math.max(cell.at, first), first + page.length - 1));
    },
    onEdit: (value) => {
      if (!isFillable) return;
      if (wanted?.at !== active.at || wanted.column !== active.column)
        setWanted({ ...active, end: active.at, focusKey: shown.focusKey });
      type(value ?? activeRow.state.cells[active.column]!);
    },
    onCommit: ({ rows, columns }) => {
      if (typed.current === undefined) return;
      accept();
      if (rows !== 0 || columns !== 0) moveTo(active.at + rows, active.column + columns);
    },
    onClear: () => {
      if (activeRow && isFillable)
        take(cellStep(activeRow.row, edits[activeRow.row.line], active.column, ''));
      else if (active.column === -1) drop();
    },
    onPaste: (lines) => {
      const step = lines.flatMap((values, index) => pasted(states, edits, active, index, values));
      take(step);
      setSaid(step.length);
    },
    onShortcut: (shortcut) => shortcuts[shortcut](),
  };
  // The first problem is where the grid begins.
  const tools = {
    nextProblem: wanted ? nextProblem : stay,
    fillDown,
    drop,
    undo,
    redo,
    undoAll,
    replace,
    stay,
  };
  return {
    states,
    active,
    activeRow,
    end: shown.end,
    focusKey: shown.focusKey,
    draft,
    said,
    isFillable,
    actions,
    tools,
  };
}

/** The column of a cell that is not known before its row is read: the first marked one. */
const problem = -2;

const problemsOf = (reasons: GridRow['state']['reasons']): number[] =>
  [...reasons.keys()].filter((column) => isMarked({ reasons }, column)).sort((a, b) => a - b);

/** Makes the changes of one pasted line. */
function pasted(
  rows: readonly GridRow[],
  edits: MendedRows['edits'],
  { at, column }: GridCell,
  index: number,
  values: readonly string[],
): MendStep {
  const target = rows.find((each) => each.at === at + index);
  if (!target || column < 0) return [];
  const { row, state } = target;
  const before = edits[row.line];
  const after = values.reduce((edit, value, offset) => {
    if (state.cells[column + offset] === undefined) return edit;
    const [change] = cellStep(row, edit, column + offset, value);
    return change ? change.after : edit;
  }, before);
  return after === before ? [] : [{ line: row.line, before, after }];
}
