import { clean } from '../clean-cell';
import { productColumns, type ProductColumn } from '../columns';
import { canEncode, encodeText } from './encode-text';
import type { ColumnSource, ReadDefinition } from '../format-definition';
import { markCharacter } from '../read/byte-order-mark';
import { FormatReading } from '../read/format-reading';
import { headersOf, resolveFormat } from '../read/resolve-format';
import { comparable } from '../text';
import type { Delimiter } from '../delimiter';
import { isWritable, recordText, type WrittenSyntax } from './record-text';

/** Values of a product as texts, cleaned; null: none. */
export type WrittenValues = Record<ProductColumn, string | null>;

/** A value that the format cannot express: it would be read back as another value. */
export class UnwritableValue {
  constructor(
    readonly column: ProductColumn,
    readonly reason: string,
  ) {}
}

/** Quantities of words for availability; others are written as they are. */
const quantities: ReadonlyMap<string, string> = new Map([
  ['in_stock', '1'],
  ['out_of_stock', '0'],
]);

/**
 * Writes products as a file of a format, which reads it back with the same values.
 * A column is written under its first name; a join into its first column; of several words for an availability, the first one; a
 * quantity as 1 or 0, without the columns of its conditions; of the values of a condition, the first one. Without a column for the currency, it follows the price. Records must
 * be written in their order.
 */
export class FormatWriter {
  private readonly headers: string[] = [];
  private readonly positions: [column: ProductColumn, position: number][];
  /** Cells that let a row be read. */
  private readonly conditions: { position: number; text: string }[];
  private readonly fieldCount: number;
  /** Words of the format by standard words for an availability. */
  private readonly words: ReadonlyMap<string, string>;
  private readonly reading: FormatReading;
  private readonly syntax: WrittenSyntax;

  constructor(private readonly definition: ReadDefinition) {
    const delimiter = (definition.delimiter ?? ',') as Delimiter;
    this.syntax = { delimiter, quote: definition.quote };
    this.positions = productColumns.flatMap((column) => {
      const position = this.placeOf(definition.columns[column]);
      return position === undefined ? [] : [[column, position] as [ProductColumn, number]];
    });
    this.conditions = freeConditions(definition).map(({ header, values }) => ({
      position: this.headers.push(header) - 1,
      text: values[0]!,
    }));
    this.fieldCount = Math.max(this.headers.length, ...this.positions.map(([, position]) => position + 1));
    const words = Object.entries(definition.availability ?? {}).map(
      ([partnerWord, standard]) => [standard, partnerWord] as const,
    );
    // For equal keys, the last one stays.
    this.words = new Map(words.reverse());
    const names = this.headers.map(comparable);
    const hasHeaderRow = definition.header !== false;
    const place = { delimiter, preamble: { lines: 0, bytes: 0 }, hasHeaderRow };
    const resolved = resolveFormat(definition, place, (header) => {
      if (!hasHeaderRow) return Number(header) - 1;
      const position = names.indexOf(comparable(header));
      return position === -1 ? undefined : position;
    });
    this.reading = new FormatReading(resolved);
  }

  /** Returns the text before the records: the skipped lines, blank, and the header row, if the format has one. */
  beginning(): Buffer {
    const { skip_lines: skipped = 0, encoding, header } = this.definition;
    // Spreadsheets recognize UTF-16 only by its mark.
    const mark = encoding?.startsWith('utf-16') ? markCharacter : '';
    const row = header === false ? '' : this.text([this.headers]);
    return encodeText(mark + '\n'.repeat(skipped) + row, encoding);
  }

  /** Returns the cells of a product. @returns UnwritableValue if they would be read as another product */
  checkedCells(values: WrittenValues): string[] | UnwritableValue {
    const cells = this.cells(values);
    const { encoding } = this.definition;
    const faulty = (isFaulty: (text: string) => boolean) =>
      this.positions.find(([, position]) => [cells[position]!, this.headers[position] ?? ''].some(isFaulty));
    const [foreign] = faulty((text) => !canEncode(text, encoding)) ?? [];
    if (foreign) return new UnwritableValue(foreign, `has characters that ${encoding} does not have`);
    const [unquoted] = faulty((text) => !isWritable(text, this.syntax)) ?? [];
    if (unquoted)
      return new UnwritableValue(unquoted, 'has a delimiter or line break, and the format has no quotes');
    const record = { field: (position: number) => cells[position] };
    if (!this.reading.begin(record))
      return new UnwritableValue('sku', 'is in a row that the format leaves out');
    for (const column of this.reading.columns) {
      const read = clean[column](this.reading.cell(record, column) ?? '');
      if (!this.isReadBack(column, read, values))
        return new UnwritableValue(column, 'would be read as another value');
    }
    return cells;
  }

  /** Returns the cells of a product, even if they are not read back as the same values. */
  cells(values: WrittenValues): string[] {
    const cells = new Array<string>(this.fieldCount).fill('');
    for (const [column, position] of this.positions) cells[position] = this.textOf(values, column) ?? '';
    for (const { position, text } of this.conditions) cells[position] = text;
    return cells.map((text, position) => this.reading.written(text, position));
  }

  /** Formats and encodes records. */
  records(records: string[][]): Buffer {
    return encodeText(this.text(records), this.definition.encoding);
  }

  private textOf(values: WrittenValues, column: ProductColumn): string | null {
    if (column === 'availability') {
      const word = values.availability ?? '';
      const hasQuantity = this.definition.columns.availability?.quantity !== undefined;
      return this.words.get(word) ?? (hasQuantity ? quantities.get(word) : undefined) ?? values.availability;
    }
    if (column !== 'price' || values.price === null) return values[column];
    const { price, currency } = values;
    const { decimal_separator, columns } = this.definition;
    const amount = decimal_separator === ',' ? price.replace('.', ',') : price;
    return columns.currency || currency === null ? amount : `${amount} ${currency}`;
  }

  /** Tells whether a cleaned text of a column is read as the value of the product. */
  private isReadBack(column: ProductColumn, text: string | null, values: WrittenValues): boolean {
    if (column !== 'price' || text === null) return text === values[column];
    const { amount, currency = null } = this.reading.price(text) ?? {};
    if (amount !== values.price) return false;
    return (
      currency === values.currency || (currency === null && this.definition.columns.currency !== undefined)
    );
  }

  /** Finds the position of a column, and adds its header. @returns undefined if no cell has the column */
  private placeOf({ from, join, position, quantity }: ColumnSource = {}): number | undefined {
    if (position !== undefined) return position - 1;
    const [header] = from ?? join ?? quantity?.from ?? [];
    return header === undefined ? undefined : this.placeOfHeader(header);
  }

  private placeOfHeader(header: string): number {
    const known = this.headers.findIndex((each) => comparable(each) === comparable(header));
    return known === -1 ? this.headers.push(header) - 1 : known;
  }

  private text(records: string[][]): string {
    return records.map((cells) => `${recordText(cells, this.syntax)}\n`).join('');
  }
}

/**
 * Lists the conditions whose headers nothing else reads: a value in another column would change a product. Of those with the same
 * values, which are for other files of the same system, and of those on the same header, it lists the first.
 */
function freeConditions({ columns, fill_down = [], only_rows_where = [] }: ReadDefinition) {
  const others = [...Object.values(columns).flatMap(headersOf), ...fill_down.map(({ by }) => by)];
  const read = new Set(others.map(comparable));
  const seen = new Set<string>();
  return only_rows_where.filter(({ header, values }) => {
    const keys = [comparable(header), JSON.stringify(values)];
    const isFree = !read.has(keys[0]!) && !keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    return isFree;
  });
}
