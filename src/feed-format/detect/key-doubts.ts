import { labelOf, sourceOf, type Column } from './column-cells';
import type { NameChoice } from './detect-name';
import type { RowChoice } from './detect-rows';
import type { SkuChoice } from './detect-sku';
import { choice, choicesMax, type FormatDoubt } from './format-doubts';

const skuIs = (column: Column) =>
  choice(`The sku is ${labelOf(column)}`, { columns: { sku: sourceOf(column) } });

/**
 * Asks which column has the skus, or which of the rows with one sku is the product.
 * @param rows - the column that tells rows with one sku apart, if there is one
 * @param needed - headers of which a row of the draft has one at least
 */
export function skuDoubt(
  sku: SkuChoice,
  rows: RowChoice | undefined,
  needed: readonly string[] = [],
): FormatDoubt | undefined {
  const { rivals, doubt } = sku;
  const [first] = rivals;
  if (!doubt || !first) return undefined;
  if (doubt === 'repeated') return rows ? viewDoubt(first, rows) : repeatedDoubt(sku, first, needed);
  const messages = {
    several: 'Several columns could be the sku: their values differ in nearly all rows.',
    incomplete: `Many rows have no ${labelOf(first)}: they would be skipped.`,
    unnamed: 'No column has a name for skus, but the values of these columns differ in all rows.',
  };
  const codes = {
    several: 'several_columns',
    incomplete: 'incomplete_column',
    unnamed: 'unnamed_column',
  } as const;
  return {
    about: 'sku',
    code: codes[doubt],
    message: messages[doubt],
    choices: rivals.slice(0, choicesMax).map(skuIs),
  };
}

/** Asks about rows with the same sku in other languages or for other shops. */
function viewDoubt(sku: Column, { column, values }: RowChoice): FormatDoubt {
  const columns = { sku: sourceOf(sku) };
  return {
    about: 'rows',
    code: 'repeated_sku',
    message: `Several rows have the same ${labelOf(sku)}, each with another ${labelOf(column)}: one of them is the product.`,
    choices: [
      ...values
        .slice(0, choicesMax - 1)
        .map((value) =>
          choice(
            value === ''
              ? `Only the rows without ${labelOf(column)}`
              : `Only the rows with ${labelOf(column)} ${value}`,
            { columns, only_rows_where: [{ header: column.header, values: [value] }] },
          ),
        ),
      choice(lastRow(sku), { columns }),
    ],
  };
}

const lastRow = (sku: Column) => `Use the last row with the same ${labelOf(sku)}`;

function repeatedDoubt({ rivals, joins }: SkuChoice, first: Column, needed: readonly string[]): FormatDoubt {
  if (joins.length === 0 && rivals.length === 1) {
    return {
      about: 'rows',
      code: 'repeated_sku',
      message: `Several rows have the same ${labelOf(first)}. Rows in other languages or for other shops would overwrite each other.`,
      choices: [choice(lastRow(first), { columns: { sku: sourceOf(first) } })],
    };
  }
  const joined = joins.map((columns) =>
    choice(`The sku is ${columns.map(labelOf).join(' and ')}, joined by a hyphen`, {
      columns: { sku: { join: columns.map(({ header }) => header), with: '-' } },
      // Options alone are no sku.
      ...(needed.length > 0 && !needed.includes(first.header) ? {} : { ignore_rows_without: [first.header] }),
    }),
  );
  return {
    about: 'sku',
    code: 'repeated_sku',
    message: `Several rows have the same ${labelOf(first)}.`,
    choices: [...joined, ...rivals.map(skuIs)].slice(0, choicesMax),
  };
}

/** Asks which column has the names. */
export function nameDoubt({ rivals, doubt }: NameChoice): FormatDoubt | undefined {
  if (!doubt) return undefined;
  return {
    about: 'product_name',
    code: doubt === 'several' ? 'several_columns' : 'unnamed_column',
    message:
      doubt === 'several'
        ? 'Several columns could be the name of the product.'
        : 'No column has a name for product names, but these columns have texts.',
    choices: rivals
      .slice(0, choicesMax)
      .map((column) =>
        choice(`The name is ${labelOf(column)}`, { columns: { product_name: sourceOf(column) } }),
      ),
  };
}
