import type { ReadDefinition } from '../../../feed-format/format-definition';
import { rowIssue } from '../../../feed-format/rows/row-issues';
import { faultyCells, cellsOfColumns, type CellsOfColumns } from '../../../feed-format/write/faulty-cells';
import { issuesOfRow, mendedReading, type MendedReading } from '../../../feed-format/check/mended-row';
import type { RejectsHead } from '../../../feed-format/write/mended-feed';
import { isWritable } from '../../../feed-format/write/record-text';
import type { RowIssueCode } from '../../../feed-format/issue-codes';
import type { Schemas } from '../api';
import type { RowEdit } from './mending';

/** A skipped row: its line in the feed, its reasons, and its cells, including generated columns. */
export interface RejectedRow {
  line: string;
  codes: string[];
  messages: string;
  cells: string[];
}

/** Why a cell is marked. `open`: only the service knows whether it is right. */
export interface CellReason {
  kind: 'error' | 'warning' | 'open';
  message: string;
}

/** A skipped row with its changes. */
export interface RowState {
  /** `wrong`: it would be skipped, changed or not; `ready`: it was changed, and would be loaded. */
  status: 'ready' | 'wrong' | 'dropped';
  cells: string[];
  /** By column. */
  reasons: ReadonlyMap<number, CellReason[]>;
  /** Reasons that are in no cell. */
  ofRow: string[];
}

/** Texts of what the code of a run has no message for. */
export interface CheckerTexts {
  ignored: string;
  newSku: string;
  unwritable: string;
}

/** Checks skipped rows and their changes, by the code of a run. */
export class RowChecker {
  private readonly columns: CellsOfColumns;
  private readonly reading: MendedReading | undefined;
  private readonly checked = new WeakMap<RowEdit, RowState['status']>();

  constructor(
    private readonly head: RejectsHead,
    private readonly definition: ReadDefinition,
    private readonly mode: Schemas['LoadMode'],
    private readonly texts: CheckerTexts,
  ) {
    this.columns = cellsOfColumns(head.header, definition);
    this.reading = mendedReading(head, definition, mode);
  }

  /** Returns the status of a row's changes, if they were checked. */
  statusOf = (edit: RowEdit): RowState['status'] | undefined =>
    edit.isDropped ? 'dropped' : this.checked.get(edit);

  /** Checks a row with its changes. */
  check(row: RejectedRow, edit: RowEdit | undefined): RowState {
    const state = edit ? this.changedState(row, edit) : this.sentState(row);
    if (edit) this.checked.set(edit, state.status);
    return state;
  }

  /** A row as it was sent has the reasons that its run found, with the marks of its faulty cells. */
  private sentState(row: RejectedRow): RowState {
    const { codes, cells, messages } = row;
    const found = new Reasons();
    const issues = this.issuesOf(cells) ?? [];
    for (const issue of issues)
      if (issue.severity === 'warning' || codes.includes(issue.code)) found.addIssue(issue);
    for (const code of this.codesOfService(row))
      found.add(this.faultyIn(row, [code]), this.messageOf(row, code));
    // Every mark has a reason.
    for (const column of this.faultyIn(row, codes)) if (!found.has(column)) found.add([column], messages);
    if (found.isEmpty) found.ofRow.push(messages);
    return { status: 'wrong', cells: this.completed(cells), ...found };
  }

  private changedState(row: RejectedRow, edit: RowEdit): RowState {
    const cells = this.completed(row.cells).map((cell, column) => edit.cells[column] ?? cell);
    const found = new Reasons();
    const issues = this.issuesOf(cells);
    for (const issue of issues ?? []) found.addIssue(issue);
    if (issues === null) found.ofRow.push(this.texts.ignored);
    for (const [column, value] of Object.entries(edit.cells))
      if (!isWritable(value, { delimiter: this.head.delimiter, quote: this.definition.quote }))
        found.add([Number(column)], this.texts.unwritable);
    this.addOpen(found, row, edit);
    const isWrong = found.hasError || found.ofRow.length > 0;
    return { status: edit.isDropped ? 'dropped' : isWrong ? 'wrong' : 'ready', cells, ...found };
  }

  /** Adds what the service has found in a row: it stays until the cells that it depends on are changed. */
  private addOpen(found: Reasons, row: RejectedRow, edit: RowEdit): void {
    const isChanged = (column: 'sku' | 'product_name') =>
      this.columns[column]?.some((position) => edit.cells[position] !== undefined);
    const [sku] = this.columns.sku ?? [];
    for (const code of this.codesOfService(row)) {
      const isSolved = isChanged('sku') || (code === 'missing_required' && isChanged('product_name'));
      if (!isSolved && (code === 'unknown_sku' || code === 'missing_required'))
        found.add(this.faultyIn(row, [code]), this.messageOf(row, code));
    }
    if (this.mode === 'update' && isChanged('sku') && sku !== undefined && !found.has(sku))
      found.add([sku], this.texts.newSku, 'open');
  }

  private issuesOf(cells: readonly string[]) {
    return this.reading ? issuesOfRow(cells, this.reading) : [];
  }

  /** Codes that a row alone does not explain: they depend on the catalog, or on other rows. */
  private codesOfService({ codes, cells }: RejectedRow): RowIssueCode[] {
    const own = new Set((this.issuesOf(cells) ?? []).map(({ code }) => code as string));
    return codes.filter((code) => !own.has(code)) as RowIssueCode[];
  }

  private messageOf({ codes, messages }: RejectedRow, code: RowIssueCode): string {
    if (codes.length === 1) return messages;
    const field = code === 'missing_required' ? 'product_name' : null;
    return rowIssue({ line: 0, lastLine: 0, row: 0 }, null, { code, field }).message;
  }

  private faultyIn({ cells }: RejectedRow, codes: readonly string[]): number[] {
    const { columns, mode, definition } = this;
    return faultyCells(codes, cells, { width: this.head.header.length, columns, mode, definition });
  }

  /** A row that is too short can be completed; only a row that is too long has cells after the last column. */
  private completed(cells: readonly string[]): string[] {
    const { length: width } = this.head.header;
    return Array.from({ length: Math.max(width, cells.length) }, (_, column) => cells[column] ?? '');
  }
}

/** Collects reasons by cell. */
class Reasons {
  readonly reasons = new Map<number, CellReason[]>();
  readonly ofRow: string[] = [];

  get hasError(): boolean {
    return [...this.reasons.values()].flat().some(({ kind }) => kind === 'error');
  }

  get isEmpty(): boolean {
    return this.ofRow.length === 0 && !this.hasError;
  }

  has(column: number): boolean {
    return this.reasons.has(column);
  }

  add(columns: readonly number[], message: string, kind: CellReason['kind'] = 'error'): void {
    if (columns.length === 0) this.ofRow.push(message);
    for (const column of columns) {
      const known = this.reasons.get(column) ?? [];
      if (known.some((reason) => reason.message === message)) continue;
      this.reasons.set(column, [...known, { kind, message }]);
    }
  }

  addIssue({
    columnNumber,
    message,
    severity,
  }: {
    columnNumber: number | null;
    message: string;
    severity: 'error' | 'warning';
  }): void {
    // A warning about no cell is about the file.
    if (columnNumber === null && severity === 'warning') return;
    this.add(columnNumber === null ? [] : [columnNumber - 1], message, severity);
  }
}
