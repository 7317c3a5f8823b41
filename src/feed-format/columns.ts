/**
 * A record beyond this is skipped: it is held in memory, and is most likely a quote left open. The largest that can be
 * loaded, each value of its longest and every character a doubled quote or one of four bytes, has a good half of it.
 */
export const recordBytes = 512 * 1024;
/**
 * The format of a feed, as data: header, transform, load and `GET /feeds/profile` all read it here, so that what is
 * published is what is done.
 */

/** What is done to a cell before it is validated, in the order in which the rules stand in a column. */
export type CleaningRule =
  /** Unicode white space at both ends goes. */
  | 'trim'
  /** An empty text becomes null. */
  | 'empty_to_null'
  | 'upper_case'
  | 'lower_case'
  /** A space or hyphen becomes `_`. */
  | 'separators_to_underscores'
  /** A known other spelling becomes the usual word. */
  | 'known_spellings'
  /** Sign, code and thousands separators go. */
  | 'plain_decimal';

/** One column of the format. */
export interface ColumnFormat {
  name: string;
  required: boolean;
  type: 'text' | 'price' | 'currency_code' | 'availability';
  /** In characters (code points), after cleaning. */
  maxLength?: number;
  /** A regular expression that a cleaned value matches, in the dialect of ECMAScript and JSON Schema. */
  grammar?: string;
  cleaning: readonly CleaningRule[];
  description: string;
  /** Other names that feeds use for it; they are only suggested, never guessed. Lower case, letters and digits only. */
  aliases: readonly string[];
  example: string;
}

const text = ['trim', 'empty_to_null'] as const;

const amount = String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d{1,4})?`;
const unit = String.raw`(?:[$€£¥]|[A-Za-z]{3})`;

/** At most one unit, before or after the amount. */
const priceGrammar = `^(?:(?:${unit} ?)?${amount}|${amount} ?${unit})$`;

/** Other spellings of an availability, after the other cleaning rules. */
export const availabilitySpellings: Readonly<Record<string, string>> = {
  instock: 'in_stock',
  outofstock: 'out_of_stock',
  pre_order: 'preorder',
  back_order: 'backorder',
};

/** The columns that we read, by the names of the product's fields, in the order of the template. Others are ignored. */
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
    description: 'The category; a path may use any separator but is one text to us.',
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
      'The price of one unit: optionally one currency sign or ISO 4217 code before or after; digits, or thousands in groups of three split by commas (`0,500` is none); optionally a point and 1 to 4 decimals; at most 999,999,999,999.9999. A sign is only dropped; a code gives the currency where the row has none.',
    aliases: ['unitprice', 'listprice', 'saleprice', 'retailprice', 'msrp', 'amount', 'cost'],
    example: '189.90',
  },
  {
    name: 'currency',
    required: false,
    type: 'currency_code',
    grammar: '^[A-Z]{3}$',
    cleaning: [...text, 'upper_case'],
    description:
      'The currency of the price, an active ISO 4217 code of money: metals, units of account, XTS and XXX are none.',
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
      'Whether the product can be had. Any word is stored; a word that we do not know cannot be ordered.',
    aliases: ['stock', 'stockstatus', 'instock', 'status', 'availabilitystatus', 'inventory'],
    example: 'in_stock',
  },
] as const satisfies readonly ColumnFormat[];

export type ProductColumn = (typeof feedColumns)[number]['name'];

/** The names of the columns. */
export const productColumns: readonly ProductColumn[] = feedColumns.map((column) => column.name);

/** The columns that a header must have and a row must fill, in the order of the specification's error text. */
export const requiredColumns: readonly ProductColumn[] = ['product_name', 'sku'];

/** The definition of one column. */
export function columnFormat(name: ProductColumn): ColumnFormat {
  return feedColumns.find((column) => column.name === name)!;
}

/** Columns of reports that come back with a mended file: they are ignored in silence. */
export function isReportColumn(header: string): boolean {
  return header.startsWith('_');
}
