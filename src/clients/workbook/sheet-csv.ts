import { recordText } from '../../feed-format/write/record-text';
import type { SheetLayout } from './sheet-analysis';
import type { SheetCell, SheetRow } from './sheet-rows';
import { WorkbookFault } from './workbook-fault';

/** A repeated text can make a small workbook a huge file. */
export const csvLimits = { bytes: 512 * 1024 ** 2 };

const batchCharacters = 256 * 1024;

/** Writes the rows of a sheet as a CSV file in UTF-8, with commas and line feeds. */
export class SheetCsv {
  private readonly encoder = new TextEncoder();
  private readonly pieces: Uint8Array[] = [];
  private size = 0;
  private text = '';
  /** Positions in the record by columns of the sheet. */
  private readonly positions: ReadonlyMap<number, number>;

  constructor(private readonly layout: SheetLayout) {
    const { columns, currencies } = layout;
    this.positions = new Map(columns.map(({ column }, position) => [column, position]));
    this.write([...columns.map(({ header }) => header), ...(currencies ? ['currency'] : [])]);
  }

  /** Adds a row of the sheet; titles, the header row and rows without a value are left out. */
  add(row: SheetRow): void {
    const { headerRow, withHidden, currencies } = this.layout;
    if (row.number <= headerRow || (row.isHidden && !withHidden)) return;
    const cells = row.cells.filter(({ column }) => this.positions.has(column));
    const record = this.recordOf(cells);
    if (record.every((text) => text.trim() === '')) return;
    this.write(currencies ? [...record, currencies.currencyOf(cells)] : record);
  }

  /** Returns the file. */
  end(): Uint8Array {
    this.flush();
    const bytes = new Uint8Array(this.size);
    let at = 0;
    for (const piece of this.pieces.splice(0)) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  private recordOf(cells: readonly SheetCell[]): string[] {
    const record = new Array<string>(this.positions.size).fill('');
    for (const cell of cells) record[this.positions.get(cell.column)!] = this.layout.textOf(cell);
    return record;
  }

  private write(record: readonly string[]): void {
    this.text += `${recordText(record, { delimiter: ',' })}\n`;
    if (this.text.length >= batchCharacters) this.flush();
  }

  private flush(): void {
    const piece = this.encoder.encode(this.text);
    this.text = '';
    this.size += piece.length;
    if (this.size > csvLimits.bytes)
      throw new WorkbookFault(
        'The sheet is too large: as CSV it has more than 512 MiB. Divide it into several workbooks.',
      );
    this.pieces.push(piece);
  }
}
