import { productColumns, type ProductColumn } from './columns';
import type { ColumnSource, FeedFormat, FormatDefinition, ReadDefinition } from './format-definition';

/** The service's own column names as headers. */
const ownColumns = Object.fromEntries(
  productColumns.map((column): [ProductColumn, ColumnSource] => [column, { from: [column] }]),
) as FormatDefinition['columns'];

/**
 * How a file without a format is read (specification, section 7): UTF-8, not packed, own headers, lines that end in LF or CRLF, no
 * line `sep=`, nothing between a closing quote and the delimiter, and each delimiter begins a field. Tables store null for it.
 */
export const strictFormat: ReadDefinition = { strict: true, columns: ownColumns };

/** Names of Google Merchant Center (product data specification). XML-based exports write them with the prefix `g:`. */
const google = (...names: string[]): ColumnSource => ({ from: names.flatMap((name) => [name, `g:${name}`]) });

const shopifyOptions = ['Option1 Value', 'Option2 Value', 'Option3 Value'];

const definitions: Record<string, FormatDefinition> = {
  /** Excel in countries with a decimal comma: "CSV (semicolon delimited)". */
  'excel-eu': {
    delimiter: ';',
    encoding: 'windows-1252',
    decimal_separator: ',',
    columns: ownColumns,
  },
  'google-merchant': {
    columns: {
      sku: google('id'),
      product_name: google('title'),
      description: google('description'),
      brand: google('brand'),
      category: google('product_type', 'google_product_category'),
      price: google('price'),
      availability: google('availability'),
    },
  },
  /** The export of products: a row per variant and image; the first row of a product has its common values. */
  shopify: {
    // The only option of a product without variants.
    null_values: ['Default Title'],
    columns: {
      sku: { from: ['Variant SKU'] },
      product_name: { join: ['Title', ...shopifyOptions], with: ' / ', first_with: ' - ' },
      description: { from: ['Body (HTML)'] },
      brand: { from: ['Vendor'] },
      category: { from: ['Type', 'Product Category'] },
      price: { from: ['Variant Price'] },
    },
    fill_down: (['product_name', 'description', 'brand', 'category'] as const).map((column) => ({
      column,
      by: 'Handle',
    })),
    ignore_rows_without: ['Variant SKU', 'Variant Price'],
  },
  /** The specification's columns. */
  standard: { columns: ownColumns },
  /** The export of products. */
  woocommerce: {
    columns: {
      sku: { from: ['SKU'] },
      product_name: { from: ['Name'] },
      description: { from: ['Description'] },
      brand: { from: ['Brands'] },
      category: { from: ['Categories'] },
      price: { from: ['Regular price'] },
      availability: { from: ['In stock?'] },
    },
    availability: { '1': 'in_stock', '0': 'out_of_stock', backorder: 'backorder' },
  },
};

/** Formats that every partner can use and none can change, by name. */
export const builtInFormats: readonly FeedFormat[] = Object.entries(definitions).map(
  ([name, definition]) => ({ name, definition }),
);

export function findBuiltInFormat(name: string): FeedFormat | undefined {
  return builtInFormats.find((format) => format.name === name);
}
