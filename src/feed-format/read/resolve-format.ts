import { requiredColumns, type ProductColumn } from '../columns';
import type { Delimiter } from '../delimiter';
import type { ColumnSource, FormatDefinition, ReadDefinition } from '../format-definition';
import { comparable } from '../text';
import { firstByKey, type FillDown } from './fill-down';
import type { RowCondition } from './row-conditions';

/** Lines before the header row, or before the first row. */
export interface Preamble {
  lines: number;
  /** In UTF-8. */
  bytes: number;
}

/** Source of a column, with positions instead of headers, without absent headers. */
export type ResolvedSource =
  | {
      positions: readonly number[];
      with: string;
      firstWith: string;
      hasFirst: boolean;
      /** Conditions of a quantity. */
      unless?: readonly { position: number; values: readonly string[] }[];
    }
  | { value: string };

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
  conditions: readonly RowCondition[];
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
  const conditions = (definition.only_rows_where ?? []).flatMap(({ header, values, by }) => {
    const [position] = positionsOf([header]);
    const [byPosition] = by === undefined ? [] : positionsOf([by]);
    return position === undefined ? [] : [{ position, by: byPosition, values: values.map(comparable) }];
  });
  return {
    ...place,
    definition,
    sources,
    fillDown: firstByKey(fillDown, ({ column }) => column),
    ignoredWithout: positionsOf(definition.ignore_rows_without ?? []),
    conditions: firstByKey(
      // Those whose group the file has come first.
      conditions.toSorted((a, b) => Number(a.by === undefined) - Number(b.by === undefined)),
      ({ position }) => position,
    ),
  };
}

function resolveSource(
  source: ColumnSource,
  positionsOf: (headers: readonly string[]) => number[],
): ResolvedSource | undefined {
  const { join, with: between = '', first_with: afterFirst = between, value, quantity } = source;
  if (value !== undefined) return { value };
  const positions = positionsOf(headersOf(source));
  if (positions.length === 0) return undefined;
  if (quantity) {
    const unless = (quantity.unless ?? []).flatMap(({ header, values }) =>
      positionsOf([header]).map((position) => ({ position, values: values.map(comparable) })),
    );
    return { positions: positions.slice(0, 1), with: '', firstWith: '', hasFirst: true, unless };
  }
  if (!join) return { positions: positions.slice(0, 1), with: '', firstWith: '', hasFirst: true };
  const hasFirst = positionsOf(join.slice(0, 1)).length > 0;
  return { positions, with: between, firstWith: afterFirst, hasFirst };
}

/** Lists the headers of a source; a position counts as one. */
export const headersOf = ({ from, join, position, quantity }: ColumnSource): string[] =>
  join ?? from ?? quantity?.from ?? (position === undefined ? [] : [String(position)]);

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
