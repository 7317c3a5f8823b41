import type { ByteWindow } from './byte-window';
import { productColumns, requiredColumns, type ProductColumn } from './columns';
import { withDecimalPoint } from './decimal-comma';
import type { ColumnSource, FormatDefinition } from './format-definition';
import type { Delimiter } from './delimiter';
import type { TextOffsets } from './line-offsets';
import { isUnfilled } from './report-columns';
import { ownText, trimText } from './text';

/** What a record says by position, from 0; undefined where it has fewer fields. */
export interface RecordCells {
  field(position: number): string | undefined;
}

/** Lines before the header row, or before the first row. */
export interface Preamble {
  lines: number;
  /** In UTF-8. */
  bytes: number;
}

type CellReader = (record: RecordCells) => string | undefined;

/** Source of a column, with positions instead of headers. Absent headers are left out. */
type ResolvedSource =
  { positions: readonly number[]; with: string; firstWith: string; hasFirst: boolean } | { value: string };

interface FillDown {
  column: ProductColumn;
  position: number;
  by: number;
}

/** A format whose columns are found in the header of a file. */
export interface ResolvedFormat {
  definition: FormatDefinition;
  delimiter: Delimiter;
  preamble: Preamble;
  /** Whether names precede the rows; rejects of a file without header row have them too. */
  hasHeaderRow: boolean;
  sources: Partial<Record<ProductColumn, ResolvedSource>>;
  fillDown: readonly FillDown[];
  /** Positions of cells of which a row has one at least; none: every record is a row. */
  ignoredWithout: readonly number[];
}

/** Resolves headers to positions. `positionOf` returns undefined where the file has no such header. */
export function resolveFormat(
  definition: FormatDefinition,
  place: Pick<ResolvedFormat, 'delimiter' | 'preamble' | 'hasHeaderRow'>,
  positionOf: (header: string) => number | undefined,
): ResolvedFormat {
  const positionsOf = (headers: readonly string[]) =>
    headers.map(positionOf).filter((position) => position !== undefined);
  const sources: ResolvedFormat['sources'] = {};
  for (const [column, source] of Object.entries(definition.columns) as [ProductColumn, ColumnSource][]) {
    const resolved = resolveSource(source, positionsOf);
    if (resolved && !isHeadless(resolved, column, definition)) sources[column] = resolved;
  }
  const fillDown = (definition.fill_down ?? []).flatMap(({ column, by }) => {
    const source = sources[column];
    const position = source && 'positions' in source && source.hasFirst ? source.positions[0] : undefined;
    const [byPosition] = positionsOf([by]);
    return position === undefined || byPosition === undefined ? [] : [{ column, position, by: byPosition }];
  });
  return {
    ...place,
    definition,
    sources,
    fillDown,
    ignoredWithout: positionsOf(definition.ignore_rows_without ?? []),
  };
}

function resolveSource(
  { from, join, with: between = '', first_with: afterFirst = between, value, position }: ColumnSource,
  positionsOf: (headers: readonly string[]) => number[],
): ResolvedSource | undefined {
  if (value !== undefined) return { value };
  const headers = headersOf({ from, join, position });
  const positions = positionsOf(headers);
  if (positions.length === 0) return undefined;
  if (!join) return { positions: positions.slice(0, 1), with: '', firstWith: '', hasFirst: true };
  const hasFirst = positionsOf(join.slice(0, 1)).length > 0;
  return { positions, with: between, firstWith: afterFirst, hasFirst };
}

/** Lists the headers of a source; a position counts as one. */
export const headersOf = ({ from, join, position }: ColumnSource): string[] =>
  join ?? from ?? (position === undefined ? [] : [String(position)]);

/** Columns that a product cannot be loaded without. */
const isRequired = (column: ProductColumn) => requiredColumns.includes(column);

/** Whether the first text of a join is filled down, and the rest of it alone is no name or sku. */
export const needsFirst = (column: ProductColumn, { columns, fill_down = [] }: FormatDefinition) =>
  isRequired(column) &&
  columns[column]?.join !== undefined &&
  fill_down.some((rule) => rule.column === column);

/** Tells a join that the file has only the rest of, which cannot be its name or sku. */
const isHeadless = (source: ResolvedSource, column: ProductColumn, definition: FormatDefinition) =>
  'positions' in source && !source.hasFirst && needsFirst(column, definition);

