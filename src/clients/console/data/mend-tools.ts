import { withCell, type MendStep, type RowEdit, type RowEdits } from './mending';
import type { Rejects } from './rejects';
import type { RejectedRow, RowChecker, RowState } from './row-checker';

/** What is replaced in a column: its marked cells, cells of one value, or a text within cells. */
export type ReplaceKind = 'marked' | 'equal' | 'part';

export interface Replacement {
  column: number;
  kind: ReplaceKind;
  /** The value or text to find; not for marked cells. */
  find: string;
  value: string;
}

/** Skipped rows, how they are checked, and their changes. */
export interface MendedRows {
  rejects: Rejects;
  checker: RowChecker;
  edits: RowEdits;
}

/** Tells whether a cell is marked, as it would skip the row. */
export const isMarked = ({ reasons }: Pick<RowState, 'reasons'>, column: number): boolean =>
  reasons.get(column)?.some(({ kind }) => kind === 'error') ?? false;

/** Returns the new value of a cell; undefined: it stays. */
export function replaced(state: RowState, { column, kind, find, value }: Replacement): string | undefined {
  const cell = state.cells[column];
  if (cell === undefined) return undefined;
  if (kind === 'marked') return isMarked(state, column) ? value : undefined;
  if (kind === 'equal') return cell === find ? value : undefined;
  return find !== '' && cell.includes(find) ? cell.replaceAll(find, value) : undefined;
}

/** Makes the step that replaces in a column of the rows at these places, except those that are left out. */
export async function stepOfReplace(
  rows: MendedRows,
  places: readonly number[],
  replacement: Replacement,
): Promise<MendStep> {
  const { rejects, checker, edits } = rows;
  const step: MendStep[number][] = [];
  for await (const row of rejects.read(places)) {
    const before = edits[row.line];
    if (before?.isDropped) continue;
    const value = replaced(checker.check(row, before), replacement);
    if (value !== undefined) step.push(...cellStep(row, before, replacement.column, value));
  }
  return step;
}

/** Makes the step that changes a cell; an empty one if the cell has this value. */
export function cellStep(
  { line, cells }: RejectedRow,
  before: RowEdit | undefined,
  column: number,
  value: string,
): MendStep {
  const original = cells[column] ?? '';
  if ((before?.cells[column] ?? original) === value) return [];
  return [{ line, before, after: withCell(before, column, value, original) }];
}

/** The changed rows by what a run would do with them. */
export interface Tally {
  /** They would be loaded. */
  ready: RowEdits;
  wrong: number;
  dropped: number;
}

/** Checks the changed rows; reads only those that were not checked before. */
export async function tallyOf({ rejects, checker, edits }: MendedRows): Promise<Tally> {
  const unknown = Object.fromEntries(
    Object.entries(edits).filter(([, edit]) => checker.statusOf(edit) === undefined),
  );
  for await (const row of rejects.readChanged(unknown)) checker.check(row, unknown[row.line]);
  const statuses = Object.entries(edits).map(([line, edit]) => ({
    line,
    edit,
    status: checker.statusOf(edit),
  }));
  const count = (wanted: RowState['status']) => statuses.filter(({ status }) => status === wanted).length;
  const ready = statuses.filter(({ status }) => status === 'ready').map(({ line, edit }) => [line, edit]);
  return { ready: Object.fromEntries(ready) as RowEdits, wrong: count('wrong'), dropped: count('dropped') };
}
