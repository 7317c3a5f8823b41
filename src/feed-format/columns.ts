import type { LoadMode } from './load-options';

/* The feed format as data. Header, transform, load and `GET /feeds/profile` share it: the published format is the applied one. */

/**
 * Maximum size of a record in memory; a larger one most likely has an unclosed quote. The largest valid record, with values of
 * maximum length in doubled quotes or characters of four bytes, takes little more than half of it.
 */
export const recordBytes = 512 * 1024;

/** Cleaning of a cell before its validation; a column lists its rules in order. */
export type CleaningRule =
  /** Removes Unicode white space at both ends. */
  | 'trim'
  /** Converts an empty text to null. */
  | 'empty_to_null'
  | 'upper_case'
  | 'lower_case'
  /** Replaces spaces and hyphens by `_`. */
  | 'separators_to_underscores'
  /** Replaces a known variant by the usual spelling. */
  | 'known_spellings'
  /** Removes currency sign, currency code and thousands separators. */
  | 'plain_decimal';

export interface ColumnFormat {
  name: string;
  required: boolean;
  type: 'text' | 'price' | 'currency_code' | 'availability';
  /** In characters (code points), after cleaning. */
  maxLength?: number;
  /** Regular expression of ECMAScript and JSON Schema for the cleaned value. */
  grammar?: string;
  cleaning: readonly CleaningRule[];
  description: string;
  /** Other names in feeds, only for suggestions. Lower-case letters and digits. */
  aliases: readonly string[];
  example: string;
}

const text = ['trim', 'empty_to_null'] as const;

/** Digits or groups of three, optionally with decimals. */
export const amountGrammar = String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d{1,4}0*)?`;
const unit = String.raw`(?:[$€£¥]|[A-Za-z]{3})`;

/** At most one unit, before or after the amount. */
const priceGrammar = `^(?:(?:${unit} ?)?${amountGrammar}|${amountGrammar} ?${unit})$`;

/** Variants of an availability, after the other cleaning rules. */
export const availabilitySpellings: Readonly<Record<string, string>> = {
  instock: 'in_stock',
  outofstock: 'out_of_stock',
  pre_order: 'preorder',
  back_order: 'backorder',
};

/** Product columns, in the order of the template; others are ignored. */
export const feedColumns = [
  {
    name: 'sku',
    required: true,
    type: 'text',
    maxLength: 255,
    cleaning: text,
    description: "The partner's own number of the product, unique within the partner. Leading zeros stay.",
    aliases: [
      'skucode',
      'skuid',
      'itemnumber',
      'itemno',
      'itemid',
      'articlenumber',
      'productid',
      'id',
      'code',
    ],
    example: 'TENT-2',
  },
  {
    name: 'product_name',
    required: true,
    type: 'text',
    maxLength: 1_000,
    cleaning: text,
    description: 'The display name.',
    aliases: ['name', 'title', 'producttitle', 'itemname', 'product'],
    example: 'Two-person tent',
  },
  {
    name: 'description',
    required: false,
    type: 'text',
    maxLength: 65_535,
    cleaning: text,
    description: 'What the product is, as plain text. Line breaks are kept.',
    aliases: ['desc', 'longdescription', 'shortdescription', 'details', 'bodyhtml'],
    example: 'Light, quick to pitch',
  },
  {
    name: 'brand',
    required: false,
    type: 'text',
    maxLength: 255,
    cleaning: text,
    description: 'The brand or manufacturer.',
    aliases: ['manufacturer', 'vendor', 'make', 'brandname'],
    example: 'Acme',
  },
  {
    name: 'category',
    required: false,
    type: 'text',
    maxLength: 1_000,
    cleaning: text,
    description: 'The category; a path may use any separator; it is stored as one text.',
    aliases: ['producttype', 'producttypes', 'categories', 'categoryname', 'department'],
    example: 'Camping/Tents',
  },
  {
    name: 'price',
    required: false,
    type: 'price',
    grammar: priceGrammar,
    cleaning: [...text, 'plain_decimal'],
    description:
      'The price of one unit: optionally one currency sign or ISO 4217 code before or after; digits, or groups of three digits separated by commas (not `0,500`); optionally a point and 1 to 4 decimals, followed by any zeros; at most 999,999,999,999.9999. A sign is dropped; a code is the currency of a row without one.',
    aliases: ['unitprice', 'listprice', 'retailprice', 'sellingprice'],
    example: '189.90',
  },
  {
    name: 'currency',
    required: false,
    type: 'currency_code',
    grammar: '^[A-Z]{3}$',
    cleaning: [...text, 'upper_case'],
    description:
      'The currency of the price, an active ISO 4217 code of money, not of metals or units of account, nor XTS or XXX.',
    aliases: ['currencycode', 'pricecurrency', 'isocurrency', 'curr'],
    example: 'EUR',
  },
  {
    name: 'availability',
    required: false,
    type: 'availability',
    maxLength: 100,
    cleaning: [...text, 'lower_case', 'separators_to_underscores', 'known_spellings'],
    description:
      'Whether the product is available. Any word is stored; a product with an unknown word cannot be ordered.',
    aliases: ['stock', 'stockstatus', 'instock', 'status', 'availabilitystatus', 'inventory'],
    example: 'in_stock',
  },
] as const satisfies readonly ColumnFormat[];

export type ProductColumn = (typeof feedColumns)[number]['name'];

export const productColumns: readonly ProductColumn[] = feedColumns.map((column) => column.name);

/** Required columns, in the order of the specification's error text. */
export const requiredColumns: readonly ProductColumn[] = ['product_name', 'sku'];

/** Lists the columns that every row and every file must have in a mode. */
export const requiredIn = (mode: LoadMode): readonly ProductColumn[] =>
  mode === 'update' ? ['sku'] : requiredColumns;

export function columnFormat(name: ProductColumn): ColumnFormat {
  return feedColumns.find((column) => column.name === name)!;
}