/** Reads the records of one file by its format. It keeps what is filled down, so that records must come in their order. */
export class FormatReading {
  /** Product columns that the file has. */
  readonly columns: ReadonlySet<ProductColumn>;
  /** Positions of the cells that are read, ascending. */
  readonly positions: readonly number[];
  /** Position of the first cell of each column. */
  readonly firstPositions: Partial<Record<ProductColumn, number>> = {};
  /** Offsets of the records in the unpacked file; set by the decoder. */
  offsets: TextOffsets | undefined;
  /** The last bytes of the unpacked file, if they are kept. */
  window: ByteWindow | undefined;
  private readonly cells: Partial<Record<ProductColumn, CellReader>> = {};
  private readonly nullWords: ReadonlySet<string>;
  private readonly groups: FilledGroup[];
  private readonly fills: FilledCell[];

  /** @param codes - position of the codes, in a file of rejects */
  constructor(
    readonly format: ResolvedFormat,
    private readonly codes?: number,
  ) {
    const { definition, sources, fillDown, ignoredWithout } = format;
    this.nullWords = new Set((definition.null_values ?? []).map(trimText));
    this.groups = [...new Set(fillDown.map(({ by }) => by))].map((by) => {
      const rules = fillDown.filter((rule) => rule.by === by);
      return new FilledGroup(by, rules, this.cellAt);
    });
    this.fills = this.groups.flatMap(({ cells }) => cells);
    const used = new Set([...ignoredWithout, ...this.groups.map(({ by }) => by)]);
    if (codes !== undefined) used.add(codes);
    for (const [column, source] of Object.entries(sources) as [ProductColumn, ResolvedSource][]) {
      this.cells[column] = this.converted(column, this.readerOf(column, source));
      if (!('positions' in source)) continue;
      this.firstPositions[column] = source.positions[0]!;
      for (const position of source.positions) used.add(position);
    }
    this.columns = new Set(Object.keys(sources) as ProductColumn[]);
    this.positions = [...used].sort((a, b) => a - b);
  }

  /** Whether a record depends on those above it, so that an equal record may have other values. */
  get fillsDown(): boolean {
    return this.fills.length > 0;
  }

  /** Whether `begin` is needed: it fills down, or tells what is no row. */
  get dependsOnRecords(): boolean {
    return this.fillsDown || this.format.ignoredWithout.length > 0;
  }

  /** Whether every column has our name in the file too. */
  get hasOurNames(): boolean {
    const sources = Object.entries(this.format.definition.columns);
    return sources.every(([column, { from }]) => from?.some((header) => comparable(header) === column));
  }

  /** Whether prices have a decimal comma. */
  get hasDecimalComma(): boolean {
    return this.format.definition.decimal_separator === ',';
  }

  /** What determines the values of a record, besides the record: for its digest. */
  get rules(): unknown[] {
    const { definition, sources } = this.format;
    return [definition, sources];
  }

  /**
   * Begins a record that can be split into cells. In a file of rejects, no record is filled from the one above it, which another
   * one preceded.
   * @returns whether it is a row
   */
  begin(record: RecordCells): boolean {
    for (const group of this.groups) {
      if (this.codes !== undefined) group.end(isUnfilled(record.field(this.codes) ?? ''));
      group.begin(record);
    }
    const { ignoredWithout } = this.format;
    if (ignoredWithout.length === 0) return true;
    return ignoredWithout.some((position) => trimText(this.cellAt(record, position) ?? '') !== '');
  }

  /** Begins a record that cannot be split. @param fields - those that `filledWidth` counts; none if they are unknown */
  beginUnsplit(fields: readonly string[]): void {
    const known = this.codes === undefined ? fields : [];
    for (const group of this.groups) group.beginUnsplit(known);
  }

  /** Number of first fields that tell whether a record belongs to the one above it. */
  get filledWidth(): number {
    return Math.max(0, ...this.groups.map(({ last }) => last + 1));
  }

  /** Lists the columns that the current record does not have because the beginning of its group is unknown. */
  get missing(): ProductColumn[] {
    if (!this.fills.some(({ isMissing }) => isMissing)) return [];
    return productColumns.filter((name) =>
      this.fills.some(({ column, isMissing }) => isMissing && column === name),
    );
  }

  /** Lists the cells of the current record that took the value above them. */
  filledCells(): { position: number; text: string }[] {
    return this.fills.flatMap(({ position, current, isFilled }) =>
      isFilled ? [{ position, text: current! }] : [],
    );
  }

  /** Returns the text of a column, for its cleaning; undefined where the record has none. */
  cell(record: RecordCells, column: ProductColumn): string | undefined {
    return this.cells[column]?.(record);
  }

