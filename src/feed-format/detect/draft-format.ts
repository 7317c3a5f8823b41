import { productColumns, type ProductColumn } from '../columns';
import type { ColumnSource, FormatDefinition } from '../format-definition';
import { headersOf } from '../read/resolve-format';
import { comparable } from '../text';
import { isNumber, sourceOf, type Column } from './column-cells';
import { availabilityWords, type ColumnMatch } from './detect-columns';
import type { Group } from './detect-groups';
import { wordInsteadOfSku } from './detect-sku';
import type { FormatDraft } from './format-doubts';

interface DraftParts {
  builtIn: FormatDefinition | undefined;
  columns: readonly Column[];
  /** The column of prices, or the candidates. */
  prices: readonly Column[];
  /** The columns of skus and names, or the candidates. */
  texts: readonly Column[];
  matches: readonly ColumnMatch[];
  /** Rows of a product with its name in the first one. */
  group: Group | undefined;
  /** How the file is written, and how its prices are. */
  place: Partial<FormatDefinition>;
  /** The currency of all prices. */
  currency: { value: string } | undefined;
}

/** Makes the format of a file from what is known, without the columns in doubt. */
export function draftOf(parts: DraftParts): FormatDraft {
  const { builtIn, place, columns, prices, texts, matches, currency } = parts;
  const constant = currency && { currency };
  const cellsOf = (wanted: ProductColumn) => {
    const match = matches.find(({ column }) => column === wanted);
    return columns.find(({ position }) => position === match?.position)?.cells ?? [];
  };
  const noSku = wordInsteadOfSku(cellsOf('sku'));
  const otherCells = matches
    .filter(({ column }) => column !== 'price')
    .flatMap(({ column }) => cellsOf(column));
  const empty = [
    ...wordsInsteadOf(prices, new Set([...otherCells, ...texts.flatMap(({ cells }) => cells)])),
    ...(noSku === undefined ? [] : [noSku]),
  ];
  if (builtIn) {
    const { sku, product_name, price, ...others } = builtIn.columns;
    const known = { sku, product_name, price };
    const keys = matches.flatMap(({ column, position }): [ProductColumn, ColumnSource][] => {
      const found = columns.find((each) => each.position === position);
      if (!found || !(column in known)) return [];
      const source = known[column as keyof typeof known];
      const isKnown =
        source && headersOf(source).some((header) => comparable(header) === comparable(found.header));
      return [[column, isKnown ? source : sourceOf(found)]];
    });
    const kept = { ...Object.fromEntries(keys), ...others, ...constant };
    const words = [...(builtIn.null_values ?? []), ...empty];
    return { ...builtIn, ...place, ...(words.length > 0 && { null_values: words }), columns: inOrder(kept) };
  }
  const hasQuantities = matches.some(({ isQuantity }) => isQuantity);
  const availability = availabilityWords(cellsOf('availability'), hasQuantities);
  return {
    ...place,
    ...(empty.length > 0 && { null_values: empty }),
    columns: inOrder({ ...sourcesOf(parts), ...constant }),
    ...(availability && { availability }),
    ...fillDownOf(parts),
  };
}

function sourcesOf({ columns, matches, group }: DraftParts): Partial<Record<ProductColumn, ColumnSource>> {
  return Object.fromEntries(
    matches.map((match): [ProductColumn, ColumnSource] => {
      const column = columns.find(({ position }) => position === match.position)!;
      const source = sourceOf(column);
      if (match.isQuantity) return [match.column, { quantity: source as { from: string[] } }];
      const options = match.column === 'product_name' && group ? group.options : [];
      if (options.length === 0) return [match.column, source];
      const join = [column, ...options].slice(0, joinMax).map(({ header }) => header);
      return [match.column, { join, with: ' / ', first_with: ' - ' }];
    }),
  );
}

/** More headers make no readable name. */
const joinMax = 5;

function fillDownOf({ matches, group }: DraftParts): Partial<FormatDefinition> {
  if (!group) return {};
  const rules = matches
    .filter(({ position }) => group.filled.some((column) => column.position === position))
    .map(({ column }) => ({ column, by: group.by.header }));
  return rules.length > 0 ? { fill_down: rules } : {};
}

/** Lists the words that prices are replaced by: "on request", "variable". None that another column has: it would be empty there. */
function wordsInsteadOf(prices: readonly Column[], others: ReadonlySet<string>): string[] {
  const words = new Set(
    prices
      .filter(({ cells }) => cells.some(isNumber))
      .flatMap(({ cells }) => cells)
      .filter(
        (cell) => cell !== '' && !/\d/.test(cell) && cell.length <= wordCharactersMax && !others.has(cell),
      ),
  );
  return words.size > nullValuesMax ? [] : [...words];
}

const nullValuesMax = 90;
const wordCharactersMax = 60;

/** Sorts columns as the template has them. */
const inOrder = (columns: Partial<Record<ProductColumn, ColumnSource>>) =>
  Object.fromEntries(
    productColumns.flatMap((column) => {
      const source = columns[column];
      return source ? [[column, source] as const] : [];
    }),
  );
