import { comparable } from '../text';
import { groupsOf, type CellAt, type FilledCell, type FilledGroup, type RecordCells } from './fill-down';

/** A condition of a format, with positions instead of headers. */
export interface RowCondition {
  position: number;
  /** Position of the cell that names the group in which the value is filled down; undefined: it is not. */
  by: number | undefined;
  /** In lower case; an empty text is the empty cell. */
  values: readonly string[];
}

/** Tells the rows of a file from other records, by the values of some cells. */
export class RowConditions {
  /** Groups in which values are filled down; the reading of the format begins their records. */
  readonly groups: readonly FilledGroup[];
  readonly positions: readonly number[];
  /** Position of a cell of the current record whose value is unknown; undefined: none. */
  undecided: number | undefined;
  private readonly conditions: readonly (RowCondition & { filled: FilledCell | undefined })[];

  constructor(
    conditions: readonly RowCondition[],
    private readonly cellAt: CellAt,
  ) {
    this.positions = conditions.map(({ position }) => position);
    const rules = conditions.flatMap(({ position, by }) =>
      by === undefined ? [] : [{ column: null, position, by }],
    );
    this.groups = groupsOf(rules, cellAt);
    this.conditions = conditions.map((condition) => {
      const cells = this.groups.find(({ by }) => by === condition.by)?.cells;
      return { ...condition, filled: cells?.find(({ position }) => position === condition.position) };
    });
  }

  /** Begins a record that its groups have begun. @returns whether it meets all conditions, or one is undecided */
  begin(record: RecordCells): boolean {
    this.undecided = undefined;
    for (const { position, values, filled } of this.conditions) {
      if (filled?.isMissing) {
        this.undecided ??= position;
        continue;
      }
      const text = filled ? filled.current : this.cellAt(record, position);
      if (!values.includes(comparable(text ?? ''))) return false;
    }
    return true;
  }
}
