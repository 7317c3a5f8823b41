import { requiredColumns, type ProductColumn } from '../columns';
import { ownText, trimText } from '../text';

/** Cells of a record by position, from 0; undefined if it has fewer fields. */
export interface RecordCells {
  field(position: number): string | undefined;
}

/** A rule of a format, with positions instead of headers. */
export interface FillDown {
  /** Null: the cell of a condition. */
  column: ProductColumn | null;
  position: number;
  by: number;
}

/** Returns the text of a cell; undefined if the record has fewer fields. */
export type CellAt = (record: RecordCells, position: number) => string | undefined;

/** Keeps the first of the rules with the same key: the others are for files with other headers. */
export function firstByKey<Rule>(rules: readonly Rule[], keyOf: (rule: Rule) => unknown): Rule[] {
  const keys = rules.map(keyOf);
  return rules.filter((_, at) => keys.indexOf(keys[at]) === at);
}

/** Makes the groups of rules: one for each `by`. */
export function groupsOf(rules: readonly FillDown[], cellAt: CellAt): FilledGroup[] {
  return [...new Set(rules.map(({ by }) => by))].map((by) => {
    const ofGroup = rules.filter((rule) => rule.by === by);
    return new FilledGroup(by, ofGroup, cellAt);
  });
}

/** Cells that take the last value above them while another cell, `by`, stays the same. */
export class FilledGroup {
  readonly cells: readonly FilledCell[];
  private readonly required: readonly FilledCell[];
  /** Positions of the first and the last cell of the rule. */
  private readonly first: number;
  readonly last: number;
  /** Value of `by`; empty for a record that belongs to no group. */
  private value = '';
  /** Whether the next record always begins a group. */
  private isEnded = false;
  /** Whether that group may have begun in an unknown record. */
  private isLost = false;
  /** Whether the current group has no name or sku, or its beginning is unknown. */
  private isIncomplete = false;

  constructor(
    readonly by: number,
    rules: readonly FillDown[],
    private readonly cellAt: CellAt,
  ) {
    this.cells = rules.map(({ column, position }) => new FilledCell(column, position));
    this.required = this.cells.filter(({ column }) => column && requiredColumns.includes(column));
    const positions = [by, ...this.cells.map(({ position }) => position)];
    this.first = Math.min(...positions);
    this.last = Math.max(...positions);
  }

  /** Ends the group. @param isLost - whether the next one may have begun in an unknown record */
  end(isLost: boolean): void {
    this.isEnded = true;
    this.isLost = isLost;
  }

  begin(record: RecordCells): void {
    const value = trimText(this.cellAt(record, this.by) ?? '');
    if (value === '' || value !== this.value || this.isEnded) {
      this.value = ownText(value);
      this.isIncomplete = this.isLost && value !== '';
      for (const cell of this.cells) cell.last = undefined;
    }
    this.isEnded = false;
    this.isLost = false;
    for (const cell of this.cells) cell.take(this.cellAt(record, cell.position), value !== '');
    if (value !== '' && this.required.length > 0)
      this.isIncomplete = this.required.some(({ last }) => last === undefined);
    for (const cell of this.cells) cell.isMissing = this.isIncomplete && cell.last === undefined;
  }

  /**
   * Begins a record that cannot be split. It belongs to the group if all cells up to the last one that is filled down agree: only an
   * empty cell is certain to be in its place. Any other record may begin a group.
   */
  beginUnsplit(fields: readonly string[]): void {
    const record = { field: (position: number) => fields[position] };
    const isMember = (position: number) =>
      trimText(this.cellAt(record, position) ?? '') === (position === this.by ? this.value : '');
    let position = this.last;
    while (position >= this.first && isMember(position)) position--;
    const isKnown = this.value !== '' && !this.isEnded && fields.length > this.last && position < this.first;
    if (!isKnown) this.end(true);
    for (const cell of this.cells) cell.take(undefined, isKnown);
  }
}

export class FilledCell {
  /** Text in the current record. */
  current: string | undefined;
  /** Whether it is from a record above. */
  isFilled = false;
  /** Whether it is empty because the beginning of the group is unknown. */
  isMissing = false;
  /** The last text in the group. */
  last: string | undefined;

  constructor(
    readonly column: ProductColumn | null,
    readonly position: number,
  ) {}

  /** Takes the text of a record. @param isInGroup - whether an empty text is filled from above */
  take(text: string | undefined, isInGroup: boolean): void {
    const isEmpty = trimText(text ?? '') === '';
    this.isFilled = isEmpty && isInGroup && this.last !== undefined;
    this.current = this.isFilled ? this.last : text;
    this.isMissing = false;
    if (!isEmpty && isInGroup) this.last = ownText(text!);
  }
}
