import { columnIndex, rowNumber } from './cell-place';
import { isTrue, type WorkbookPackage } from './workbook-package';
import { parseXml, type XmlAttributes, type XmlHandler } from './parse-xml';
import { RichText, unescapeText } from './rich-text';
import { damaged } from './zip-archive';

/** A cell that has a value, as the file has it. */
export interface SheetCell {
  /** From 0. */
  column: number;
  /** `uncached`: a formula without a value. */
  kind: 'number' | 'text' | 'boolean' | 'error' | 'isoDate' | 'uncached';
  text: string;
  /** Index of its format. */
  style: number;
}

export interface SheetRow {
  /** Number of the row in the sheet, from 1. */
  number: number;
  isHidden: boolean;
  cells: SheetCell[];
}

/** An area of cells that are one; columns from 0, rows from 1. */
export interface MergedArea {
  firstRow: number;
  lastRow: number;
  firstColumn: number;
  lastColumn: number;
}

/** What a sheet says besides its cells; whole when all rows are read. */
export interface SheetFrame {
  /** From 0. */
  hiddenColumns: Set<number>;
  merged: MergedArea[];
}

export const sheetLimits = { rows: 1_048_576, columns: 16_384, mergedAreas: 500_000 };

/**
 * Reads the rows of a sheet that have a value, in their order in the file.
 * @param strings - the shared strings
 * @param frame - is filled on the way
 * @throws WorkbookFault for a damaged sheet
 */
export function* sheetRows(
  { archive, isUncalculated }: WorkbookPackage,
  part: string,
  strings: readonly string[],
  frame: SheetFrame,
  onRead?: (bytes: number) => void,
): Generator<SheetRow> {
  const handler = new SheetHandler(strings, frame, isUncalculated);
  for (const _ of parseXml(archive.read(part, onRead), handler)) yield* handler.rows.splice(0);
}

class SheetHandler implements XmlHandler {
  readonly rows: SheetRow[] = [];
  private row: SheetRow = { number: 0, isHidden: false, cells: [] };
  private column = -1;
  private type = 'n';
  private style = 0;
  private hasFormula = false;
  private value = '';
  /** Whether text is the value of the cell. */
  private isValue = false;
  private inline: RichText | undefined;
  private hiddenRanges = 0;

  constructor(
    private readonly strings: readonly string[],
    private readonly frame: SheetFrame,
    private readonly isUncalculated: boolean,
  ) {}

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'c') this.beginCell(attributes);
    else if (name === 'v') this.isValue = true;
    else if (name === 'row') this.beginRow(attributes);
    else if (name === 'f') this.hasFormula = true;
    else if (name === 'is') this.inline = new RichText();
    else if (this.inline) this.inline.open(name);
    else if (name === 'col') this.addColumns(attributes);
    else if (name === 'mergeCell') this.addMerged(attributes.ref ?? '');
  }

  text(text: string): void {
    if (this.isValue) this.value += text;
    else this.inline?.text(text);
  }

  close(name: string): void {
    if (name === 'c') this.endCell();
    else if (name === 'v') this.isValue = false;
    else if (name === 'is') this.endInline();
    else if (this.inline) this.inline.close(name);
    else if (name === 'row' && this.row.cells.length > 0) this.rows.push(this.row);
  }

  private beginRow({ r, hidden }: XmlAttributes): void {
    const number = r === undefined ? this.row.number + 1 : Number(r);
    if (!(number >= 1 && number <= sheetLimits.rows)) throw damaged();
    this.row = { number, isHidden: isTrue(hidden), cells: [] };
    this.column = -1;
  }

  private beginCell({ r, t = 'n', s = '0' }: XmlAttributes): void {
    this.column = r === undefined ? this.column + 1 : columnIndex(r);
    if (!(this.column >= 0 && this.column < sheetLimits.columns)) throw damaged();
    this.type = t;
    this.style = Number(s);
    this.hasFormula = false;
    this.value = '';
  }

  private endInline(): void {
    this.value = this.inline!.take();
    this.inline = undefined;
  }

  private endCell(): void {
    const kind = this.kindOf();
    const text = kind === 'text' ? this.textOf() : kind === 'uncached' ? '' : this.value;
    if (text === '' && kind !== 'uncached') return;
    if (this.row.cells.length === sheetLimits.columns) throw damaged();
    this.row.cells.push({ column: this.column, kind, text, style: this.style });
  }

  private kindOf(): SheetCell['kind'] {
    const isMissing = this.value === '' || (this.isUncalculated && this.type === 'n' && this.value === '0');
    if (this.hasFormula && isMissing && this.type !== 'str' && this.type !== 'inlineStr') return 'uncached';
    return kinds.get(this.type) ?? 'number';
  }

  private textOf(): string {
    if (this.type === 's') {
      if (this.value === '') return '';
      const text = this.strings[Number(this.value)];
      if (text === undefined) throw damaged();
      return text;
    }
    return this.type === 'str' ? unescapeText(this.value) : this.value;
  }

  private addColumns({ min, max, hidden }: XmlAttributes): void {
    if (!isTrue(hidden)) return;
    if (++this.hiddenRanges > sheetLimits.columns) throw damaged();
    const end = Math.min(Number(max), sheetLimits.columns);
    for (let column = Math.max(Number(min), 1) - 1; column < end; column++)
      this.frame.hiddenColumns.add(column);
  }

  private addMerged(ref: string): void {
    const [first, last = first] = ref.split(':') as [string, string?];
    const area = {
      firstRow: rowNumber(first),
      lastRow: rowNumber(last),
      firstColumn: columnIndex(first),
      lastColumn: columnIndex(last),
    };
    if (this.frame.merged.length < sheetLimits.mergedAreas) this.frame.merged.push(area);
  }
}

const kinds: ReadonlyMap<string, SheetCell['kind']> = new Map([
  ['s', 'text'],
  ['str', 'text'],
  ['inlineStr', 'text'],
  ['b', 'boolean'],
  ['e', 'error'],
  ['d', 'isoDate'],
]);
