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

/** The column that names the product of a row, in the template until 2024 and in the one since. */
const shopifyGroups = ['Handle', 'URL handle'];

/** Marks of a product that its shop shows. */
const published = ['1', ''];

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
  /** The export of products: a row per store view, of which the first has all values; the others have translations. */
  magento2: {
    columns: {
      sku: { from: ['sku'] },
      product_name: { from: ['name'] },
      description: { from: ['description'] },
      category: { from: ['categories'] },
      price: { from: ['price'] },
      availability: { from: ['is_in_stock'] },
    },
    availability: { '1': 'in_stock', '0': 'out_of_stock' },
    only_rows_where: [
      { header: 'store_view_code', values: [''] },
      // Switched-off products are 2.
      { header: 'product_online', values: published },
    ],
  },
  /** The export of products, in both templates: a row per variant and image; the first row of a product has its common values. */
  shopify: {
    // The only option of a product without variants.
    null_values: ['Default Title'],
    columns: {
      sku: { from: ['Variant SKU', 'SKU'] },
      product_name: { join: ['Title', ...shopifyOptions], with: ' / ', first_with: ' - ' },
      description: { from: ['Body (HTML)', 'Description'] },
      brand: { from: ['Vendor'] },
      category: { from: ['Type', 'Product Category'] },
      price: { from: ['Variant Price', 'Price'] },
      availability: {
        quantity: {
          from: ['Variant Inventory Qty', 'Inventory quantity'],
          unless: [
            { header: 'Variant Inventory Tracker', values: [''] },
            { header: 'Inventory tracker', values: [''] },
            { header: 'Variant Inventory Policy', values: ['continue'] },
            { header: 'Continue selling when out of stock', values: ['true', 'continue'] },
          ],
        },
      },
    },
    fill_down: (['product_name', 'description', 'brand', 'category'] as const).flatMap((column) =>
      shopifyGroups.map((by) => ({ column, by })),
    ),
    ignore_rows_without: ['Variant SKU', 'Variant Price', 'SKU', 'Price'],
    only_rows_where: shopifyGroups.map((by) => ({ header: 'Status', values: ['active', ''], by })),
  },
  /** The specification's columns. */
  standard: { columns: ownColumns },
  /** The export of products, with headers in English, German, French and Russian. */
  woocommerce: {
    // Drafts are -1, private products 0.
    only_rows_where: ['Published', 'Veröffentlicht', 'Publié', 'Опубликован'].map((header) => ({
      header,
      values: published,
    })),
    text_marks: 'strip',
    columns: {
      sku: { from: ['SKU', 'Artikelnummer', 'UGS', 'Артикул'] },
      product_name: { from: ['Name', 'Nom', 'Имя'] },
      description: { from: ['Description', 'Beschreibung', 'Описание'] },
      brand: { from: ['Brands', 'Бренды'] },
      category: { from: ['Categories', 'Kategorien', 'Catégories', 'Категории'] },
      price: { from: ['Regular price', 'Regulärer Preis', 'Tarif régulier', 'Базовая цена'] },
      availability: {
        from: ['In stock?', 'Vorrätig?', 'En stock\u00a0?', 'En stock ?', 'Наличие', 'В наличии?'],
      },
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
