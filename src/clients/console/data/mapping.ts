import type { Schemas } from '../api';

export type Definition = Schemas['FormatDefinition'];
export type ColumnName = Schemas['ColumnName'];
type Source = Schemas['ColumnSource'];

/** A source as the value of a list: empty for none, `value`, `join`, `quantity`, or a header or position after a colon. */
export function choiceOf(source: Source | undefined): string {
  if (!source) return '';
  if (source.value !== undefined) return 'value';
  if (source.join) return 'join';
  if (source.quantity) return 'quantity';
  if (source.position !== undefined) return `position:${source.position}`;
  return `from:${source.from?.[0] ?? ''}`;
}

/** The inverse of `choiceOf`. @param suggested - the source that `join` and `quantity` mean */
export function sourceOfChoice(choice: string, suggested: Source | undefined): Source | undefined {
  if (choice === '') return undefined;
  if (choice === 'value') return { value: '' };
  if (choice === 'join' || choice === 'quantity') return suggested;
  const argument = choice.slice(choice.indexOf(':') + 1);
  return choice.startsWith('position:') ? { position: Number(argument) } : { from: [argument] };
}

/** Returns the definition with another source of a column. */
export function withSource(
  definition: Definition,
  column: ColumnName,
  source: Source | undefined,
): Definition {
  const { [column]: _, ...others } = definition.columns;
  const mapped = source ? { ...others, [column]: source } : others;
  return { ...definition, columns: mapped as Definition['columns'] };
}

/** Returns the names of the columns of a file that no column of the catalog reads, each once. */
export function unusedHeaders(headers: Schemas['InspectedHeader'][], { columns }: Definition): string[] {
  const read = new Set(
    Object.values(columns)
      .flatMap(({ from = [], join = [], quantity }) => [...from, ...join, ...(quantity?.from ?? [])])
      .map((name) => name.toLowerCase()),
  );
  const names = headers.map(({ header }) => header).filter((name) => name && !read.has(name.toLowerCase()));
  return [...new Set(names)];
}
