import type { ByteWindow } from './byte-window';
import type { ProductColumn } from './columns';
import { withDecimalPoint } from './decimal-comma';
import type { ColumnSource, FormatDefinition } from './format-definition';
import type { Delimiter } from './delimiter';
import type { TextOffsets } from './line-offsets';
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

/** A format whose columns are found in the header of a file. */
export interface ResolvedFormat {
  definition: FormatDefinition;
  delimiter: Delimiter;
  preamble: Preamble;
  sources: Partial<Record<ProductColumn, ResolvedSource>>;
  fillDown: readonly { column: ProductColumn; position: number; by: number }[];
  /** Positions of cells of which a row has one at least; none: every record is a row. */
  ignoredWithout: readonly number[];
}

/** Resolves headers to positions. `positionOf` returns undefined where the file has no such header. */
export function resolveFormat(
  definition: FormatDefinition,
  place: Pick<ResolvedFormat, 'delimiter' | 'preamble'>,
  positionOf: (header: string) => number | undefined,
): ResolvedFormat {
  const positionsOf = (headers: readonly string[]) =>
    headers.map(positionOf).filter((position) => position !== undefined);
  const sources: ResolvedFormat['sources'] = {};
  for (const [column, source] of Object.entries(definition.columns) as [ProductColumn, ColumnSource][]) {
    const resolved = resolveSource(source, positionsOf);
    if (resolved) sources[column] = resolved;
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
  const single = { with: '', firstWith: '', hasFirst: true };
  if (position !== undefined) return { positions: [position - 1], ...single };
  const positions = positionsOf(join ?? from ?? []);
  if (positions.length === 0) return undefined;
  if (!join) return { positions: positions.slice(0, 1), ...single };
  const hasFirst = positionsOf(join.slice(0, 1)).length > 0;
  return { positions, with: between, firstWith: afterFirst, hasFirst };
}

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
  private readonly fills: FilledCell[];

  constructor(readonly format: ResolvedFormat) {
    const { definition, sources, fillDown, ignoredWithout } = format;
    this.nullWords = new Set((definition.null_values ?? []).map(trimText));
    this.fills = fillDown.map((each) => new FilledCell(each, this.cellAt));
    const used = new Set([...ignoredWithout, ...fillDown.map(({ by }) => by)]);
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

  /** Begins a record that can be split into cells. @returns whether it is a row */
  begin(record: RecordCells): boolean {
    for (const fill of this.fills) fill.begin(record);
    const { ignoredWithout } = this.format;
    if (ignoredWithout.length === 0) return true;
    return ignoredWithout.some((position) => trimText(this.cellAt(record, position) ?? '') !== '');
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
    return (record) => {
      const rest = positions.slice(1).map((position) => this.cellAt(record, position));
      const [head = '', ...others] = [firstCell(record), ...rest].map((text) => trimText(text ?? ''));
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

/** A cell that takes the last value above it while another cell stays the same. */
class FilledCell {
  readonly column: ProductColumn;
  readonly position: number;
  /** Text in the current record. */
  current: string | undefined;
  /** Whether it is from a record above. */
  isFilled = false;
  private by = '';
  private last: string | undefined;

  constructor(
    private readonly at: { column: ProductColumn; position: number; by: number },
    private readonly cellAt: (record: RecordCells, position: number) => string | undefined,
  ) {
    this.column = at.column;
    this.position = at.position;
  }

  begin(record: RecordCells): void {
    const by = trimText(this.cellAt(record, this.at.by) ?? '');
    this.current = this.cellAt(record, this.at.position);
    const isEmpty = trimText(this.current ?? '') === '';
    if (by === '' || by !== this.by) {
      this.by = ownText(by);
      this.last = undefined;
    }
    this.isFilled = isEmpty && by !== '' && this.last !== undefined;
    if (this.isFilled) this.current = this.last;
    else if (!isEmpty && by !== '') this.last = ownText(this.current!);
  }
}
