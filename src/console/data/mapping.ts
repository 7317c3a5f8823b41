import { parse } from 'csv-parse/browser/esm/sync';
import { findDelimiterLine } from '../../feed-format/delimiter-line';
import type { Schemas } from '../api';

export type Definition = Schemas['FormatDefinition'];
export type Column = Schemas['ColumnName'];
type Source = Schemas['ColumnSource'];

export const columns: Column[] = [
  'sku',
  'product_name',
  'description',
  'brand',
  'category',
  'price',
  'currency',
  'availability',
];

/** A source as the value of a list: empty for none, `value`, `join`, or a header or position after a colon. */
export function choiceOf(source: Source | undefined): string {
  if (!source) return '';
  if (source.value !== undefined) return 'value';
  if (source.join) return 'join';
  if (source.position !== undefined) return `position:${source.position}`;
  return `from:${source.from?.[0] ?? ''}`;
}

/** The inverse of `choiceOf`. @param suggested - the source that `join` means */
export function sourceOf(choice: string, suggested: Source | undefined): Source | undefined {
  if (choice === '') return undefined;
  if (choice === 'value') return { value: '' };
  if (choice === 'join') return suggested;
  const argument = choice.slice(choice.indexOf(':') + 1);
  return choice.startsWith('position:') ? { position: Number(argument) } : { from: [argument] };
}

/** Returns the definition with another source of a column. */
export function withSource(definition: Definition, column: Column, source: Source | undefined): Definition {
  const { [column]: _, ...others } = definition.columns;
  const mapped = source ? { ...others, [column]: source } : others;
  return { ...definition, columns: mapped as Definition['columns'] };
}

const sampledBytes = 65_536;

export type Row = Partial<Record<Column, string>>;

/** Reads the first rows of a file by a definition, without cleaning. @returns the values by column */
export async function rowsOf(file: File, definition: Definition, rowsMax: number): Promise<Row[]> {
  const head = await file.slice(0, sampledBytes).arrayBuffer();
  const text = new TextDecoder(definition.encoding).decode(head);
  const records = parse(text.slice(findDelimiterLine(text)?.length ?? 0), {
    bom: true,
    delimiter: definition.delimiter ?? ',',
    from_line: (definition.skip_lines ?? 0) + 1,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    // The last record may be cut.
    skip_records_with_error: true,
    to: rowsMax + 1,
  });
  const hasHeader = definition.header !== false;
  const names = hasHeader ? records[0]!.map(plain) : [];
  const rows = records.slice(hasHeader ? 1 : 0, rowsMax + (hasHeader ? 1 : 0));
  return rows.map((row) => {
    const cell = (header: string) => row[names.indexOf(plain(header))];
    const used = columns.filter((column) => definition.columns[column]);
    return Object.fromEntries(
      used.map((column) => [column, valueOf(definition.columns[column]!, row, cell)]),
    );
  });
}

/** Headers are compared trimmed and without case. */
export const plain = (header: string) => header.trim().toLowerCase();

function valueOf(source: Source, row: string[], cell: (header: string) => string | undefined): string {
  if (source.value !== undefined) return source.value;
  if (source.position !== undefined) return row[source.position - 1] ?? '';
  if (source.join) {
    const [first, ...others] = source.join.map((header) => (cell(header) ?? '').trim());
    const between = source.with ?? '';
    const joined = others.filter(Boolean).join(between);
    return [first, joined].filter(Boolean).join(source.first_with ?? between);
  }
  return source.from?.map(cell).find((value) => value !== undefined) ?? '';
}
