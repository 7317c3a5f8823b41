import { findBuiltInFormat } from '../built-in-formats';
import { columnFormat, type ProductColumn } from '../columns';
import type { FeedFormat, FormatDefinition } from '../format-definition';
import { headersOf } from '../read/resolve-format';
import { comparable } from '../text';
import type { ColumnMatch } from './detect-columns';

/** Headers that identify the export of a system. */
const marks: readonly (readonly [string, readonly string[]])[] = [
  ['shopify', ['Handle', 'Title', 'Variant SKU', 'Variant Price']],
  ['shopify', ['Title', 'URL handle', 'SKU', 'Price']],
  ['woocommerce', ['SKU', 'Name', 'Regular price']],
  ['woocommerce', ['Name', 'Veröffentlicht', 'Regulärer Preis']],
  ['woocommerce', ['UGS', 'Nom', 'Publié', 'Tarif régulier']],
  ['woocommerce', ['Артикул', 'Имя', 'Наличие', 'Базовая цена']],
  ['magento2', ['sku', 'store_view_code', 'name', 'price']],
  ['standard', ['sku', 'product_name']],
  ['google-merchant', ['id', 'title', 'price', 'availability']],
];

/** Finds the built-in format of the system that wrote a file. */
export function builtInFor(names: readonly string[]): FeedFormat | undefined {
  const known = new Set(names.map((name) => comparable(name).replace(/^g:/, '')));
  const found = marks.find(([, headers]) => headers.every((header) => known.has(comparable(header))));
  const format = found && findBuiltInFormat(found[0]);
  if (!format) return undefined;
  // A repeated header cannot be read.
  const used = Object.values(format.definition.columns).flatMap((source) =>
    headersOf(source).map(comparable),
  );
  const isTwice = used.some((header) => names.filter((name) => comparable(name) === header).length > 1);
  return isTwice ? undefined : format;
}

/** Confidence in the columns of a known system. */
export const builtInConfidence = 0.98;

/** Lists the columns of a built-in format that a file has. */
export function matchesOf({ columns }: FormatDefinition, names: readonly string[]): ColumnMatch[] {
  const present = names.map(comparable);
  const columnNames = Object.keys(columns) as ProductColumn[];
  return columnNames.flatMap((column) => {
    const header = headersOf(columns[column]!).find((each) => present.includes(comparable(each)));
    if (header === undefined) return [];
    const isOwn = columnFormat(column).name === comparable(header);
    return [
      {
        position: present.indexOf(comparable(header)),
        column,
        confidence: isOwn ? 1 : builtInConfidence,
        reason: isOwn ? 'its name is ours' : 'the system that wrote the file is known',
      },
    ];
  });
}
