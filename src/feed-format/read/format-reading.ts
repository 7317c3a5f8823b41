import { productColumns, requiredColumns, type ProductColumn } from '../columns';
import { withDecimalPoint } from '../decimal-comma';
import { FilledGroup, type FilledCell, type FillDown, type RecordCells } from './fill-down';
import type { ColumnSource, FormatDefinition, ReadDefinition } from '../format-definition';
import type { Delimiter } from '../delimiter';
import { isUnfilled } from '../report-columns';
import { trimText } from '../text';

/** Lines before the header row, or before the first row. */
export interface Preamble {
  lines: number;
  /** In UTF-8. */
  bytes: number;
}

type CellReader = (record: RecordCells) => string | undefined;

/** Source of a column, with positions instead of headers, without absent headers. */
type ResolvedSource =
  { positions: readonly number[]; with: string; firstWith: string; hasFirst: boolean } | { value: string };

/** A format whose columns are found in the header of a file. */
export interface ResolvedFormat {
  definition: ReadDefinition;
  delimiter: Delimiter;
  preamble: Preamble;
  /** Whether names precede the rows; rejects of a file without header row have them too. */
  hasHeaderRow: boolean;
  sources: Partial<Record<ProductColumn, ResolvedSource>>;
  fillDown: readonly FillDown[];
  /** Positions of cells; a row has at least one of them. None: every record is a row. */
  ignoredWithout: readonly number[];
}

/** Resolves headers to positions. `positionOf` returns undefined if the file has no such header. */
export function resolveFormat(
  definition: ReadDefinition,
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

/** Whether every column is also read by its own name. */
export const hasOurNames = ({ columns }: FormatDefinition) =>
  Object.entries(columns).every(([column, { from }]) =>
    from?.some((header) => comparable(header) === column),
  );

/** Whether the first text of a join is filled down, and the rest alone is no name or sku. */
export const needsFirst = (column: ProductColumn, { columns, fill_down = [] }: FormatDefinition) =>
  requiredColumns.includes(column) &&
  columns[column]?.join !== undefined &&
  fill_down.some((rule) => rule.column === column);

/** Tells whether a join lacks its first header in the file, so that it cannot be its name or sku. */
const isHeadless = (source: ResolvedSource, column: ProductColumn, definition: FormatDefinition) =>
  'positions' in source && !source.hasFirst && needsFirst(column, definition);

/** Whether values are read by the specification: without a format, or by `standard`, under any name. */
export const isAsSpecified = (definition: ReadDefinition) =>
  definition.strict === true ||
  (Object.keys(definition).length === 1 &&
    productColumns.every((name) => {
      const { from, ...more } = definition.columns[name] ?? {};
      return from?.length === 1 && from[0] === name && Object.keys(more).length === 0;
    }));

const noColumns: readonly ProductColumn[] = [];

/** Reads the records of one file by its format. It keeps values that are filled down: records must come in their order. */
export class FormatReading {
  /** Product columns that the file has. */
  readonly columns: ReadonlySet<ProductColumn>;
  /** Positions of the cells that are read, ascending. */
  readonly positions: readonly number[];
  /** Position of the first cell of each column. */
  readonly firstPositions: Partial<Record<ProductColumn, number>> = {};
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

  /** Whether the file is read without a format, by the specification. */
  get isStrict(): boolean {
    return this.format.definition.strict === true;
  }

  /** Whether a record depends on previous ones: an equal record may have other values. */
  get fillsDown(): boolean {
    return this.fills.length > 0;
  }

  /** Whether `begin` is needed: it fills down, or recognizes records that are no rows. */
  get dependsOnRecords(): boolean {
    return this.fillsDown || this.format.ignoredWithout.length > 0;
  }

  /** Whether prices have a decimal comma. */
  get hasDecimalComma(): boolean {
    return this.format.definition.decimal_separator === ',';
  }

  /** Rules that determine the values of a record, besides the record: for its digest. */
  get rules(): unknown[] {
    const { definition, sources } = this.format;
    return [definition, sources];
  }

  /**
   * Begins a record that can be split into cells. In a file of rejects, no record is filled from the previous one, which did not
   * precede it in the feed.
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

  /** Begins a record that cannot be split. @param fields - the first `filledWidth` fields; none if they are unknown */
  beginUnsplit(fields: readonly string[]): void {
    const known = this.codes === undefined ? fields : [];
    for (const group of this.groups) group.beginUnsplit(known);
  }

  /** Number of first fields that show whether a record belongs to the previous one. */
  get filledWidth(): number {
    return Math.max(0, ...this.groups.map(({ last }) => last + 1));
  }

  /** Lists the unknown columns of the current record: the beginning of its group is unknown. */
  get missing(): readonly ProductColumn[] {
    if (!this.fills.some(({ isMissing }) => isMissing)) return noColumns;
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

  /** Returns the text of a column, for its cleaning; undefined if the record has none. */
  cell(record: RecordCells, column: ProductColumn): string | undefined {
    return this.cells[column]?.(record);
  }

  /**
   * Lists the texts that may be the sku of a record with too many fields: an unquoted delimiter may have shifted it.
   * @returns undefined if it cannot be found
   */
  shiftedSkus(record: RecordCells, excess: number): (string | undefined)[] | undefined {
    const source = this.format.sources.sku;
    const isFilled = this.fills.some(({ column }) => column === 'sku');
    if (!source || !('positions' in source) || source.positions.length > 1 || isFilled) return undefined;
    const [first] = source.positions as [number];
    return Array.from({ length: excess + 1 }, (_, shift) => this.cellAt(record, first + shift));
  }

  /** Returns a cell; an empty text for a null word. */
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

  /** Adds the definition's conversions of the texts of a column. */
  private converted(column: ProductColumn, read: CellReader): CellReader {
    const { availability } = this.format.definition;
    if (column === 'price' && this.hasDecimalComma) {
      return (record) => {
        const text = read(record);
        return text === undefined ? undefined : withDecimalPoint(trimText(text));
      };
    }
    if (column !== 'availability' || !availability) return read;
    const words = new Map(
      Object.entries(availability).map(([partnerWord, standard]) => [comparable(partnerWord), standard]),
    );
    return (record) => {
      const text = read(record);
      return text === undefined ? undefined : (words.get(comparable(text)) ?? text);
    };
  }
}

/** Normalizes a text to compare headers and words. */
export const comparable = (text: string) => trimText(text).toLowerCase();
