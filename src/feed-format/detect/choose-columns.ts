import type { ProductColumn } from '../columns';
import type { FeedFormat } from '../format-definition';
import { comparable, trimText } from '../text';
import { columnsOfTable, type Column } from './column-cells';
import { detectColumns, type ColumnMatch } from './detect-columns';
import { findGroup, type Group } from './detect-groups';
import { chooseName, type NameChoice } from './detect-name';
import { choosePrice, type PriceChoice } from './detect-price';
import { chooseSku, type SkuChoice } from './detect-sku';
import type { Table } from './detect-table';
import { builtInConfidence, matchesOf } from './known-systems';

/** A table with its rows, without equal ones, and how they are written. */
export interface DetectedTable extends Table {
  builtIn: FeedFormat | undefined;
  quote: 'none' | undefined;
  /** Whether it follows the specification, but for rows of empty cells. */
  hasBlankRows: boolean;
  rows: readonly (readonly string[])[];
}

/** The columns of a table, and what they have. */
export interface ChosenColumns {
  columns: readonly Column[];
  sku: SkuChoice;
  name: NameChoice;
  price: PriceChoice;
  /** The columns that are known. */
  matches: readonly ColumnMatch[];
  /** The likeliest column of each doubt. */
  guesses: readonly ColumnMatch[];
  /** Rows of a product with its name in the first one. */
  group: Group | undefined;
}

/** Chooses the columns of sku, price and name, in this order, then the others. */
export function chooseColumns(table: DetectedTable): ChosenColumns {
  const { builtIn, names, width } = table;
  const columns = columnsOfTable(names, width, rowsOf(table));
  const columnAt = (position: number) => columns.find((each) => each.position === position);
  const known = builtIn && names ? matchesOf(builtIn.definition, names) : [];
  const knownAs = (column: ProductColumn) => {
    const match = known.find((each) => each.column === column);
    return match && columnAt(match.position);
  };
  const sku = chooseSku(columns, knownAs('sku'));
  const price = priceOf(columns, builtIn, knownAs('price'));
  const taken = positionsOf([...sku.rivals, ...price.rivals, sku.chosen, price.chosen]);
  const name = chooseName(columns, taken, knownAs('product_name'));
  const notOther = new Set([...taken, ...positionsOf([...name.rivals, name.chosen])]);
  const others = builtIn
    ? known.filter(({ column }) => !keyColumns.includes(column))
    : detectColumns(columns, notOther);
  const sure = <Choice extends SkuChoice | NameChoice | PriceChoice>(choice: Choice): Choice =>
    builtIn ? { ...choice, confidence: builtInConfidence } : choice;
  const fillable = others.filter(isFillable).flatMap(({ position }) => columnAt(position) ?? []);
  return {
    columns,
    sku,
    name,
    price,
    matches: [
      ...others,
      ...matchOf(sku.chosen, 'sku', sure(sku)),
      ...matchOf(name.chosen, 'product_name', sure(name)),
      ...matchOf(price.chosen, 'price', sure(price)),
    ],
    guesses: [
      ...guessOf(sku.rivals[0], 'sku'),
      ...guessOf(price.rivals[0], 'price'),
      ...guessOf(name.rivals[0], 'product_name'),
    ],
    group: builtIn || !name.chosen ? undefined : findGroup(columns, name.chosen, fillable),
  };
}

/** Chooses the price; a column with another name than in the export of the system is asked about. */
function priceOf(
  columns: readonly Column[],
  builtIn: FeedFormat | undefined,
  known: Column | undefined,
): PriceChoice {
  const found = choosePrice(columns, known);
  if (!builtIn || !found.chosen || known) return found;
  return { ...found, chosen: undefined, rivals: [found.chosen], doubt: 'unsure' };
}

const guessOf = (column: Column | undefined, name: ProductColumn): ColumnMatch[] =>
  column
    ? [
        {
          position: column.position,
          column: name,
          confidence: 0.5,
          reason: 'it is one of several columns',
        },
      ]
    : [];

/** Returns the rows that the built-in format reads. */
function rowsOf({ builtIn, names, rows }: DetectedTable): DetectedTable['rows'] {
  const needed = builtIn?.definition.ignore_rows_without;
  if (!needed || !names) return rows;
  const positions = needed.map((header) =>
    names.findIndex((name) => comparable(name) === comparable(header)),
  );
  if (positions.every((position) => position === -1)) return rows;
  return rows.filter((row) => positions.some((position) => trimText(row[position] ?? '') !== ''));
}

/** Columns that are chosen one by one. */
const keyColumns: readonly ProductColumn[] = ['sku', 'product_name', 'price'];

/** Texts of a product, which exports write once for all of its variants. */
const isFillable = ({ column }: ColumnMatch) => ['description', 'brand', 'category'].includes(column);

const positionsOf = (columns: readonly (Column | undefined)[]) =>
  new Set(columns.flatMap((column) => (column ? [column.position] : [])));

function matchOf(
  column: Column | undefined,
  name: ProductColumn,
  { confidence, reason }: { confidence: number; reason: string },
): ColumnMatch[] {
  if (!column) return [];
  const isOwn = comparable(column.header) === name;
  return [{ position: column.position, column: name, ...(isOwn ? own : { confidence, reason }) }];
}

const own = { confidence: 1, reason: 'its name is ours' };
