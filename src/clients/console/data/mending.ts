/** Changes of a skipped row: its changed cells by column, and whether it is left out. */
export interface RowEdit {
  cells: Readonly<Record<number, string>>;
  isDropped?: boolean;
}

/** Changed rows by their line in the feed. */
export type RowEdits = Readonly<Record<string, RowEdit>>;

/** The rows that one action has changed, before and after it; absent: unchanged. */
export type MendStep = readonly { line: string; before?: RowEdit; after?: RowEdit }[];

/** The changed rows, and the steps that can be undone or done again. */
export interface Mending {
  edits: RowEdits;
  done: readonly MendStep[];
  undone: readonly MendStep[];
}

/** Returns the state of a view with these changes, without earlier steps. */
export const startMending = (edits: RowEdits): Mending => ({ edits, done: [], undone: [] });

/** Adds a step, unless it changes nothing. */
export function takeStep({ edits, done, undone }: Mending, step: MendStep): Mending {
  if (step.length === 0) return { edits, done, undone };
  return { edits: changed(edits, step, 'after'), done: [...done, step], undone: [] };
}

/** Takes the last step back, if there is one. */
export function undoStep(mending: Mending): Mending {
  const step = mending.done.at(-1);
  if (!step) return mending;
  const { edits, done, undone } = mending;
  return { edits: changed(edits, step, 'before'), done: done.slice(0, -1), undone: [...undone, step] };
}

/** Takes the step again that was taken back last, if there is one. */
export function redoStep(mending: Mending): Mending {
  const step = mending.undone.at(-1);
  if (!step) return mending;
  const { edits, done, undone } = mending;
  return { edits: changed(edits, step, 'after'), done: [...done, step], undone: undone.slice(0, -1) };
}

/** Returns the step that removes all changes. It can be undone, too. */
export const stepToNothing = (edits: RowEdits): MendStep =>
  Object.entries(edits).map(([line, before]) => ({ line, before }));

/** Removes changes that were sent, unless their row was changed since; steps before that cannot be undone. */
export function withoutSent({ edits }: Mending, sent: RowEdits): Mending {
  return startMending(
    Object.fromEntries(Object.entries(edits).filter(([line, edit]) => sent[line] !== edit)),
  );
}

/** Returns a row's changes with another value of a cell; undefined if nothing of it is changed then. */
export function withCell(
  edit: RowEdit | undefined,
  column: number,
  value: string,
  original: string,
): RowEdit | undefined {
  const { [column]: _, ...others } = edit?.cells ?? {};
  const cells = value === original ? others : { ...others, [column]: value };
  return simplest({ ...edit, cells });
}

/** Returns a row's changes with the row left out, or taken back. */
export const withDrop = (edit: RowEdit | undefined, isDropped: boolean): RowEdit | undefined =>
  simplest({ cells: edit?.cells ?? {}, ...(isDropped && { isDropped }) });

/** Counts the changed cells of the rows that are not left out. */
export const countCells = (edits: RowEdits): number =>
  Object.values(edits).reduce(
    (sum, { cells, isDropped }) => sum + (isDropped ? 0 : Object.keys(cells).length),
    0,
  );

const simplest = (edit: RowEdit): RowEdit | undefined =>
  edit.isDropped || Object.keys(edit.cells).length > 0 ? edit : undefined;

function changed(edits: RowEdits, step: MendStep, side: 'before' | 'after'): RowEdits {
  const next = new Map(Object.entries(edits));
  for (const row of step) {
    const edit = row[side];
    if (edit) next.set(row.line, edit);
    else next.delete(row.line);
  }
  return Object.fromEntries(next);
}