  /**
   * Lists the texts that may be the sku of a record with too many fields, in which a delimiter within a cell may have shifted it.
   * @returns undefined if it cannot be told
   */
  shiftedSkus(record: RecordCells, excess: number): (string | undefined)[] | undefined {
    const source = this.format.sources.sku;
    const isFilled = this.fills.some(({ column }) => column === 'sku');
    if (!source || !('positions' in source) || source.positions.length > 1 || isFilled) return undefined;
    const [first] = source.positions as [number];
    return Array.from({ length: excess + 1 }, (_, shift) => this.cellAt(record, first + shift));
  }

  /** Returns a cell; an empty text for a word that means nothing. */
  private readonly cellAt = (record: RecordCells, position: number): string | undefined => {
    const text = record.field(position);
    return text !== undefined && this.nullWords.size > 0 && this.nullWords.has(trimText(text)) ? '' : text;
  };

  private readerOf(column: ProductColumn, source: ResolvedSource): CellReader {
    if (!('positions' in source)) return () => source.value;
    const { positions, with: between, firstWith, hasFirst } = source;
    const fill = this.fills.find((each) => each.column === column);
    const [first] = positions as [number];
    const firstCell: CellReader = fill
      ? () => fill.current
      : this.nullWords.size > 0
        ? (record) => this.cellAt(record, first)
        : (record) => record.field(first);
    if (positions.length === 1) return firstCell;
    const isHeadNeeded = needsFirst(column, this.format.definition);
    return (record) => {
      const rest = positions.slice(1).map((position) => this.cellAt(record, position));
      const [head = '', ...others] = [firstCell(record), ...rest].map((text) => trimText(text ?? ''));
      if (isHeadNeeded && head === '') return '';
      const joined = others.filter((text) => text !== '').join(between);
      return head === '' || joined === '' ? head + joined : head + (hasFirst ? firstWith : between) + joined;
    };
  }

  /** Adds what the definition says about the texts of a column. */
  private converted(column: ProductColumn, read: CellReader): CellReader {
    const { availability } = this.format.definition;
    if (column === 'price' && this.hasDecimalComma) {
      return (record) => {
        const text = read(record);
        return text === undefined ? undefined : withDecimalPoint(trimText(text));
      };
    }
    if (column !== 'availability' || !availability) return read;
    const words = new Map(Object.entries(availability).map(([theirs, ours]) => [comparable(theirs), ours]));
    return (record) => {
      const text = read(record);
      return text === undefined ? undefined : (words.get(comparable(text)) ?? text);
    };
  }
}

/** A text as headers and words are compared. */
export const comparable = (text: string) => trimText(text).toLowerCase();

/** Cells that take the last value above them while another cell, `by`, stays the same. */
class FilledGroup {
  readonly cells: readonly FilledCell[];
  private readonly required: readonly FilledCell[];
  /** Positions of the first and the last cell of the rule. */
  private readonly first: number;
  readonly last: number;
  /** Value of `by`; empty for a record that belongs to no group. */
  private value = '';
  /** Whether the next record begins a group in any case. */
  private isEnded = false;
  /** Whether that group may have begun in a record that is unknown. */
  private isLost = false;
  /** Whether the current group has no name or sku, or its beginning is unknown. */
  private isIncomplete = false;

  constructor(
    readonly by: number,
    rules: readonly FillDown[],
    private readonly cellAt: (record: RecordCells, position: number) => string | undefined,
  ) {
    this.cells = rules.map(({ column, position }) => new FilledCell(column, position));
    this.required = this.cells.filter(({ column }) => isRequired(column));
    const positions = [by, ...this.cells.map(({ position }) => position)];
    this.first = Math.min(...positions);
    this.last = Math.max(...positions);
  }

  /** Ends the group. @param isLost - whether the next one may have begun in a record that is unknown */
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
   * Begins a record that cannot be split. It belongs to the group if all cells up to the last one that is filled down say so:
   * no other cell than an empty one is certain to be in its place. Any other record may begin a group.
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

/** A cell that is filled down. */
class FilledCell {
  /** Text in the current record. */
  current: string | undefined;
  /** Whether it is from a record above. */
  isFilled = false;
  /** Whether it is empty because the beginning of the group is unknown. */
  isMissing = false;
  /** The last text in the group. */
  last: string | undefined;

  constructor(
    readonly column: ProductColumn,
    readonly position: number,
  ) {}

  /** Takes the text of a record. @param isInGroup - whether an empty one is filled from above */
  take(text: string | undefined, isInGroup: boolean): void {
    const isEmpty = trimText(text ?? '') === '';
    this.isFilled = isEmpty && isInGroup && this.last !== undefined;
    this.current = this.isFilled ? this.last : text;
    this.isMissing = false;
    if (!isEmpty && isInGroup) this.last = ownText(text!);
  }
}
