import { productColumns, type ProductColumn } from '../columns';
import { currencyOfSign } from '../currency-signs';
import { cellTextOf, type CellText } from './cell-text';
import { availabilityConverter } from './convert-availability';
import { groupsOf, type FilledCell, type FilledGroup, type RecordCells } from './fill-down';
import { isAsSpecified } from '../format-definition';
import { isUnfilled } from '../report-columns';
import { parsePrice, type ParsedPrice, type PriceNotation } from '../parse-price';
import { comparable, trimText } from '../text';
import { withTextMarks } from '../text-marks';
import { syntaxOf, type RecordSyntax } from './record-syntax';
import { needsFirst, type ResolvedFormat, type ResolvedSource } from './resolve-format';
import { RowConditions } from './row-conditions';

type CellReader = (record: RecordCells) => string | undefined;

const noColumns: readonly ProductColumn[] = [];

/** Reads the records of one file by its format. It keeps values that are filled down: records must come in their order. */
export class FormatReading {
  /** Product columns that the file has. */
  readonly columns: ReadonlySet<ProductColumn>;
  /** Positions of the cells that are read, ascending. */
  readonly positions: readonly number[];
  /** Position of the first cell of each column. */
  readonly firstPositions: Partial<Record<ProductColumn, number>> = {};
  /** Columns of the file whose empty cells keep the stored values. */
  readonly keptColumns: readonly ProductColumn[];
  /** How prices are written. */
  readonly priceNotation: PriceNotation;
  private readonly cells: Partial<Record<ProductColumn, CellReader>> = {};
  private readonly cellText: CellText | undefined;
  private readonly skuPositions: readonly number[];
  private readonly groups: FilledGroup[];
  private readonly fills: FilledCell[];
  private readonly conditions: RowConditions;
  /** How the records are split. */
  readonly syntax: RecordSyntax;

  /** @param codes - position of the codes, in a file of rejects */
  constructor(
    readonly format: ResolvedFormat,
    private readonly codes?: number,
  ) {
    const { definition, sources, fillDown, ignoredWithout } = format;
    this.priceNotation = {
      hasDecimalComma: definition.decimal_separator === ',',
      hasSigns: !isAsSpecified(definition),
    };
    this.syntax = syntaxOf(definition);
    this.cellText = cellTextOf(definition);
    this.skuPositions = sources.sku && 'positions' in sources.sku ? sources.sku.positions : [];
    this.conditions = new RowConditions(format.conditions, this.cellAt);
    this.groups = [...groupsOf(fillDown, this.cellAt), ...this.conditions.groups];
    this.fills = this.groups.flatMap(({ cells }) => cells);
    const used = new Set([
      ...ignoredWithout,
      ...this.groups.map(({ by }) => by),
      ...this.conditions.positions,
    ]);
    if (codes !== undefined) used.add(codes);
    for (const [column, source] of Object.entries(sources) as [ProductColumn, ResolvedSource][]) {
      this.cells[column] = this.converted(column, this.readerOf(column, source));
      if (!('positions' in source)) continue;
      this.firstPositions[column] = source.positions[0]!;
      for (const position of source.positions) used.add(position);
      for (const { position } of source.unless ?? []) used.add(position);
    }
    this.columns = new Set(Object.keys(sources) as ProductColumn[]);
    this.keptColumns = (definition.keep_when_empty ?? []).filter((column) => this.columns.has(column));
    this.positions = [...used].sort((a, b) => a - b);
  }

  /** Whether the file is read without a format, by the specification. */
  get isStrict(): boolean {
    return this.syntax === 'strict';
  }

  /** Whether a record of empty cells is no row. */
  get ignoresEmptyRows(): boolean {
    return this.syntax === 'padded' || this.syntax === 'unquoted';
  }

  /** Whether a record depends on previous ones: an equal record may have other values. */
  get fillsDown(): boolean {
    return this.fills.length > 0;
  }

  /** Whether `begin` is needed: it fills down, or recognizes records that are no rows. */
  get dependsOnRecords(): boolean {
    return this.fillsDown || this.format.ignoredWithout.length > 0 || this.conditions.positions.length > 0;
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
    if (!this.conditions.begin(record)) return false;
    const { ignoredWithout } = this.format;
    if (ignoredWithout.length === 0) return true;
    return ignoredWithout.some((position) => !this.isEmpty(record, position));
  }

  /** Tells whether a cell is empty, or has a null word. */
  isEmpty(record: RecordCells, position: number): boolean {
    return trimText(this.cellAt(record, position) ?? '') === '';
  }

  /** Position of a cell that decides whether the current record is a row, but whose value is unknown; undefined: none. */
  get undecided(): number | undefined {
    return this.conditions.undecided;
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

  /** Lists the cells of the current record that took the value above them, as they are written in the file. */
  filledCells(): { position: number; text: string }[] {
    return this.fills.flatMap(({ position, current, isFilled }) =>
      isFilled ? [{ position, text: this.written(current!, position) }] : [],
    );
  }

  /** Returns a text as it is written in a cell, with the marks of the format. */
  written(text: string, position: number): string {
    const { text_marks } = this.format.definition;
    return text_marks === undefined ? text : withTextMarks(text, this.skuPositions.includes(position));
  }

  /** Returns the text of a column, for its cleaning; undefined if the record has none. */
  cell(record: RecordCells, column: ProductColumn): string | undefined {
    return this.cells[column]?.(record);
  }

  /** Parses a trimmed price. With `currency_from_sign`, a sign that names one currency counts like its code. */
  price(text: string): ParsedPrice | undefined {
    const price = parsePrice(text, this.priceNotation);
    const { sign, currency } = price ?? {};
    if (!price || !this.format.definition.currency_from_sign || !sign || currency) return price;
    return { ...price, currency: currencyOfSign(sign) };
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
    return Array.from({ length: excess + 1 }, (_, shift) => this.cellAt(record, first + shift, true));
  }

  /** Returns the text of a cell, without marks; an empty text for a null word. */
  readonly cellAt = (
    record: RecordCells,
    position: number,
    isSku = this.skuPositions.includes(position),
  ): string | undefined => {
    const text = record.field(position);
    return text === undefined || this.cellText === undefined ? text : this.cellText(text, isSku);
  };

  private readerOf(column: ProductColumn, source: ResolvedSource): CellReader {
    if (!('positions' in source)) return () => source.value;
    const { positions, with: between, firstWith, hasFirst, unless = [] } = source;
    const fill = this.fills.find((each) => each.column === column);
    const [first] = positions as [number];
    const firstCell: CellReader = fill
      ? () => fill.current
      : this.cellText
        ? (record) => this.cellAt(record, first)
        : (record) => record.field(first);
    if (unless.length > 0) {
      const holds = (record: RecordCells) =>
        unless.some(({ position, values }) =>
          values.includes(comparable(this.cellAt(record, position) ?? '')),
        );
      return (record) => (holds(record) ? '' : firstCell(record));
    }
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
    const { definition } = this.format;
    if (column !== 'availability' || isAsSpecified(definition)) return read;
    const convert = availabilityConverter(definition);
    return (record) => {
      const text = read(record);
      return text === undefined ? undefined : convert(text);
    };
  }
}
